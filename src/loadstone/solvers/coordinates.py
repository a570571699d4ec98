"""The same facts in coordinates in which they are easy to store.

A memory W stores facts if and only if A^-T W B^-1 stores the facts with inputs B e and outputs A (u - c), for
invertible A and B and any shift c; and each input may be scaled by a positive number. So nothing is lost when both
sides are given unit covariance, and much is gained: in raw embeddings a search is slow along weak directions, here all
are alike. The memory that it finds is mapped back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Float64

from loadstone.memories.memory import Memory
from loadstone.problems.facts import Facts, facts
from loadstone.problems.padded import Padded, padded
from loadstone.problems.problem import Problem
from loadstone.problems.spread import Spread, laid_out
from loadstone.solvers.search import SearchOptions
from loadstone.solvers.solution import Solution
from loadstone.whitening import root_of_inverse

#: Inputs whose length differs from the median by a larger factor are scaled to that factor.
_LENGTHS = 2.0
#: Root mean square score of a start: at larger ones the softmax weighs a single rival.
MODERATE_SCORE = 3.0

Vectors = Float64[np.ndarray, "n d"]


@dataclass(frozen=True)
class Whitened:
    """A problem in other coordinates.

    problem: what is solved instead.
    start: the memory that the search begins with there.
    unwhiten: from a memory of that problem to one of the problem that was given.
    """

    problem: Problem
    start: Any
    unwhiten: Callable[[Any], Any]


def whiten(problem: Problem, memory: Any) -> Whitened:
    """Facts with unit second moments; every other problem, and every isotropic one, as it is.

    A memory that does not say how a linear map changes it keeps its inputs: it need not be linear. Then only a shift of
    all outputs is removed, which changes every score of a query alike.
    """
    if isinstance(problem, Padded) and isinstance(problem.longer, Facts) and not problem.longer.isotropic:
        whitened = whiten(problem.unpadded(), memory)
        return replace(whitened, problem=_padded_to(problem.inputs.shape[0], whitened.problem))
    if isinstance(problem, Spread) and isinstance(problem.pieces, Facts) and not problem.pieces.isotropic:
        whitened = whiten(problem.together(), memory)
        assert isinstance(whitened.problem, Facts)
        return replace(whitened, problem=laid_out(whitened.problem, problem.mesh, problem.ring))
    if not isinstance(problem, Facts) or problem.isotropic:
        return Whitened(problem, memory, lambda memory: memory)
    arrays = problem.arrays()
    outputs = arrays.outputs.astype(np.float64)
    outputs = outputs - outputs.mean(axis=0)  # which changes all scores of a query alike
    if getattr(type(memory), "transformed", Memory.transformed) is Memory.transformed:
        return Whitened(_facts(problem, arrays.inputs, outputs), memory, lambda memory: memory)
    inputs = _of_similar_length(arrays.inputs.astype(np.float64))
    (right, right_inverse), (left, left_inverse) = root_of_inverse(inputs), root_of_inverse(outputs)
    start = memory.transformed(left_inverse, right_inverse)
    if start is None:
        return Whitened(_facts(problem, arrays.inputs, outputs), memory, lambda memory: memory)
    inputs = _of_similar_length(inputs @ right)
    in_coordinates = _facts(problem, inputs, outputs @ left)
    return Whitened(in_coordinates, _moderate(start, inputs), lambda memory: memory.transformed(left, right))


def search_whitened(
    search: Callable[[Sequence[Problem], Sequence[Any], SearchOptions], list[Solution]],
    problems: Sequence[Problem],
    memories: Sequence[Any],
    options: SearchOptions,
) -> list[Solution]:
    """The solutions of a search in whitened coordinates, with their memories mapped back."""
    whitened = [whiten(problem, memory) for problem, memory in zip(problems, memories)]
    solutions = search([one.problem for one in whitened], [one.start for one in whitened], options)
    return [replace(solution, memory=one.unwhiten(solution.memory)) for solution, one in zip(solutions, whitened)]


def _facts(problem: Facts, inputs: np.ndarray, outputs: Float64[np.ndarray, "m d"]) -> Facts:
    same = facts(inputs, outputs, targets=np.asarray(problem.targets), shares=problem.shares, block=problem.block)
    return replace(same, description=problem.description)


def _padded_to(rows: int, problem: Problem) -> Padded:
    """A problem with zeros after its facts, so that problems of several sizes share one compiled program."""
    assert isinstance(problem, Facts)
    arrays, more = problem.arrays(), rows - problem.inputs.shape[0]
    inputs, outputs = (np.pad(part, ((0, more), (0, 0))) for part in (arrays.inputs, arrays.outputs))
    shares = None if problem.shares is None else np.pad(np.asarray(problem.shares), (0, more))
    longer = facts(inputs, outputs, targets=np.arange(rows), shares=shares, block=problem.block)
    return padded(replace(longer, description=problem.description), len(arrays.targets))


def _of_similar_length(inputs: Vectors) -> Vectors:
    lengths = np.linalg.norm(inputs, axis=1, keepdims=True)
    positive = lengths > 0
    if not positive.any():
        return inputs
    middle = np.median(lengths[positive])
    wanted = np.clip(lengths, middle / _LENGTHS, middle * _LENGTHS)
    return inputs * np.divide(wanted, lengths, out=np.ones_like(lengths), where=positive)


def _moderate(memory: Any, inputs: Vectors) -> Any:
    """A start with scores of moderate size."""
    scale = moderate_scale(typical_score(np.asarray(memory.matrix(), np.float64), inputs))
    identity = np.eye(inputs.shape[1])
    return memory if scale == 1 else memory.transformed(identity, identity * scale)


def typical_score(weights: Float[np.ndarray, "d d"], inputs: Float[np.ndarray, "n d"]) -> float:
    """The root mean square of the scores of W with outputs of second moment one: that of the lengths of its queries."""
    queries = inputs @ weights.T
    return float(np.sqrt(np.mean(queries**2) * queries.shape[1]))


def moderate_scale(size: float) -> float:
    """The factor, at most 1, that makes scores of this size moderate. Recall does not depend on the scale of W."""
    return min(1.0, MODERATE_SCORE / size) if size > 0 else 1.0
