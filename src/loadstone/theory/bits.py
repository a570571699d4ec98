"""How many facts a memory holds whose entries have b bits.

Counting: a memory of b d^2 bits tells apart at most 2^(b d^2) sets of facts, and p facts are p log2 p bits, so
p log2 p <= b d^2. Nothing that is stored in b bits holds more.

Noise: rounding changes each entry by a number of variance v |W|^2 / d^2 (levels.py), and so each margin by one of
variance 2 v |W|^2, because |u_target - u_rival|^2 |e|^2 is about 2 d^2. The memory of largest margin has about d^2
margins that are no larger than that. They all stay positive with probability one half if d^2 Phi(-margin / sqrt(2 v))
is log 2. So rounding that memory stores as many facts as leave it a margin of sqrt(2 v) Phi^-1(1 - log(2) / d^2).
"""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import ndtri

from loadstone.arguments import whole
from loadstone.levels import change_of
from loadstone.theory.margin import margin_capacity


def counting_bound(d: int, bits: float) -> float:
    """The number of facts that no memory of d x d entries of b bits can exceed: the p with p log2 p = b d^2."""
    room = bits * whole("d", d, 1, 10**6) ** 2
    return float(brentq(lambda p: p * math.log2(p) - room, 1.0, room + 2))


def rounded_facts(d: int, bits: int) -> float:
    """How many facts the memory of largest margin still stores after rounding to b bits, taken as noise."""
    d = whole("d", d, 2, 10**6)
    needed = math.sqrt(2 * change_of(bits)) * float(ndtri(1 - math.log(2) / d**2))
    return float(margin_capacity(d * d, None, margin=needed))
