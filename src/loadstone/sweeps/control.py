"""The sweep of a control: the same runs with products of few digits and of many.

On an accelerator the paper's protocol runs with products in float16 (sums in float32), because these are fastest. Some
of its runs are done again here in float32, from the same start on the same associations.
"""

from __future__ import annotations

from loadstone.runs.spec import Spec
from loadstone.studies.kit.runs import associations

#: For each scale: dimensions, loads, seeds, and the precision that float32 is set beside. The precision of the paper's
#: runs is 'auto', which is float16 on the device of the shipped records; a processor would take float32 for it.
_RUNS: dict[str, tuple[tuple[int, ...], tuple[float, ...], int, str]] = {
    "quick": ((20,), (0.7, 0.9), 3, "float16"),
    "paper": ((100, 300), (0.6, 0.7, 0.75, 0.8, 0.9), 5, "auto"),
}


def control(scale: str) -> list[Spec]:
    """The paper's protocol at full rank, original problem, in either precision."""
    dimensions, loads, seeds, few = _RUNS[scale]
    return [
        Spec("original", d, associations(load, d), seed, precision=precision)
        for precision in (few, "float32")
        for d in dimensions
        for load in loads
        for seed in range(seeds)
    ]
