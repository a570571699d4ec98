"""Where chains begin: memories that store the instance, found from independent random starts."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float64

from loadstone.memories.families import initial_memory
from loadstone.memories.projected import Projected
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.arrays import Arrays
from loadstone.problems.problem import Problem
from loadstone.proofs.verdict import Outcome
from loadstone.solvers.decide import decide, is_worth_compiling
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import solve


class NotStorableError(ValueError):
    """There is nothing to sample, or nothing was found: the outcome says whether the instance is not storable or
    undecided."""

    def __init__(self, outcome: Outcome, sentence: str) -> None:
        super().__init__(sentence)
        self.outcome = outcome


def starting_points(
    problem: Problem, chains: int, seed: int, subspace: Subspace | None
) -> Float64[np.ndarray, "chains d d"]:
    """One memory for each chain that stores the problem; if there is none, an error with the proof."""
    n, d = problem.inputs.shape
    if is_worth_compiling(n, problem.competitors, d):
        trained = [_trained(problem, seed + chain, subspace) for chain in range(chains)]
        if all(one is not None for one in trained):
            return np.stack(trained)  # type: ignore[arg-type]
    arrays = problem.arrays()
    return np.stack([_proved(arrays, seed + chain, subspace) for chain in range(chains)])


def _trained(problem: Problem, seed: int, subspace: Subspace | None) -> Float64[np.ndarray, "d d"] | None:
    d = problem.inputs.shape[1]
    memory = initial_memory(d, seed=seed, family="full" if subspace is None else subspace)
    solution = solve(problem, memory, solver="lbfgs", stop="exact")
    return _scaled(solution.memory, d) if solution.status == Status.STORED else None


def _proved(arrays: Arrays, seed: int, subspace: Subspace | None) -> Float64[np.ndarray, "d d"]:
    d = arrays.inputs.shape[1]
    start = np.random.default_rng(seed).standard_normal((d, d))
    verdict = decide(arrays, start=start, family="full" if subspace is None else subspace)
    if verdict.witness is None:
        sentence = f"The instance is {verdict.verdict.value}, so there is no memory to sample: {verdict.reason}"
        raise NotStorableError(verdict.verdict, sentence)
    return _scaled(verdict.memory, d)


def _scaled(memory: Any, d: int) -> Float64[np.ndarray, "d d"]:
    """W with entries of about one, like those of random starts."""
    matrix = np.asarray(memory.matrix(), np.float64)
    return matrix * (d / np.linalg.norm(matrix))


def in_digits(
    starts: Float64[np.ndarray, "chains d d"], subspace: Subspace | None, dtype: Any
) -> Float[Array, "chains d d"]:
    """The starts in the precision of the chains, still members of their family."""
    rounded = jnp.asarray(starts, dtype)
    if subspace is None:
        return rounded
    return jnp.asarray(jax.vmap(lambda one: Projected.made(one, subspace).matrix())(rounded))
