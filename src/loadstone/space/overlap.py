"""The overlap of two memories that store the same instance, from chains of finite length.

The overlap q is the mean cosine between two independent members, which is the squared length of their mean direction.
The mean of one chain is off by its own noise, whose square would be counted as overlap. So only means of different
chains are multiplied, whose noise is independent.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from loadstone.estimate import Estimate


def overlap(means: Float[np.ndarray, "chains blocks k"]) -> Estimate:
    """The overlap from the mean directions of successive blocks of each chain; at least two of both.

    The error is a jackknife over blocks, taken as independent: they must be longer than the autocorrelation time.
    """
    chains, blocks, _ = means.shape
    flat = means.reshape(chains * blocks, -1)
    products = (flat @ flat.T).reshape(chains, blocks, chains, blocks)
    whole = products.mean(axis=(1, 3))
    with_all = _between(whole)
    left_out = np.empty((chains, blocks))
    for chain in range(chains):
        for block in range(blocks):
            # The mean of a chain without one of its blocks, times the means of all others.
            without = (blocks * whole[chain] - products[chain, block].mean(axis=1)) / (blocks - 1)
            others = np.arange(chains) != chain
            changed = whole.copy()
            changed[chain, others] = changed[others, chain] = without[others]
            left_out[chain, block] = _between(changed)
    # Blocks of each chain are a sample of their own, so their jackknife variances are added.
    spread = ((left_out - left_out.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return Estimate(with_all, float(np.sqrt((blocks - 1) / blocks * spread.sum())))


def _between(products: Float[np.ndarray, "chains chains"]) -> float:
    chains = len(products)
    return float((products.sum() - np.trace(products)) / (chains * (chains - 1)))
