"""How many streams are still storable at p: from the exact capacity of each, every verdict proved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from loadstone.measurements.threshold import instance_capacity
from loadstone.problems.stream import Stream


@dataclass(frozen=True)
class CapacitySpec:
    """The exact capacities of the streams 0, ..., streams - 1 of one kind of problem. `around` is a first guess."""

    problem: str
    d: int
    streams: int
    around: int


def measure_capacities(
    specs: Sequence[CapacitySpec], advance: Callable[[int, str], None] | None = None
) -> list[dict[str, object]]:
    """One record per spec, with a capacity (or None, if a verdict was undecided) for each stream."""
    records, done = [], 0
    for spec in specs:
        found = []
        for seed in range(spec.streams):
            found.append(instance_capacity(spec.problem, Stream(seed, spec.d), spec.around))
            done += 1
            if advance:
                words = f"{spec.problem}, d = {spec.d}: {seed + 1} streams" if (seed + 1) % 10 == 0 else ""
                advance(done, words)
        verdicts, seconds = sum(len(one.verdicts) for one in found), sum(one.seconds for one in found)
        records.append(
            asdict(spec) | {"p_c": [one.p_c for one in found], "verdicts": verdicts, "seconds": round(seconds, 3)}
        )
    return records
