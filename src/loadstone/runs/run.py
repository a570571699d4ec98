"""From specs to measured runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax

from loadstone.measurements.accuracy import Measurement, TopScores
from loadstone.memories.families import initial_memory
from loadstone.problems.budget import Budget
from loadstone.problems.problem import Problem
from loadstone.runs.plan import padded_rows
from loadstone.runs.spec import Spec
from loadstone.solvers.solution import Solution
from loadstone.solvers.solve import solve_batch
from loadstone.solvers.stop import NO_LIMITS, Limits

Advance = Callable[[int, str], None]


@dataclass(frozen=True)
class Run:
    """A spec that was run.

    spec: what was run.
    description: in words, how the outputs were held.
    solution: the memory that the run ended with, and how it was found.
    seconds: time taken, with that to make the problem and to measure the memory; for a batch, divided by its size.
    """

    spec: Spec
    description: str
    solution: Solution
    seconds: float

    @property
    def measurement(self) -> Measurement:
        return self.solution.measured

    @property
    def top_scores(self) -> TopScores:
        assert self.solution.top_scores is not None
        return self.solution.top_scores

    def outcome(self) -> dict[str, object]:
        return {
            "seed": self.spec.seed,
            "accuracy": self.measurement.accuracy,
            "violations": self.measurement.violations,
            "loss": self.measurement.loss,
            "margin": self.measurement.margin,
            "steps": self.solution.steps,
            "passes": self.solution.passes,
            "status": self.solution.status.value,
            "seconds": round(self.seconds, 4),
        }


def problem_of(spec: Spec, budget: Budget | None = None, devices: int | None = None) -> Problem:
    """The problem that a spec describes, padded where problems of several sizes share one program, or over so many
    devices."""
    rows = padded_rows(spec, jax.default_backend()) if devices is None else None
    hold, dtype = spec.hold, spec.stored_dtype
    return spec.instance.problem(hold=hold, stored_dtype=dtype, budget=budget, rows=rows, devices=devices)


def run_batch(
    specs: Sequence[Spec],
    budget: Budget | None = None,
    hear: Advance = lambda passes, words: None,
    together: int = 1,
    limits: Limits = NO_LIMITS,
    checkpoint: str | Path | None = None,
    devices: int | None = None,
) -> list[tuple[Problem, Run]]:
    """Run specs of one program together and return each run with its problem, so that the caller can measure more.

    If there are fewer than `together`, the last is trained several times: compiling a batch of another size would take
    longer. `budget` is for each problem of the batch.
    """
    began = time.perf_counter()
    problems = [problem_of(spec, budget, devices) for spec in specs]
    memories = [initial_memory(spec.d, spec.kappa, spec.seed, spec.family) for spec in specs]
    filled = [*range(len(specs)), *[len(specs) - 1] * (together - len(specs))]
    solutions = solve_batch(
        [problems[index] for index in filled], [memories[index] for index in filled],
        specs[0].made_solver, specs[0].stop, limits, specs[0].precision,
        lambda passes, loss, accuracy: hear(passes, f"loss {loss:.4f} accuracy {accuracy:.4f}"),
        checkpoint,
    )[: len(specs)]  # fmt: skip
    seconds = (time.perf_counter() - began) / len(specs)
    return [
        (problem, Run(spec, problem.description, solution, seconds))
        for spec, problem, solution in zip(specs, problems, solutions)
    ]
