"""Train: one run of a solver for each spec, several together if they share a program, and its measurements.

The record has scalars, traces, the singular values of the memory and histograms of its scores, but not the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import jax
import numpy as np

from loadstone.compiling import Call
from loadstone.deadline import Deadline
from loadstone.measurements import accuracy, scores, spectrum
from loadstone.measurements.scores import RawScores, raw_scores
from loadstone.measurements.spectrum import matrix_singular_values, memory_matrix
from loadstone.memories import normal
from loadstone.memories.families import initial_memory
from loadstone.problems.budget import Budget
from loadstone.problems.kinds import DECOUPLED, is_grouped
from loadstone.problems.problem import Problem
from loadstone.progress import Progress, silent
from loadstone.solvers import hebbian, loop
from loadstone.solvers.registry import solver_of
from loadstone.solvers.search import SearchOptions
from loadstone.solvers.solution import Solution, Status
from loadstone.solvers.solve import solve_batch
from loadstone.solvers.solver import Iterative, Solver
from loadstone.solvers.stop import NO_LIMITS, Limits
from loadstone.tasks.batches import rows_of, searches_together
from loadstone.tasks.checked_spec import CheckedSpec
from loadstone.tasks.fields import FIELDS
from loadstone.tasks.task import Result, Task, numbers, require_full

#: Histograms hold about this many non-target scores at most: enough for a curve, and quick even for large runs.
_HISTOGRAM_SCORES = 500_000
#: Seconds of a run, of a step, and of a step for each of p^2 d numbers: the decoupled problem reads them from memory,
#: the original one computes them from the cache. Measured on one processor core, and on an H200.
_RUN, _STEP = 0.02, {"cpu": 5e-5, "gpu": 1e-4}
_NUMBER = {
    ("cpu", "original"): 6e-11, ("cpu", "decoupled"): 2.5e-10,
    ("gpu", "original"): 1.2e-14, ("gpu", "decoupled"): 1.3e-12,
}  # fmt: skip
#: Solvers that need a full memory, in words.
_FULL_ONLY = {
    "hebbian": "the Hebbian rule, whose matrix is",
    "pruning": "pruning, which begins with all entries of W",
}


def search_seconds(spec: CheckedSpec, passes: int, platform: str) -> float:
    """Rough seconds of a search of this many passes, on a 'cpu' or on an accelerator."""
    where = "cpu" if platform == "cpu" else "gpu"
    kind = DECOUPLED if is_grouped(spec.problem) else spec.problem
    return _RUN + passes * (_STEP[where] + _NUMBER[where, kind] * spec.p * (spec.answers or spec.p) * spec.d)


class Train(Task):
    """One run of a solver, a search or a closed form."""

    fields = FIELDS["train"]
    runs_alone = False

    def made(self, solver: str, parameters: Mapping[str, object]) -> Solver:
        return solver_of(solver, parameters)

    def check(self, spec: CheckedSpec) -> None:
        if spec.solver in _FULL_ONLY:
            require_full(spec, _FULL_ONLY[spec.solver])

    def cost(self, spec: CheckedSpec, platform: str) -> float:
        return search_seconds(spec, spec.passes + (0 if spec.is_iterative else 1), platform)

    def rows(self, spec: CheckedSpec, platform: str) -> int | None:
        return rows_of(spec, platform)

    def batch_size(self, spec: CheckedSpec, platform: str) -> int:
        return searches_together(spec, platform)

    def programs(self, spec: CheckedSpec, count: int, budget: Budget | None) -> Iterator[Call]:
        solver = spec.settings
        if not (isinstance(solver, Iterative) or solver.closed_form):
            return
        problem = jax.eval_shape(lambda: problem_of(spec, budget))
        memory = jax.eval_shape(lambda: initial_memory(spec.d, spec.kappa, seed=spec.seed, family=spec.family))
        yield from normal.programs(spec.d, memory.rank)
        yield from spec.instance.programs(problem)
        if isinstance(solver, Iterative):
            precision = solver.precisions()[0] if spec.precision == "auto" else spec.precision
            program = loop.program_of(solver, SearchOptions(spec.stop), precision)
            yield from loop.programs(problem, memory, program, count)
        elif spec.solver == "hebbian":
            yield from hebbian.programs(problem)
        yield from accuracy.programs(problem, memory)
        yield from scores.programs(problem, memory, _HISTOGRAM_SCORES)
        yield from spectrum.programs(memory)

    def run(
        self, specs: Sequence[CheckedSpec], budget: Budget | None = None, together: int = 1
    ) -> list[Callable[[], Result]]:
        return [
            partial(_finished, run, _raw(problem, run), memory_matrix(run.solution.memory))
            for problem, run in run_batch(specs, budget, together=together)
        ]


TRAIN = Train()


@dataclass(frozen=True)
class Run:
    """A finished run of a solver.

    spec: what was to be done.
    description: how the outputs were held, in words.
    solution: the memory that the run ended with, and how it was found.
    seconds: time taken, with that to make the problem and to measure the memory; for a batch, divided by its size.
    """

    spec: CheckedSpec
    description: str
    solution: Solution
    seconds: float

    def outcome(self) -> dict[str, object]:
        """The summary for the user: how much is stored, after how many passes, and in which time."""
        measured, solution = self.solution.measured, self.solution
        return {
            "seed": self.spec.seed,
            "accuracy": measured.accuracy,
            "violations": measured.violations,
            "loss": measured.loss,
            "margin": measured.margin,
            "steps": solution.steps,
            "passes": solution.passes,
            "status": solution.status.value,
            "seconds": round(self.seconds, 4),
        }


def problem_of(spec: CheckedSpec, budget: Budget | None = None, devices: int | None = None) -> Problem:
    """The problem that a spec describes, padded where problems of several sizes share one program, or spread over this
    many devices."""
    rows = rows_of(spec, jax.default_backend()) if devices is None else None
    hold, dtype = spec.hold, spec.stored_dtype
    return spec.instance.problem(hold=hold, stored_dtype=dtype, budget=budget, rows=rows, devices=devices)


def run_batch(
    specs: Sequence[CheckedSpec],
    budget: Budget | None = None,
    progress: Progress = silent,
    together: int = 1,
    limits: Limits = NO_LIMITS,
    checkpoint: str | Path | None = None,
    devices: int | None = None,
) -> list[tuple[Problem, Run]]:
    """Run specs of one program together and return each run with its problem, so that the caller can measure more.

    If there are fewer than `together`, the last is trained several times: compiling a batch of another size would take
    longer. `budget` is for each problem of the batch.
    """
    clock = Deadline()
    problems = [problem_of(spec, budget, devices) for spec in specs]
    memories = [initial_memory(spec.d, spec.kappa, seed=spec.seed, family=spec.family) for spec in specs]
    filled = [*range(len(specs)), *[len(specs) - 1] * (together - len(specs))]
    solutions = solve_batch(
        [problems[index] for index in filled], [memories[index] for index in filled],
        solver=specs[0].settings, stop=specs[0].stop, limits=limits, precision=specs[0].precision,
        progress=progress,
        checkpoint=checkpoint,
    )[: len(specs)]  # fmt: skip
    seconds = clock.taken / len(specs)
    runs = [Run(spec, problem.description, done, seconds) for spec, problem, done in zip(specs, problems, solutions)]
    return list(zip(problems, runs))


def _raw(problem: Problem, run: Run) -> RawScores | None:
    solution = run.solution
    if solution.status == Status.DIVERGED:
        return None
    assert solution.top_scores is not None
    return raw_scores(problem, solution.memory, solution.top_scores, _HISTOGRAM_SCORES)


def _finished(run: Run, raw: RawScores | None, matrix: np.ndarray) -> Result:
    """The result of a run: all that figures need, without the memory. A diverged run has only scalars and traces."""
    fields = {name: value for name, value in run.outcome().items() if name not in ("seed", "passes", "seconds")}
    fields |= {"form": run.description, "loss_trace": numbers(run.solution.loss)}
    fields["accuracy_trace"] = numbers(run.solution.accuracy)
    if raw is not None:
        values = matrix_singular_values(matrix, run.solution.memory.rank)
        fields |= {"singular_values": numbers(values), "scores": raw.scores().histograms()}
    return Result(fields, run.seconds)
