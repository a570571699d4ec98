"""From specs to measured runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax

from loadstone.arguments import refuse
from loadstone.measurements.accuracy import Measurement, TopScores
from loadstone.memories.families import initial_memory
from loadstone.problems.budget import Budget
from loadstone.problems.decoupled import Regenerated, Stored, decoupled
from loadstone.problems.facts import Facts
from loadstone.problems.grouped import grouped
from loadstone.problems.kinds import is_grouped, sets_of_outputs
from loadstone.problems.original import original
from loadstone.problems.padded import padded
from loadstone.problems.problem import Problem
from loadstone.problems.separate import Separate
from loadstone.problems.spread_streams import spread_decoupled, spread_original
from loadstone.runs.plan import padded_rows
from loadstone.runs.spec import Spec
from loadstone.solvers.solution import Solution
from loadstone.solvers.solve import solve_batch
from loadstone.solvers.stop import NO_LIMITS, Limits
from loadstone.streams.stream import Stream

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
    stream, rows = Stream(spec.seed, spec.d, spec.law), padded_rows(spec, jax.default_backend())
    if is_grouped(spec.problem):
        if devices is not None:
            raise refuse("devices", devices, f"left out for {spec.problem}: only original and decoupled are spread")
        groups = sets_of_outputs(spec.problem, spec.p)
        return grouped(stream, spec.p, groups, budget, spec.answers, spec.frequencies)
    if devices is not None:
        if spec.problem == "original":
            return spread_original(stream, spec.p, devices, budget, spec.answers, spec.frequencies)
        held = spec.hold, spec.stored_dtype, spec.answers, spec.frequencies
        return spread_decoupled(stream, spec.p, devices, budget, *held)
    longest, asked = rows or spec.p, (spec.answers, spec.frequencies)
    if spec.problem == "original":
        problem: Facts | Stored | Regenerated | Separate = original(stream, longest, budget, None, *asked)
    else:
        problem = decoupled(stream, longest, budget, spec.hold, spec.stored_dtype, *asked)
    return padded(problem, spec.p) if rows and not isinstance(problem, Separate) else problem


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
