"""The entry point to all solvers: one function for one problem, one for a batch."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import optax

from loadstone.arguments import choice, instance_of, path_of, refuse
from loadstone.kernels.products import PRECISIONS
from loadstone.measurements.accuracy import top_scores
from loadstone.memories.families import initial_memory
from loadstone.memories.foreign import as_given, as_memory
from loadstone.problems.loss import check_memory
from loadstone.problems.problem import Problem, check_problem
from loadstone.problems.spread import spread
from loadstone.progress import Progress, progress_of
from loadstone.solvers.checkpoint import checkpoint_of
from loadstone.solvers.gradient import Given
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.registry import solver_of
from loadstone.solvers.search import SearchOptions, drop_slower
from loadstone.solvers.solution import Solution, Status
from loadstone.solvers.solver import Iterative, Solver
from loadstone.solvers.stop import NO_LIMITS, STOP_RULES, Limits

DEFAULT_SOLVER = LBFGS()

_log = logging.getLogger("loadstone")


def solve(
    problem: Problem,
    memory: Any = None,
    *,
    solver: Solver | str | optax.GradientTransformation = DEFAULT_SOLVER,
    stop: str | None = None,
    limits: Limits = NO_LIMITS,
    precision: str = "auto",
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    devices: int | None = None,
) -> Solution:
    """Store a problem in a memory.

    problem: what is to be stored.
    memory: where the search starts, which also fixes the family: any pytree with queries(inputs), or one that
        `loadstone.memory` gives them to; default: a full W of small random numbers.
    solver: a solver, its name (with parameters, as in 'sgd:0.1'), or a transformation of gradients from optax;
        'paper' is the paper's protocol.
    stop: 'exact' (every margin positive), 'paper' (an accuracy of 99.9 %), '99%' or 'none'; default: 'paper' for
        the paper's protocol, 'exact' for every other solver.
    limits: passes and seconds that the search may take.
    precision: of the products. 'auto' is what passes are fastest in: float32 on a CPU, float16 (summed in float32) on
        an accelerator. Where L-BFGS needs more digits, it goes on to 'split' (two float16 numbers for each, if that is
        faster), float32 and float64; a memory that it found in float64 has float64 numbers.
    progress: called now and then with the passes done, and the loss and the accuracy of the last in words.
    checkpoint: a file that the search is written to about once a minute, and when it ends. If the file is there
        already, the search goes on from it, on the same machine bit for bit as if it had not been interrupted. A limit
        of passes counts those before, and may be raised. A limit of seconds is for each part of the search.
    devices: over how many devices to spread the problem (problems/spread.py); default: it stays where it is.

    Example:
        >>> import numpy as np
        >>> inputs, outputs = np.random.default_rng(0).standard_normal((2, 12, 8))
        >>> solution = loadstone.train(loadstone.facts(inputs, outputs))
        >>> print(solution.status, solution.measured.accuracy)
        stored 1.0
    """
    if devices is not None:
        problem = spread(check_problem(problem), devices)
    return solve_batch(
        [problem], [memory], solver=solver, stop=stop, limits=limits, precision=precision, progress=progress,
        checkpoint=checkpoint,
    )[0]  # fmt: skip


#: The short name.
train = solve


def solve_batch(
    problems: Sequence[Problem],
    memories: Sequence[Any],
    *,
    solver: Solver | str | optax.GradientTransformation = DEFAULT_SOLVER,
    stop: str | None = None,
    limits: Limits = NO_LIMITS,
    precision: str = "auto",
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
) -> list[Solution]:
    """Store problems of equal shape as one program, starting from memories of equal shape; each stops on its own.

    `progress` is called with the passes of the search that is furthest, and the mean loss and accuracy in words. Only
    a single problem can have a checkpoint.

    Example:
        >>> from loadstone.solvers.solve import solve_batch
        >>> problems = [loadstone.original(loadstone.Stream(seed, 4), 5) for seed in range(3)]
        >>> [str(solution.status) for solution in solve_batch(problems, [None] * 3, solver="hebbian")]
        ['closed form', 'closed form', 'closed form']
    """
    for name, value in (("problems", problems), ("memories", memories)):
        instance_of(name, value, Sequence, "a list")
    instance_of("limits", limits, Limits, "Limits(passes=..., seconds=...)")
    if not problems or len(problems) != len(memories):
        raise refuse("memories", f"{len(memories)} of them", f"as many as problems ({len(problems)}), and at least one")
    problems = [check_problem(problem) for problem in problems]
    starts = zip(problems, memories)
    given = [initial_memory(problem.inputs.shape[1]) if memory is None else memory for problem, memory in starts]
    memories = [as_memory(memory) for memory in given]
    for problem, memory in zip(problems, memories):
        check_memory(problem, memory)
    _check_alike("problems", problems)
    _check_alike("memories", memories)
    method = _solver(solver)
    stop = method.stop() if stop is None else choice("stop", stop, STOP_RULES)
    choice("precision", precision, ("auto", *PRECISIONS))
    precisions = drop_slower(method.precisions(), problems[0]) if precision == "auto" else (precision,)
    file = None
    if checkpoint is not None:
        _check_resumable(path_of("checkpoint", checkpoint), method, len(problems))
        file = checkpoint_of(checkpoint, problems[0], memories[0], method, stop, precisions)
    solutions = method.solve(problems, memories, SearchOptions(stop, limits, precisions, progress_of(progress), file))
    solutions = [measured(problem, solution) for problem, solution in zip(problems, solutions)]
    return [replace(solution, memory=as_given(solution.memory, memory)) for solution, memory in zip(solutions, given)]


def measured(problem: Problem, solution: Solution) -> Solution:
    """The solution of a search with what its memory stores, and out of digits if it says 'stored' of a memory that does
    not store the problem.

    A search reports what its last pass measured: the facts in other coordinates (solvers/coordinates.py), rounded
    there, among others in a batch. Mapped back, W may have too few digits for facts that lie very unevenly. One pass
    more, beside the many of a search, makes 'stored' a statement about the memory that the caller gets.
    """
    solution = replace(solution, top_scores=top_scores(problem, solution.memory))
    if solution.status != Status.STORED or not (violations := solution.measured.violations):
        return solution
    _log.warning(
        "A search found every margin positive (%d passes, loss %.3g), but the memory that it returns does not store %d "
        "of the %d associations: its status is 'out of digits'.",
        solution.passes,
        solution.loss[-1],
        violations,
        problem.associations,
    )
    return replace(solution, status=Status.OUT_OF_DIGITS)


def _solver(solver: Solver | str | optax.GradientTransformation) -> Solver:
    if isinstance(solver, optax.GradientTransformation):
        return Given(solver)
    if isinstance(solver, Solver):
        return solver
    return solver_of(solver)


def _check_resumable(checkpoint: str | Path, solver: Solver, problems: int) -> None:
    """Refuse a checkpoint for what is not one search, pass by pass."""
    if not isinstance(solver, Iterative):
        name = type(solver).__name__
        raise refuse("checkpoint", str(checkpoint), f"left out for {name}, which is not one search pass by pass")
    if problems > 1:
        raise refuse("checkpoint", str(checkpoint), f"left out for a batch, here of {problems} problems")


def _check_alike(name: str, trees: Sequence[Any]) -> None:
    """Refuse a batch whose members cannot be stacked."""
    shapes = [(jax.tree.structure(tree), [leaf.shape for leaf in jax.tree.leaves(tree)]) for tree in trees]
    for index, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise refuse(name, f"of different shapes (number {index} differs from the first)", "of equal shape")
