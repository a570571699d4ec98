"""How many associations of a stream are stored by a memory that is rounded to a few bits an entry.

Two memories are rounded: the one of largest margin, and the centre of all memories that store the associations. A
third way, training through the rounding, is the family 'rounded' with the solver 'reach'.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float64

from loadstone.arguments import choice, set_as, whole
from loadstone.frequencies import Frequencies
from loadstone.levels import MOST_BITS
from loadstone.memories.rounding import rounded_to_bits
from loadstone.problems.numpy_pass import ExactPass
from loadstone.solvers.margin import NoMarginError, maximum_margin
from loadstone.space.sample import sample
from loadstone.space.starts import NotStorableError
from loadstone.streams.stream import Stream
from loadstone.tasks.capacity import Prefixes

WAYS = ("largest margin", "centre")
#: How closely the largest margin is found.
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Bits:
    """bits: of each entry. way: which memory is rounded, one of WAYS."""

    bits: int = 8
    way: str = WAYS[0]

    def __post_init__(self) -> None:
        set_as(self, "bits", whole("bits", self.bits, 1, MOST_BITS))
        choice("way", self.way, WAYS)


def largest_rounded(
    kind: str, stream: Stream, p: int, how: Bits, answers: int | None = None, frequencies: Frequencies = "uniform"
) -> tuple[int, int]:
    """The largest number of associations, up to p, found stored after rounding, and the next that was found not to be
    (p + 1 if all are). One association is always stored, for it has no rival.

    Found by bisection: more associations are harder to store, though a few more may be stored by chance.
    """
    low, high = 1, whole("p", p, 2) + 1
    while high - low > 1:
        middle = (low + high) // 2
        stored = _stored(kind, stream, middle, how, answers, frequencies)
        low, high = (middle, high) if stored else (low, middle)
    return low, high


def _stored(
    kind: str, stream: Stream, p: int, how: Bits, answers: int | None, frequencies: Frequencies
) -> bool:
    memory = _memory(kind, stream, p, how.way, answers, frequencies)
    if memory is None:
        return False
    exact = ExactPass(Prefixes(kind, stream, answers, frequencies).of(p))
    return bool((np.asarray(exact.margins(exact.scores(rounded_to_bits(memory, how.bits)))) > 0).all())


@lru_cache(maxsize=256)
def _memory(
    kind: str, stream: Stream, p: int, way: str, answers: int | None, frequencies: Frequencies
) -> Float64[np.ndarray, "d d"] | None:
    """Found once for all numbers of bits in this process; None if there is none."""
    arrays = Prefixes(kind, stream, answers, frequencies).of(p)
    if way == "largest margin":
        try:
            return np.asarray(maximum_margin(arrays, _TOLERANCE).memory.weights)
        except NoMarginError:
            return None
    try:
        found = sample(arrays, seed=stream.seed % 2**31, with_volume=False)
    except NotStorableError:
        return None
    return None if found.centre is None else np.asarray(found.centre.matrix(), np.float64)
