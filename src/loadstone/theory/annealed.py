"""The expected volume of memories that store everything, for shared outputs (the paper's appendix B).

Given W and the outputs, the queries of different inputs are independent Gaussian vectors with one covariance. Let P_mu
be the probability that output mu wins such a query. Input mu needs output mu, so the expected volume is the mean of
prod_mu P_mu, where the P_mu add up to 1. By the inequality of the means the product is at most p^-p, which is the
expected volume of the decoupled problem: the annealed bound phi <= -alpha holds for the original problem too.
"""

from __future__ import annotations

import numpy as np

from loadstone.estimate import Estimate, mean_of
from loadstone.theory.checks import whole_number


def volume_ratio(p: int, d: int, draws: int = 2000, queries: int = 400, seed: int = 0) -> Estimate:
    """E prod_mu (p P_mu): the expected volume of the original problem over that of the decoupled one, sampled.

    draws: of outputs and W. queries: for each output, drawn separately, so that the product has no bias.
    """
    p, d = whole_number("p", p, 2, 50), whole_number("d", d, 1, 10_000)
    draws, queries = whole_number("draws", draws, 2, 10**7), whole_number("queries", queries, 1, 10**6)
    random = np.random.default_rng(whole_number("seed", seed, 0, 2**32 - 1))
    products = np.empty(draws)
    for place in range(draws):
        outputs = random.standard_normal((p, d)) @ random.standard_normal((d, d))
        # Scores of a query are the outputs times a Gaussian vector; only their span matters.
        root = np.asarray(np.linalg.qr(outputs.T, mode="r")).T
        winners = (root @ random.standard_normal((root.shape[1], p * queries))).argmax(axis=0).reshape(p, queries)
        products[place] = np.prod([p * np.mean(winners[mu] == mu) for mu in range(p)])
    return mean_of(products)
