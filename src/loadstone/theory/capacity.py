"""Capacity in the limit of large p and d: the largest load at which all associations fit."""

from __future__ import annotations

import math

from scipy.optimize import brentq

from loadstone.arguments import rank_fraction

#: Load up to which the Hebbian rule W = (1/d) sum u e^T stores everything (paper, theorem on the Hebbian ansatz).
HEBBIAN_CAPACITY = 1 / 8


def capacity(kappa: float = 1.0) -> float:
    """alpha_c(kappa) = (1/2) int_{X(1-kappa)}^{2} rho(s) s^2 ds, with rho(s) = sqrt(4 - s^2) / pi on [0, 2].

    X is the quantile function of that quarter-circle law. With s = 2 sin(theta) both integrals are elementary:
    the law up to s has mass (2 theta + sin 2 theta) / pi, and its second moment up to s is
    (2 theta - sin(4 theta) / 2) / pi. Limit p, d -> infinity, replica-symmetric for kappa < 1 (paper, claim 2).
    """
    kappa = rank_fraction("kappa", kappa)
    if kappa == 1:
        return 0.5
    theta = brentq(lambda angle: _mass(angle) - (1 - kappa), 0, math.pi / 2, xtol=1e-15)
    return 0.5 * (1 - (2 * theta - math.sin(4 * theta) / 2) / math.pi)


def _mass(theta: float) -> float:
    return (2 * theta + math.sin(2 * theta)) / math.pi
