"""Vectors that have exactly the same direction: one is the other times a positive number.

The numbers are taken as they are given, so that what is said of such vectors is true of them. Others, however close
their directions are, are ordinary vectors.
"""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
from jaxtyping import Float

#: Rows are divided in blocks of about this many numbers.
_NUMBERS_AT_A_TIME = 2**22


def same_directions(vectors: Float[np.ndarray, "n d"]) -> list[list[int]]:
    """Groups of two rows or more with the same direction, in the order of their first rows.

    Rows with the same direction have the same ratios to their largest entries, and so the same ratios rounded to
    float64. Those few rows that agree in these are compared exactly.
    """
    candidates = defaultdict(list)
    for first in range(0, len(vectors), max(1, _NUMBERS_AT_A_TIME // vectors.shape[1])):
        block = vectors[first : first + max(1, _NUMBERS_AT_A_TIME // vectors.shape[1])].astype(np.float64)
        largest = np.abs(block).max(axis=1)
        for row in map(int, np.flatnonzero(largest)):  # a vector of zeros has no direction
            candidates[hash((block[row] / largest[row] + 0.0).tobytes())].append(first + row)  # -0 becomes 0
    groups = [group for rows in candidates.values() if len(rows) > 1 for group in _exactly_parallel(vectors, rows)]
    return sorted(group for group in groups if len(group) > 1)


def _exactly_parallel(vectors: Float[np.ndarray, "n d"], rows: list[int]) -> list[list[int]]:
    equal = defaultdict(list)
    for row in rows:
        equal[(vectors[row] + 0.0).tobytes()].append(row)
    if len(equal) == 1:
        return [rows]
    groups: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for same in equal.values():
        groups[_shortest_in_whole_numbers(vectors[same[0]])] += same
    return [sorted(group) for group in groups.values()]


def _shortest_in_whole_numbers(vector: Float[np.ndarray, "d"]) -> tuple[int, ...]:
    """The shortest vector of whole numbers in this direction: every float is a whole number over a power of two."""
    fractions = [number.as_integer_ratio() for number in vector.tolist()]
    common = max(below for _, below in fractions)
    whole = [above * (common // below) for above, below in fractions]
    divisor = math.gcd(*whole)
    return tuple(number // divisor for number in whole)
