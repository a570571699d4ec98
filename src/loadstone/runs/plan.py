"""What runs cost, which of them share a program, and in which order they are run: the longest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from loadstone.problems.kinds import ORIGINAL
from loadstone.runs.spec import Spec

#: Seconds to compile a program.
_COMPILATION = 1.0
#: A run with more numbers (those that are stored, or those of its queries) has an accelerator to itself. Five runs
#: of fewer take up to 45 GB with their padding, if they are stored in float32 and read as float16.
_MANY_NUMBERS = 1.25e9
#: A job has at most this many runs, and takes about this many seconds on a CPU.
_JOB_RUNS, _JOB_SECONDS = 128, 20.0


def cost(spec: Spec, platform: str) -> float:
    """Rough seconds of a run on a 'cpu' or an accelerator, to put long runs first and to estimate the time left."""
    return spec.task.cost(spec, platform)


def expected_costs(specs: Sequence[Spec], platform: str) -> dict[str, float]:
    """The cost of each spec by its key, with its share of the time to compile its program."""
    programs = {spec: program(spec, platform) for spec in specs}
    alike = Counter(programs.values())
    compiled = {spec: _COMPILATION / count if spec.is_iterative else 0.0 for spec, count in alike.items()}
    return {spec.key: cost(spec, platform) + compiled[programs[spec]] for spec in specs}


def batch_size(spec: Spec, platform: str) -> int:
    """How many runs of this program (seeds and loads) to do together, if this one is the largest of them."""
    return spec.task.batch_size(spec, platform)


def batch_sizes(specs: Sequence[Spec], platform: str) -> tuple[int, int]:
    """For runs of one program, the largest first: how many to train at a time, and the size to which a smaller batch is
    filled up."""
    size = batch_size(specs[0], platform)
    # Of several batches the last is filled up. A single batch is compiled as it is: others may have the same size.
    return size, size if len(specs) > size else 1


def has_the_device_alone(spec: Spec) -> bool:
    """Whether this run is so large that nothing should run beside it: two such problems might not fit. Runs that do
    more than search have it alone too, because Ctrl-C would wait for them."""
    numbers = spec.p * spec.d * (1 if spec.problem == ORIGINAL else spec.answers or spec.p)
    is_wide = spec.d > 512 and spec.solver != "initial"  # which trains nothing
    return spec.task.runs_alone or is_wide or spec.hold == "regenerated" or numbers > _MANY_NUMBERS


def program(spec: Spec, platform: str) -> Spec:
    """The spec that is the same for all runs with the same compiled programs: with seed 0, and p padded."""
    return replace(spec.without_seed, p=spec.task.rows(spec, platform) or spec.p)


def by_program(specs: Sequence[Spec], platform: str) -> list[list[Spec]]:
    """Runs of one program together, the longest first; programs in the order of their longest run."""
    programs: dict[Spec, list[Spec]] = {}
    for spec in sorted(specs, key=lambda spec: (-cost(spec, platform), str(spec))):
        programs.setdefault(program(spec, platform), []).append(spec)
    return list(programs.values())


def jobs(specs: Sequence[Spec], workers: int) -> list[list[Spec]]:
    """Split specs into jobs for workers whose device is not known beforehand: runs of one shape, not too many and not
    too long; the longest first, and at least two jobs for each worker if there are enough runs."""
    split = []
    for alike in by_program(specs, "cpu"):
        fair, short = len(specs) // (2 * workers), int(_JOB_SECONDS / cost(alike[0], "cpu"))
        runs = max(1, min(_JOB_RUNS, fair, short))
        split += [alike[first : first + runs] for first in range(0, len(alike), runs)]
    return sorted(split, key=lambda job: -sum(cost(spec, "cpu") for spec in job))
