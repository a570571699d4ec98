"""Records of runs: scalars, traces, singular values and histograms of scores, and the circumstances of the run."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from functools import cache, partial

import jax
import numpy as np

import loadstone
from loadstone.arguments import rank_of
from loadstone.measurements.scores import RawScores, moments, raw_scores, targets_by_length
from loadstone.measurements.spectrum import matrix_singular_values, memory_matrix
from loadstone.problems.budget import Budget
from loadstone.problems.problem import Problem
from loadstone.runs.record import Record
from loadstone.runs.run import Run, run_batch
from loadstone.runs.spec import APPROACH, BITS, CAPACITY, EDITS, MARGIN, OF_STREAMS, REACH, SPACE, Spec
from loadstone.solvers.solution import Status
from loadstone.solvers.solver import automatic_precision
from loadstone.tasks.approach import DISTANCES, approach
from loadstone.tasks.bits import largest_rounded
from loadstone.tasks.capacity import exact_capacity
from loadstone.tasks.edits import edited
from loadstone.tasks.margin import robustness
from loadstone.tasks.reach import Attempt, SameShape, largest_stored
from loadstone.tasks.short_lists import recalled_in_list
from loadstone.tasks.space import space_of

#: Histograms hold about this many non-target scores at most: enough for a curve, and quick even for large runs.
_HISTOGRAM_SCORES = 500_000


def perform(specs: Sequence[Spec], budget: Budget | None = None) -> list[Record]:
    """Run specs of one program, as one batch if they are several, and return their records."""
    return [finish() for finish in begin(specs, budget)]


def begin(specs: Sequence[Spec], budget: Budget | None = None, together: int = 1) -> list[Callable[[], Record]]:
    """The part of `perform` that needs the accelerator and the problem. Calling what is returned finishes the records
    on the CPU, which may be done while the next specs run. See `run_batch` for `together`."""
    if specs[0].solver in OF_STREAMS:
        measured = {CAPACITY: _capacity, REACH: _reach, APPROACH: _approach, MARGIN: _margin, EDITS: _edits}
        measured |= {SPACE: _space, BITS: _bits}
        found = measured[specs[0].solver]
        return [partial(_same, found(spec, budget)) for spec in specs]
    return [
        partial(_trained, run, _raw(problem, run), memory_matrix(run.solution.memory))
        for problem, run in run_batch(specs, budget, together=together)
    ]


def _same(record: Record) -> Record:
    return record


def _raw(problem: Problem, run: Run) -> RawScores | None:
    diverged = run.solution.status == Status.DIVERGED
    return None if diverged else raw_scores(problem, run.solution.memory, run.top_scores, _HISTOGRAM_SCORES)


def _trained(run: Run, raw: RawScores | None, matrix: np.ndarray) -> Record:
    """Everything that figures need of a run, without its memory. A diverged run has only its scalars and traces."""
    result = {name: value for name, value in run.outcome().items() if name not in ("seed", "passes", "seconds")}
    result["form"] = run.description
    result |= {"loss_trace": _numbers(run.solution.loss), "accuracy_trace": _numbers(run.solution.accuracy)}
    if raw is not None:
        values = matrix_singular_values(matrix, run.solution.memory.rank)
        result |= {"singular_values": _numbers(values), "scores": raw.scores().histograms()}
    return Record(run.spec.key, run.spec.identity(), result, {"seconds": run.seconds, **_circumstances()})


def _capacity(spec: Spec, budget: Budget | None = None) -> Record:
    instance = spec.instance
    found = exact_capacity(instance, family=spec.family)
    status = "undecided" if found.p_c is None else "proved"
    result: dict[str, object] = {"status": status, "p_c": found.p_c}
    result |= {"storable": found.storable, "not_storable": found.not_storable}
    result["verdicts"] = [[p, verdict] for p, verdict in found.verdicts]
    if found.p_c is not None and found.witness is not None:
        by_length = targets_by_length(instance.first(found.p_c).arrays(), found.witness)
        values = matrix_singular_values(found.witness, spec.d)
        result |= {"singular_values": _numbers(values), "own_target": moments(by_length)}
    return Record(spec.key, spec.identity(), result, {"seconds": found.seconds, **_circumstances()})


def _reach(spec: Spec, budget: Budget | None = None) -> Record:
    instance = spec.instance
    found = largest_stored(instance, spec.kappa, spec.family, spec.effort, budget)
    result: dict[str, object] = {"status": "bracketed", "rank": rank_of(spec.kappa, spec.d)}
    result |= {"attempts": _listed(found.attempts), "ways": [one.start for one in found.attempts]}
    result |= {"stored": found.stored, "not_stored": found.not_stored}
    if spec.effort.rivals > 1 and found.memory is not None:
        problem = SameShape(instance.first(found.stored), budget).first(found.stored)
        result |= recalled_in_list(problem, found.memory, spec.effort.rivals)
    return Record(spec.key, spec.identity(), result, {"seconds": found.seconds, **_circumstances()})


def _approach(spec: Spec, budget: Budget | None = None) -> Record:
    found = approach(spec.instance, spec.approach, budget)
    result: dict[str, object] = {"status": "undecided" if found.p_c is None else "proved", "p_c": found.p_c}
    result |= {"distances": list(DISTANCES), "attempts": _listed(found.attempts), "limit": spec.approach.passes}
    return Record(spec.key, spec.identity(), result, {"seconds": found.seconds, **_circumstances()})


def _margin(spec: Spec, budget: Budget | None = None) -> Record:
    began = time.perf_counter()
    # The noise has the seed of the stream, so that the record can be made again.
    measured = robustness(spec.instance.arrays(), spec.seed)
    result: dict[str, object] = {"status": measured.status}
    if measured.found is not None:
        result |= {"margin": measured.found.margin, "upper_bound": measured.found.upper_bound}
        result |= {"gap": measured.found.gap, "steps": measured.found.passes}
        result["noises"] = [one.noise for one in measured.recalls]
        result["recalled"] = [one.recalled for one in measured.recalls]
        result["recalled_error"] = [one.error for one in measured.recalls]
        result["recalled_predicted"] = [one.predicted for one in measured.recalls]
    seconds = time.perf_counter() - began
    return Record(spec.key, spec.identity(), result, {"seconds": seconds, **_circumstances()})


def _edits(spec: Spec, budget: Budget | None = None) -> Record:
    began = time.perf_counter()
    status, counts = edited(spec.instance, spec.edits)
    result: dict[str, object] = {"status": status}
    if counts:
        result |= {name: [getattr(one, name) for one in counts] for name in ("edits", "lost", "missed", "undecided")}
    seconds = time.perf_counter() - began
    return Record(spec.key, spec.identity(), result, {"seconds": seconds, **_circumstances()})


def _space(spec: Spec, budget: Budget | None = None) -> Record:
    began = time.perf_counter()
    # Chains have the seed of the stream, which is below 2^64: theirs have 31 bits.
    result = space_of(spec.instance.arrays(), spec.space, spec.seed % 2**31, spec.family)
    seconds = time.perf_counter() - began
    return Record(spec.key, spec.identity(), result, {"seconds": seconds, **_circumstances()})


def _bits(spec: Spec, budget: Budget | None = None) -> Record:
    began = time.perf_counter()
    stored = largest_rounded(spec.instance, spec.rounding)
    result: dict[str, object] = {"status": "bracketed", "stored": stored, "not_stored": stored + 1}
    seconds = time.perf_counter() - began
    return Record(spec.key, spec.identity(), result, {"seconds": seconds, **_circumstances()})


def _listed(attempts: Sequence[Attempt]) -> list[list[object]]:
    return [[one.p, one.stored, one.status.value, one.passes] for one in attempts]


@cache
def _circumstances() -> dict[str, str]:
    return {
        "loadstone": loadstone.__version__,
        "jax": jax.__version__,
        "python": platform.python_version(),
        "device": jax.devices()[0].device_kind,
        "machine": platform.machine(),
        "auto_precision": automatic_precision(),
    }


def _numbers(values: np.ndarray) -> list[float]:
    return [float(value) for value in np.asarray(values)]
