"""Pruning: a memory with few entries that differ from zero, whose places are chosen by the search.

A full memory is trained; its smallest entries are put to zero for good, and the others are trained again. This is done
in rounds, each of which keeps the same share of the entries that the last one left, until there are as few as asked
for. Which places are best is a hard question, and magnitude is only a guide: what is stored in the end bounds what the
best places could store from below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float

from loadstone.arguments import rank_fraction, refuse, set_as, whole
from loadstone.deadline import Deadline
from loadstone.memories.foreign import class_name
from loadstone.memories.full import Full
from loadstone.memories.masks import RandomMask, largest_entries
from loadstone.memories.projected import Projected
from loadstone.memories.subspaces.masked import Masked
from loadstone.problems.problem import Problem
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.search import SearchOptions
from loadstone.solvers.solution import Solution
from loadstone.solvers.solver import Solver
from loadstone.solvers.stop import Limits

_LBFGS = LBFGS()
#: A time limit that is practically zero: a search still makes its first passes.
_NO_TIME = 1e-9


@dataclass(frozen=True)
class Pruning(Solver):
    """L-BFGS, and between its searches the entries of largest magnitude stay. No row and no column loses its last one.

    density: the share of the entries that are left in the end, in (0, 1].
    rounds: how often entries are pruned. A limit of passes holds for each of the rounds + 1 searches, a limit of
        seconds for all of them together.
    """

    density: float
    rounds: int

    def __post_init__(self) -> None:
        set_as(self, "density", rank_fraction("density", self.density))
        set_as(self, "rounds", whole("rounds", self.rounds, 1, 10**6))

    def precisions(self) -> tuple[str, ...]:
        return _LBFGS.precisions()

    def solve(self, problems: Sequence[Problem], memories: Sequence[Any], options: SearchOptions) -> list[Solution]:
        deadline = Deadline(options.limits.seconds)
        pairs = [_weights_and_mask(memory) for memory in memories]
        d = pairs[0][0].shape[0]
        RandomMask.check(d, self.density)
        by_round: list[list[Solution]] = []
        for left in self._entries(max(int(mask.sum()) for _, mask in pairs), d):
            pairs = [(weights, mask & largest_entries(weights, left)) for weights, mask in pairs]
            starts = [_masked(weights, mask) for weights, mask in pairs]
            by_round.append(_LBFGS.solve(problems, starts, _rest_of(options, deadline, by_round)))
            pairs = [_weights_and_mask(one.memory) for one in by_round[-1]]
        seconds = deadline.taken / len(problems)
        return [_joined(searches, seconds) for searches in zip(*by_round)]

    def _entries(self, first: int, d: int) -> list[int]:
        """How many entries each search has: all of them, and then fewer by equal factors."""
        last = min(first, round(self.density * d * d))
        return [round(first * (last / first) ** (number / self.rounds)) for number in range(self.rounds + 1)]


def _weights_and_mask(memory: Any) -> tuple[Float[np.ndarray, "d d"], Bool[np.ndarray, "d d"]]:
    """W, and where it may differ from zero."""
    if isinstance(memory, Full):
        weights = np.asarray(memory.weights)
        return weights, np.ones(weights.shape, bool)
    if isinstance(memory, Projected) and isinstance(memory.subspace, Masked):
        return np.asarray(memory.matrix()), np.asarray(memory.subspace.mask)
    raise refuse("memory", class_name(memory), "Full, or masked: entries of W are pruned")


def _masked(weights: Float[np.ndarray, "d d"], mask: Bool[np.ndarray, "d d"]) -> Projected:
    """The start of a search, in float32, whatever digits the last one ended with."""
    start = np.where(mask, weights, 0).astype(np.float32)
    return Projected(jnp.asarray(start), Masked.from_pieces((jnp.asarray(mask),), None))


def _rest_of(options: SearchOptions, deadline: Deadline, by_round: list[list[Solution]]) -> SearchOptions:
    """The options of the next search: the time that is left, and progress that counts on from the searches before."""
    limits = Limits(options.limits.passes, deadline.share(1.0, _NO_TIME))
    before = sum(max(one.passes for one in searches) for searches in by_round)
    progress = options.progress
    return replace(options, limits=limits, progress=lambda passes, words: progress(before + passes, words))


def _joined(searches: Sequence[Solution], seconds: float) -> Solution:
    """The last search, with the passes and traces of all."""
    loss, accuracy = (np.concatenate([getattr(one, name) for one in searches]) for name in ("loss", "accuracy"))
    passes = sum(one.passes for one in searches)
    return replace(searches[-1], passes=passes, loss=loss, accuracy=accuracy, seconds=seconds)
