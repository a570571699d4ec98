"""Why the threshold approaches 1/2 so slowly: the first correction to D(p), with its constant.

A target that is raised to tau costs (tau - eta_1)^2, and each rival above tau what it exceeds it by. The least total is
at tau - eta_1 = sum (eta_rho - tau)_+. For large p the sum is near p phi(tau) / tau^2, so tau solves

    p phi(tau) = tau^3,   tau^2 = 2 log p - 3 log log p - log(16 pi) + o(1),

and D(p) = E(tau - eta_1)^2 + E sum (eta_rho - tau)_+^2 -> tau^2 + 1 + 2. So D(p) = 2 log p - 3 log log p + O(1), and

    alpha_c(p) = log p / D(p) = 1/2 + (3/4) log log p / log p + ...,   G_p / G = 1 - (3/2) log log p / log p + ...
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from loadstone.theory.checks import at_least, each

#: D(p) = 2 log p - LOG_LOG log log p + O(1).
LOG_LOG = 3.0
#: alpha_c(p) = 1/2 + THRESHOLD log log p / log p + ...
THRESHOLD = LOG_LOG / 4


def crossing(p: ArrayLike) -> np.ndarray | float:
    """tau with p phi(tau) = tau^3, for any p from 10 to 10^100."""
    return each(lambda one: _crossing(float(one)), at_least("p", p, 10))


def expanded_mean_merged(p: ArrayLike) -> np.ndarray | float:
    """tau^2 + 3, to which D(p) tends; what is left out is of order 1 / log p."""
    return each(lambda one: _crossing(float(one)) ** 2 + 3, at_least("p", p, 10))


def _crossing(p: float) -> float:
    constant = math.log(p) - math.log(2 * math.pi) / 2
    return float(brentq(lambda tau: constant - tau * tau / 2 - 3 * math.log(tau), 0.5, math.sqrt(2 * math.log(p)) + 1))
