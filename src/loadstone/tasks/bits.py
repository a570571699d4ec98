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
from loadstone.bisect import largest
from loadstone.levels import MOST_BITS
from loadstone.memories.rounding import rounded_to_bits
from loadstone.problems.budget import Budget
from loadstone.problems.instance import Instance
from loadstone.solvers.margin import NoMarginError, maximum_margin
from loadstone.space.sample import sample
from loadstone.space.starts import NotStorableError
from loadstone.tasks.checked_spec import CheckedSpec
from loadstone.tasks.fields import FIELDS
from loadstone.tasks.margin import margins
from loadstone.tasks.task import OneAtATime, require_full

WAYS = ("largest margin", "centre")
#: Relative accuracy of the largest margin.
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Bits:
    """bits: the bits of each entry. way: which memory is rounded, one of WAYS."""

    bits: int = 8
    way: str = WAYS[0]

    def __post_init__(self) -> None:
        set_as(self, "bits", whole("bits", self.bits, 1, MOST_BITS))
        choice("way", self.way, WAYS)


def largest_rounded(instance: Instance, how: Bits) -> int:
    """The largest number of associations, up to those of an instance, that are stored after rounding.

    One association is always stored, for it has no rival. Found by bisection: more associations are harder to store,
    though a few more may be stored by chance.
    """
    return largest(lambda p: _stored(instance.first(p), how), 1, instance.p + 1)


def _stored(instance: Instance, how: Bits) -> bool:
    memory = _memory(instance.without_arrays(), how.way)
    return memory is not None and bool((margins(instance.arrays(), rounded_to_bits(memory, how.bits)) > 0).all())


@lru_cache(maxsize=256)
def _memory(instance: Instance, way: str) -> Float64[np.ndarray, "d d"] | None:
    """The memory to round, found once in this process for all numbers of bits; None if there is none."""
    arrays = instance.without_arrays().arrays()
    if way == "largest margin":
        try:
            return np.asarray(maximum_margin(arrays, _TOLERANCE).memory.weights)
        except NoMarginError:
            return None
    try:
        centre = sample(arrays, seed=instance.stream.seed % 2**31, with_volume=False).centre
    except NotStorableError:
        return None
    return None if centre is None else np.asarray(centre.matrix(), np.float64)


class Rounding(OneAtATime):
    """The largest number up to p that a memory stores once its entries are rounded."""

    settings = Bits
    fields = FIELDS["bits"]

    def check(self, spec: CheckedSpec) -> None:
        require_full(spec, "rounding")

    def cost(self, spec: CheckedSpec, platform: str) -> float:
        seconds = 25.0 if spec.settings.way == "centre" else 0.25
        return seconds * (1 + (spec.d / 12) ** 3)

    def result(self, spec: CheckedSpec, budget: Budget | None) -> dict[str, object]:
        stored = largest_rounded(spec.instance, spec.settings)
        return {"status": "bracketed", "stored": stored, "not_stored": stored + 1}


BITS = Rounding()
