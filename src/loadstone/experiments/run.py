"""From specs to measured runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import jax
import numpy as np
from jaxtyping import Float

from loadstone.experiments.plan import batch_size, padded_rows
from loadstone.experiments.spec import Spec
from loadstone.measurements.accuracy import Contenders, Measurement, contenders
from loadstone.memories.memory import Memory, initial_memory
from loadstone.problems.budget import Budget
from loadstone.problems.decoupled import decoupled
from loadstone.problems.original import original
from loadstone.problems.problem import Problem
from loadstone.problems.stream import Stream
from loadstone.solvers.gradient import train_batch
from loadstone.solvers.hebbian import hebbian
from loadstone.solvers.solution import Status

Advance = Callable[[int, str], None]


@dataclass(frozen=True)
class Run:
    """A spec that was run: the memory and what was measured."""

    spec: Spec
    form: str
    memory: Memory
    status: Status
    steps: int
    contenders: Contenders
    seconds: float
    loss_trace: Float[np.ndarray, "steps+1"]
    accuracy_trace: Float[np.ndarray, "steps+1"]

    @cached_property
    def measurement(self) -> Measurement:
        return self.contenders.measurement()

    def outcome(self) -> dict[str, object]:
        return {
            "seed": self.spec.seed,
            "accuracy": self.measurement.accuracy,
            "violations": self.measurement.violations,
            "loss": self.measurement.loss,
            "margin": self.measurement.margin,
            "steps": self.steps,
            "status": self.status.value,
            "seconds": round(self.seconds, 4),
        }


def problem_of(spec: Spec, budget: Budget | None = None) -> Problem:
    """The problem that a spec describes."""
    stream, rows = Stream(spec.seed, spec.d, spec.law), padded_rows(spec, jax.default_backend())
    if spec.problem == "original":
        return original(stream, spec.p, budget, rows=rows)
    return decoupled(stream, spec.p, budget, spec.form, spec.stored_dtype, rows)


def run_all(specs: Sequence[Spec], budget: Budget | None = None, advance: Advance | None = None) -> list[Run]:
    """Run every spec; `advance(done, words)` hears how many steps of Adam are behind (1 for a closed form)."""
    runs: list[Run] = []
    done = 0
    for batch in _batches(specs, alone=budget is not None):
        cost = batch[0].protocol.steps if batch[0].solver == "adam" else 1

        def hear(step: int, words: str, done: int = done, size: int = len(batch)) -> None:
            if advance:
                advance(done + size * step, words)

        runs += [run for _, run in run_batch(batch, budget, hear)]
        done += cost * len(batch)
        hear(cost, "")
    return runs


def _batches(specs: Sequence[Spec], alone: bool) -> Iterator[list[Spec]]:
    """Neighbours of one shape, as many together as train together on the present device; a budget is for one alone."""
    for shape, group in groupby(specs, lambda spec: spec.shape):
        alike, size = list(group), 1 if alone else batch_size(shape, jax.default_backend())
        yield from (alike[first : first + size] for first in range(0, len(alike), size))


def run_batch(
    specs: Sequence[Spec],
    budget: Budget | None = None,
    hear: Advance = lambda step, words: None,
    together: int = 1,
) -> list[tuple[Problem, Run]]:
    """Run specs of one program together; each run comes with its problem, for whoever measures more.

    If they are fewer than `together`, the last is trained several times: to compile a batch of another size would take
    longer.
    """
    began = time.perf_counter()
    problems = [problem_of(spec, budget) for spec in specs]
    traces = [(np.empty(0), np.empty(0)) for _ in problems]
    memories = [initial_memory(spec.d, spec.kappa, spec.seed) for spec in specs]
    if specs[0].solver == "hebbian":
        solved = [(hebbian(problem), Status.CLOSED_FORM, 0) for problem in problems]
    elif specs[0].solver == "initial":
        solved = [(memory, Status.INITIAL, 0) for memory in memories]
    else:
        again = [len(specs) - 1] * (together - len(specs))
        solutions = train_batch(
            [*problems, *(problems[one] for one in again)], [*memories, *(memories[one] for one in again)],
            specs[0].protocol,
            lambda step, loss, accuracy: hear(step, f"loss {loss:.4f} accuracy {accuracy:.4f}"),
        )  # fmt: skip
        solved = [(solution.memory, solution.status, solution.steps) for solution in solutions]
        traces = [(solution.loss, solution.accuracy) for solution in solutions]
    found = [contenders(problem, memory) for problem, (memory, _, _) in zip(problems, solved)]
    seconds = (time.perf_counter() - began) / len(specs)
    return [
        (problem, Run(spec, problem.form, *solution, ends, seconds, *trace))
        for spec, problem, solution, ends, trace in zip(specs, problems, solved, found, traces)
    ]
