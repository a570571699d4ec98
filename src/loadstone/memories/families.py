"""Families of memories by their names. A new one is a file and a line here.

A family is a class with `initial(d, seed)`, or `initial(d, seed, kappa)` if it has a rank to choose.
"""

from __future__ import annotations

import inspect
from functools import cache

from loadstone.arguments import rank_fraction, refuse, whole
from loadstone.memories.full import Full
from loadstone.memories.low_rank import LowRank
from loadstone.memories.memory import Memory
from loadstone.parameters import named

FAMILIES: dict[str, type[Memory]] = {
    "full": Full,
    "low rank": LowRank,
}


def family_of(name: str, kappa: float) -> type[Memory]:
    """The family of a name. 'full' with a rank fraction below 1 means 'low rank', as in the paper."""
    kind = named("family", "low rank" if name == "full" and rank_fraction("kappa", kappa) < 1 else name, FAMILIES)
    if kappa != 1 and not _has_rank(kind):
        raise refuse("kappa", kappa, f"1 for the family {name!r}, which has no rank to choose")
    return kind


def initial_memory(d: int, kappa: float = 1.0, seed: int = 0, family: str = "full") -> Memory:
    """A memory before training: every entry of W, or of its factors, drawn from N(0, 1/d^2).

    kappa = 1 gives a full W; kappa < 1 the factors of rank m = round(kappa d), at least 1.
    """
    d, kappa = whole("d", d, 1), rank_fraction("kappa", kappa)
    kind = family_of(family, kappa)
    return kind.initial(d, seed, **({"kappa": kappa} if _has_rank(kind) else {}))


@cache
def _has_rank(kind: type[Memory]) -> bool:
    return "kappa" in inspect.signature(kind.initial).parameters
