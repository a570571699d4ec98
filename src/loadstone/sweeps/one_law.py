"""Sweeps of the law N D(M) = delta: exact capacities for few and many answers, asked for equally often or not, and for
families of memories."""

from __future__ import annotations

from functools import cache

from loadstone.runs.spec import Spec
from loadstone.theory.answers import facts_capacity

#: For each scale: dimension, numbers of answers, streams.
_ANSWERS: dict[str, tuple[tuple[int, tuple[int, ...], int], ...]] = {
    "quick": ((10, (2, 4, 11, 40), 4),),
    "paper": (
        (20, (2, 3, 5, 10, 15, 20, 21, 30, 60, 150, 400, 1000), 40),
        (30, (2, 3, 6, 15, 25, 30, 31, 60, 150, 400, 1000), 20),
        (50, (40, 51, 200, 1000), 4),
    ),
}
#: For each scale: dimension, numbers of answers (at most d + 1, where there is a prediction), streams.
_SKEW = {"quick": (10, (4, 9), 6), "paper": (20, (3, 5, 9, 13, 21), 40)}
#: For each scale: dimension, number of blocks, streams.
_FAMILIES = {"quick": ((10, 2, 4),), "paper": ((20, 4, 40), (30, 3, 40))}
_LINEAR = ("symmetric", "traceless", "skew", "masked:0.5", "masked:0.25", "circulant", "diagonal")
#: These hold so few facts that their mean needs more streams to be known as well.
_SMALL = ("circulant", "diagonal")


def answers(scale: str) -> list[Spec]:
    """Exact capacities for M answers, both problems; targets are balanced, so that unequal counts do not matter."""
    return [
        Spec(problem, d, guess("full", d, count, problem), seed, solver="capacity", answers=count, frequencies=drawn)
        for d, counts, streams in _ANSWERS[scale]
        for count in counts
        for problem, drawn in (("decoupled", "uniform"), ("original", "balanced"))
        for seed in range(streams)
    ]


def skew(scale: str) -> list[Spec]:
    """Exact capacities for answers that are asked for equally often, equally often by chance, and by Zipf's law."""
    d, counts, streams = _SKEW[scale]
    return [
        Spec("original", d, p, seed, solver="capacity", answers=count, frequencies=drawn)
        for count in counts
        for p in [guess("full", d, count, "original")]
        for drawn in ("balanced", "uniform", "zipf:1")
        for seed in range(streams)
    ]


def families(scale: str) -> list[Spec]:
    """Exact capacities of the linear families, both problems, each fact with its own answer."""
    return [
        Spec(problem, d, guess(family, d, None, problem), seed, solver="capacity", family=family)
        for d, blocks, streams in _FAMILIES[scale]
        for family in ("full", f"blocks:{blocks}", *_LINEAR)
        for problem in ("decoupled", "original")
        for seed in range(3 * streams if family in _SMALL else streams)
    ]


@cache
def guess(family: str, d: int, answers: int | None, problem: str) -> int:
    """Where to look first: what the law says."""
    return max(2, round(facts_capacity(family, d, answers, problem == "decoupled")))
