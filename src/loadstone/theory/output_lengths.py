"""By how much outputs of different lengths lower the free entropy at finite d.

The functional of entropy.py takes the p outputs of an association as equal. Gaussian ones have lengths that differ by a
share of about 1 / sqrt(2 d), and a long output wins more easily than a short one. With r_rho = |u_rho| / sqrt(d) the
target wins if r_1 (x_1 + beta eta_1) is the largest of all r_rho (x_rho + beta eta_rho). For typical associations that
is less likely: the mean of log f_p falls, roughly by (log p)^2 / d where p is large, and so by log p / d of its value.
With p growing almost as d^2 this hardly becomes smaller as d grows.

The functional is stationary in q, so to first order phi changes by (N / delta) times the change of E log f_p at the q
of equal lengths. Angles between outputs are left out.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64
from scipy.special import gammaincinv, ndtri

from loadstone.estimate import Estimate, mean_of
from loadstone.theory.checks import in_half_open, positives, single, whole_number
from loadstone.theory.entropy import MOST_SAMPLED, log_share

#: The error is from the scatter of this many batches of samples.
_BATCHES = 5


def length_shift(overlap: float, p: int, delta: float, d: int, samples: int = 1000, seed: int = 0) -> Estimate:
    """By how much lengths change the free entropy of p associations with p Gaussian outputs each, with standard error.

    overlap: of two memories, in the delta dimensions that are seen.
    """
    q = float(in_half_open("overlap", single("overlap", overlap), 0, 1))
    p, d = whole_number("p", p, 2, MOST_SAMPLED), whole_number("d", d, 1, 10**6)
    delta, samples = float(positives("delta", single("delta", delta))), whole_number("samples", samples, 10, 10**7)
    random = np.random.default_rng(whole_number("seed", seed, 0, 2**32 - 1))
    means = [_mean_change(q, p, d, samples // _BATCHES, random) for _ in range(_BATCHES)]
    change = mean_of(means)
    return Estimate(change.value * p / delta, change.error * p / delta)


def _mean_change(q: float, p: int, d: int, samples: int, random: np.random.Generator) -> float:
    shift, lengths = random.standard_normal((samples, p)), np.sqrt(random.chisquare(d, (samples, p)) / d)
    # The target's score and length matter most: one of each of as many strata, in two independent orders.
    shift[:, 0] = ndtri(_strata(samples, random))
    lengths[:, 0] = np.sqrt(2 * gammaincinv(d / 2, _strata(samples, random)) / d)
    shift *= np.sqrt(q / (1 - q))
    return float(np.mean([log_share(one, own) - log_share(one) for one, own in zip(shift, lengths)]))


def _strata(samples: int, random: np.random.Generator) -> Float64[np.ndarray, "samples"]:
    """Numbers between 0 and 1, one in each of as many equal parts, in any order."""
    return (random.permutation(samples) + random.random(samples)) / samples
