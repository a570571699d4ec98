"""What runs cost, which of them share a program, and in which order they are run: the longest first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from loadstone.problems.kinds import DECOUPLED, ORIGINAL, is_grouped
from loadstone.runs import batches
from loadstone.runs.spec import OF_STREAMS, REACH, Spec

#: Seconds of a run, of a step, and of a step for each of p^2 d numbers: the decoupled problem reads them from memory,
#: the original one computes them from the cache. Measured on one processor core, and on an H200.
_RUN, _STEP = 0.02, {"cpu": 5e-5, "gpu": 1e-4}
_NUMBER = {
    ("cpu", "original"): 6e-11, ("cpu", "decoupled"): 2.5e-10,
    ("gpu", "original"): 1.2e-14, ("gpu", "decoupled"): 1.3e-12,
}  # fmt: skip
#: Seconds to compile a program.
_COMPILATION = 1.0
#: A run with more numbers (those that are stored, or those of its queries) has an accelerator to itself. Five runs
#: of fewer take up to 45 GB with their padding, if they are stored in float32 and read as float16.
_MANY_NUMBERS = 1.25e9
#: A job has at most this many runs, and takes about this many seconds on a CPU.
_JOB_RUNS, _JOB_SECONDS = 128, 20.0


def cost(spec: Spec, platform: str) -> float:
    """Rough seconds of a run on a 'cpu' or an accelerator, to put long runs first and to estimate the time left."""
    if spec.solver == "capacity":
        return 0.05 + 0.3 * (spec.d / 20) ** 5
    if spec.solver == "margin":
        return 0.2 + 1.5 * (spec.d / 30) ** 3
    if spec.solver == "bits":
        one = 5.0 if spec.rounding.way == "centre" else 0.05
        return 5 * one * (1 + (spec.d / 12) ** 3)
    if spec.solver == "space":
        return _sampling(spec)
    if spec.solver == "edits":
        # The first memory has the largest margin; near the capacity a refit takes a proof for each fact.
        proofs = 0.01 * spec.edits.edits * (spec.d / 20) ** 4 if spec.edits.method == "refit" else 0.0
        return cost(replace(spec, solver="margin", parameters=()), platform) + 0.004 * spec.edits.edits + proofs
    if spec.solver == "approach":
        reach = replace(spec, solver="reach", parameters={"passes": spec.approach.passes})
        return cost(replace(spec, solver="capacity", parameters=()), platform) + cost(reach, platform)
    if spec.solver == "reach":
        one = cost(replace(spec, solver="paper", parameters={"steps": 1, "warmup": 0}), platform)
        # A whole bisection takes about as many passes as its longest search may.
        return spec.effort.passes * spec.effort.searches * one
    where = "cpu" if platform == "cpu" else "gpu"
    passes = spec.passes + (0 if spec.is_iterative else 1)
    kind = DECOUPLED if is_grouped(spec.problem) else spec.problem
    return _RUN + passes * (_STEP[where] + _NUMBER[where, kind] * spec.p * (spec.answers or spec.p) * spec.d)


def _sampling(spec: Spec) -> float:
    """Of memories that store a stream: paths, times reflections of each, times what one takes for all chains."""
    p, chains = spec.p, spec.space.chains
    filled = min(1.0, p / (0.88 * spec.d**1.55))  # roughly, as a share of what fits
    reflections = p * 2 ** (4 * filled)
    pairs = chains * p * p
    one = 1e-5 + 1.5e-9 * pairs if spec.problem == "original" else 4.5e-5 + 9e-11 * pairs * spec.d
    # The volume takes about twenty paths for each halving, and fewer reflections as associations are taken away.
    paths = spec.space.steps + (0.35 * 20 * p * math.log2(2 * p) if spec.space.volume else 0)
    return 0.5 + paths * reflections * one


def expected_costs(specs: Sequence[Spec], platform: str) -> dict[str, float]:
    """By key: the cost of each spec, with its share of the time to compile its program."""
    programs = {spec: program(spec, platform) for spec in specs}
    alike = Counter(programs.values())
    compiled = {one: _COMPILATION / count if one.is_iterative else 0.0 for one, count in alike.items()}
    return {spec.key: cost(spec, platform) + compiled[programs[spec]] for spec in specs}


def padded_rows(spec: Spec, platform: str) -> int | None:
    """To how many rows the arrays of a run are padded; None: they are not, or by rules of their own, as in a bisection.
    Padding needs as many outputs as inputs."""
    if spec.answers is not None or is_grouped(spec.problem) or spec.solver in OF_STREAMS:
        return None
    rows = batches.padded_rows(spec.problem, spec.p, spec.d, platform)
    if rows is None and spec.solver == "lbfgs":
        return batches.padded_rows_of_few_passes(spec.problem, spec.p)
    return rows


def batch_size(spec: Spec, platform: str) -> int:
    """How many runs of this program (seeds and loads) to train together, if this one is the largest of them."""
    if not spec.is_iterative or spec.answers is not None or is_grouped(spec.problem):
        return 1
    return batches.batch_size(spec.problem, spec.p, spec.d, spec.hold, platform)


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
    does_more = spec.solver in OF_STREAMS and spec.solver != REACH
    is_wide = spec.d > 512 and spec.solver != "initial"  # which trains nothing
    return does_more or is_wide or spec.hold == "regenerated" or numbers > _MANY_NUMBERS


def program(spec: Spec, platform: str) -> Spec:
    """What runs with the same compiled programs have in common: everything but the seed, and p up to padding."""
    return replace(spec.without_seed, p=padded_rows(spec, platform) or spec.p)


def by_program(specs: Sequence[Spec], platform: str) -> list[list[Spec]]:
    """Runs of one program together, the longest first; programs in the order of their longest run."""
    programs: dict[Spec, list[Spec]] = {}
    for spec in sorted(specs, key=lambda spec: (-cost(spec, platform), str(spec))):
        programs.setdefault(program(spec, platform), []).append(spec)
    return list(programs.values())


def jobs(specs: Sequence[Spec], workers: int) -> list[list[Spec]]:
    """Split specs into jobs for workers whose device is not known beforehand: runs of one shape, not too many and not
    too long; the longest first, and at least two jobs for each worker if there are enough runs."""
    found = []
    for alike in by_program(specs, "cpu"):
        fair, short = len(specs) // (2 * workers), int(_JOB_SECONDS / cost(alike[0], "cpu"))
        runs = max(1, min(_JOB_RUNS, fair, short))
        found += [alike[first : first + runs] for first in range(0, len(alike), runs)]
    return sorted(found, key=lambda job: -sum(cost(spec, "cpu") for spec in job))
