"""Brackets: the numbers between which the capacity of a stream lies; and the mean over streams.

Most capacities are proved and known exactly. A stream that stayed undecided between two numbers is not left out: those
that are hard to decide may not be like the others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from loadstone.estimate import Estimate, mean_of
from loadstone.studies.kit.rows import Row

#: The smallest and the largest capacity that a stream may have.
Bracket = tuple[int, int]


def proved_bracket(row: Row) -> Bracket | None:
    """The bracket of a record of an exact capacity; None if it is not bounded from above."""
    if row["p_c"] is not None:
        return row["p_c"], row["p_c"]
    low, beyond = row.get("storable"), row.get("not_storable")
    return None if low is None or beyond is None else (low, beyond - 1)


def middles(brackets: Sequence[Bracket]) -> np.ndarray:
    """The middle of each bracket."""
    return np.array(brackets, float).mean(axis=1)


def resolution(brackets: Sequence[Bracket]) -> float:
    """What the widths of the brackets add to the standard error of the mean of their middles.

    A whole number anywhere in a bracket of n has a variance of (n^2 - 1) / 12.
    """
    low, high = np.array(brackets, float).T
    return math.sqrt(float((((high - low + 1) ** 2 - 1) / 12).sum())) / len(brackets)


def reached_sizes(rows: Sequence[Row]) -> tuple[np.ndarray, float]:
    """The threshold of each stream of a search for the largest p stored, half-way between the last p that was stored
    and the first that was not; and what the widths of these brackets add to the standard error of their mean.

    A threshold that is uniform within its bracket has a deviation of the width / sqrt(12).
    """
    low, high = np.array([(row["stored"], row["not_stored"]) for row in rows], float).T
    return (low + high) / 2, math.sqrt(float(((high - low) ** 2).sum()) / 12) / len(rows)


def mean_and_error(brackets: Sequence[Bracket]) -> Estimate:
    """The mean capacity and its standard error, from the scatter of the streams and the widths of the brackets."""
    return mean_of(middles(brackets), resolution(brackets))
