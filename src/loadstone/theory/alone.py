"""Facts that no memory can store, not even alone: their target loses for every query.

A target wins for some query v in R^d if and only if its output is a corner of the convex hull of all M outputs. The M
scores u . v form a random subspace of d dimensions in R^M, so this is the kinematic formula for a single cone K_M:

    P(alone) = 2 [ v_(d-1) + v_(d-3) + ... ],   1 - P(alone) = 2 [ v_(d+1) + v_(d+3) + ... ],   v_k = v_k(M) of cone.py.

It is exact for Gaussian outputs, shared or not (Affentranger and Schneider's number of corners of a Gaussian polytope,
over M), and 1 while M <= d + 1.

The queries for which a target wins are the section of K_M by that subspace. A section keeps the codimensions k < d, and
what is left has codimension d: v_d - v_(d+1) + v_(d+2) - ... for targets that win somewhere. So N facts are storable
if each of them is alone, and if their N sections, in place of N whole cones, meet the memories. This matters once D(M)
comes near d (docs/theory/one_law.md).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

from loadstone.theory.checks import whole_number
from loadstone.theory.cone import MOST, merge_law
from loadstone.theory.families import StatisticalDimension

#: If fewer facts than this are impossible alone, on average, no number that is shown changes.
_NEGLIGIBLE = 1e-12


class WinningQueries(NamedTuple):
    """The cone of queries for which one target beats its M - 1 rivals."""

    #: Probability that there is such a query: that the target is a corner of the hull of all outputs.
    alone: float
    #: Probability that there is none, accurate even where it is tiny.
    impossible: float
    #: The law of the cone's codimension k = 0, 1, ..., given that there is such a query.
    probabilities: np.ndarray
    #: Its mean.
    mean: float
    #: Its variance.
    variance: float


def winning_queries(answers: int, d: int) -> WinningQueries:
    """The cone of queries for which one of M = `answers` random outputs wins, queries having d dimensions."""
    return _winning(whole_number("answers", answers, 2, MOST), whole_number("d", d, 1, 10**9))


def query_dimension(memories: StatisticalDimension) -> int:
    """How many dimensions the queries of these memories have, as far as outputs show them.

    Queries of skew memories are orthogonal to the input.

    Positive semidefinite and sparse memories restrict queries further, so that for them P(alone) is an upper bound.
    """
    free = memories.d - 1 if memories.family == "skew" else memories.d
    return max(1, min(free, memories.directions))


def half_storable(answers: int, memories: StatisticalDimension) -> float:
    """The number of facts at which half of all instances are storable: delta / D(M) while all can be stored alone.

    Where they cannot, the N with P(alone)^N Phi((delta - N D) / deviation) = 1/2, D and deviation being those of the
    sections.
    """
    queries, delta = winning_queries(answers, query_dimension(memories)), memories.delta
    by_law = delta / merge_law(answers).mean
    if by_law * queries.impossible < _NEGLIGIBLE:
        return by_law

    def excess(facts: float) -> float:
        deviation = math.sqrt(facts * queries.variance + (memories.variance or 0.0))
        return log_all_alone(facts, queries) + float(log_ndtr((delta - facts * queries.mean) / deviation)) + math.log(2)

    return float(brentq(excess, 1e-9, delta / queries.mean, xtol=1e-12, rtol=1e-12))


def log_all_alone(facts: float, queries: WinningQueries) -> float:
    """The logarithm of the probability that each of N facts can be stored alone."""
    return facts * (math.log1p(-queries.impossible) if queries.impossible < 0.5 else math.log(queries.alone))


@lru_cache(maxsize=4096)
def _winning(answers: int, d: int) -> WinningQueries:
    law = merge_law(answers)
    v = law.probabilities
    if d + 1 >= min(answers, len(v)):  # P(alone) = 1, exactly or to all digits
        return WinningQueries(1.0, 0.0, v, law.mean, law.variance)
    impossible, alone = 2 * float(v[d + 1 :: 2].sum()), 2 * float(v[d - 1 :: -2].sum())
    # Both sum to 1; the smaller one has all its digits.
    impossible, alone = (impossible, 1 - impossible) if impossible < 0.5 else (1 - alone, alone)
    rest = v[d:]
    section = np.append(v[:d], max(0.0, float(rest[::2].sum() - rest[1::2].sum())))
    section = section / section.sum()
    k = np.arange(len(section))
    mean = float(k @ section)
    return WinningQueries(alone, impossible, section, mean, float((k - mean) ** 2 @ section))
