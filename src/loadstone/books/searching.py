"""The search for a W that stores facts in words. NumPy searches, and a proof confirms the result.

For few facts a verdict is quick, whatever it says; for many a search comes first. Only where passes are so long that
compiling them pays, or on an accelerator, the facts become a problem for JAX.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import jax.numpy as jnp
import numpy as np

from loadstone.books.gathered import Gathered
from loadstone.deadline import Deadline
from loadstone.memories.families import subspace_of, written_family
from loadstone.memories.full import Full
from loadstone.memories.memory import Memory
from loadstone.memories.projected import Projected
from loadstone.problems.numpy_pass import Rivals, rivals_of, seconds_of_rivals
from loadstone.progress import Progress
from loadstone.proofs.verdict import Outcome
from loadstone.solvers import lbfgs_numpy
from loadstone.solvers.decide import decide
from loadstone.solvers.lbfgs_numpy import is_plain
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import Limits
from loadstone.solvers.weighted import seconds_a_pass, store_most

#: With fewer products a pass, or at a smaller dimension, verdicts are quick, whatever they say (solvers/decide.py).
_SMALL, _FEW_DIMENSIONS = 10**7, 60
_MOST_PASSES = 1000
#: With fewer products a pass takes less than half a second, and its time need not be measured.
_LONG = 10**10


class Search:
    """A search for W in a linear family. `weights` is its current W. It is searched for with numbers of moderate size,
    and proofs are about the facts as they were given."""

    def __init__(self, gathered: Gathered, family: str, seconds: float) -> None:
        d = gathered.inputs.shape[1]
        self.gathered, self.moderate, self.family = gathered, gathered.moderate(), written_family(family)
        self.subspace = subspace_of(family, d)  # refuses an unknown family
        self.deadline = Deadline(seconds)
        self.weights = np.zeros((d, d))
        #: How long a pass takes, and finding the rivals of all facts; 0 where that is too short to matter.
        self.pass_seconds = self.rivals_seconds = 0.0
        self._rivals: tuple[np.ndarray, Rivals] | None = None

    def foresee(self, facts: int) -> None:
        """Measure how long a pass over this many facts takes, if it may take long."""
        if facts * self.gathered.outputs.size >= _LONG:
            self.pass_seconds = seconds_a_pass(self.moderate.problem())
            self.rivals_seconds = seconds_of_rivals(np.eye(len(self.weights)), self.gathered)

    def is_small(self, rows: Collection[int]) -> bool:
        """Whether verdicts on these facts are quick."""
        return len(rows) * self.gathered.outputs.size < _SMALL or len(self.weights) < _FEW_DIMENSIONS

    def tried(self, rows: Collection[int], seconds: float = math.inf, by_verdict: bool = False) -> Outcome:
        """Search for a W that stores these facts, leave it or the best one reached in `weights`, and return what is
        proved. A search can only prove that facts are stored; a verdict proves it either way, but may take long."""
        if by_verdict or self.is_small(rows):
            begin, left = self.weights if self.weights.any() else None, self.deadline.share(1.0)
            verdict = decide(self.gathered.arrays(rows), start=begin, seconds=left, family=self.family)
            weights = verdict.last if verdict.witness is None else verdict.witness
            assert weights is not None
            self.weights = weights
            return verdict.verdict
        limits = Limits(_MOST_PASSES, max(1e-3, min(seconds, self.deadline.left)))
        if is_plain(len(self.gathered), *self.gathered.outputs.shape):
            start = self.weights.astype(np.float32)
            solution = lbfgs_numpy.store(self.moderate.arrays(rows), start, limits, self.subspace)
            weights = np.asarray(solution.memory.weights, np.float64)
            inside = weights if self.subspace is None else self.subspace.projected(weights)
            self.weights, status = inside, solution.status
        else:
            # Repeated facts change nothing, and with a fixed length one compiled program serves all.
            repeated = np.resize(np.fromiter(rows, int, len(rows)), len(self.gathered))
            solution = solve(self.moderate.problem(repeated), self._memory(), stop="exact", limits=limits)
            self.weights, status = np.asarray(solution.memory.matrix(), np.float64), solution.status
        return Outcome.STORABLE if status == Status.STORED and self.is_proved(rows) else Outcome.UNDECIDED

    def store_most(self, rows: Collection[int], seconds: float, progress: Progress) -> None:
        """Search for `seconds` for a W that stores as many of these facts as possible, and leave it in `weights`."""
        problem, each = self.moderate.problem(rows), self.pass_seconds or None
        memory = store_most(problem, self._memory(), max(1e-3, seconds), progress, each)
        self.weights = np.asarray(memory.matrix(), np.float64)

    def is_proved(self, rows: Collection[int]) -> bool:
        """Whether W is proved to store these facts despite rounding."""
        return self.gathered.are_stored(rows, self.weights, self.subspace)

    def rivals(self) -> Rivals:
        """The rival and the margin of every fact, computed once for each W: for many facts this takes long."""
        if self._rivals is None or self._rivals[0] is not self.weights:
            self._rivals = self.weights, rivals_of(self.weights, self.gathered)
        return self._rivals[1]

    def _memory(self) -> Memory:
        """W as a memory of the family."""
        single = jnp.asarray(self.weights.astype(np.float32))
        return Full(single) if self.subspace is None else Projected.made(single, self.subspace)
