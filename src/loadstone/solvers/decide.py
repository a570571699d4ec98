"""Exact verdicts: is there any W, in a linear family or at all, that stores the instance? A proof either way.

First L-BFGS, then Newton's method. L-BFGS stores most instances that can be stored, and its W is then the witness. Of
the others it finds the minimum of the loss, where Newton's method (solvers/newton.py) needs a step or two for a
certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, Float64
from numpy.typing import ArrayLike

from loadstone.arguments import positive, refuse, set_as, whole
from loadstone.deadline import Deadline
from loadstone.memories.families import subspace_of
from loadstone.memories.full import Full
from loadstone.memories.memory import Memory
from loadstone.memories.projected import Projected
from loadstone.memories.subspaces.subspace import Subspace
from loadstone.problems.arrays import Arrays, HasArrays, arrays_of, exact_floats
from loadstone.problems.budget import Budget
from loadstone.problems.facts import facts_of
from loadstone.problems.separate import separate
from loadstone.progress import Progress, progress_of
from loadstone.proofs.conditioned import Conditioned, Proof
from loadstone.proofs.verdict import Outcome, Verdict
from loadstone.solvers import lbfgs_numpy
from loadstone.solvers.clock import Clock, OutOfTimeError
from loadstone.solvers.coordinates import moderate_scale
from loadstone.solvers.hessian import scores_bytes
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.lbfgs_numpy import is_plain
from loadstone.solvers.newton import OUT_OF_TIME, NewtonSearch, Undecided
from loadstone.solvers.search import SearchOptions, drop_slower
from loadstone.solvers.solution import Status
from loadstone.solvers.stop import Limits
from loadstone.threads import one_thread

#: Below this dimension, or with fewer products a pass, Newton's method takes less time than compiling L-BFGS.
_WORTH_COMPILING, _WORTH_PRODUCTS = 60, 10**7
#: Below this dimension it takes less time than L-BFGS that is not compiled, where the instance cannot be stored.
_WORTH_SEARCHING = 30
_MOST_PASSES = 2000
_LBFGS = LBFGS()
_SAMPLED_INPUTS = 64

_Searched = tuple[Float64[np.ndarray, "d d"], Status, int]


@dataclass(frozen=True)
class ProofLimits:
    """When to give up.

    steps: most Newton steps.
    budget: memory for the Hessian; None: half of the free memory of the device.
    seconds: most time, checked between passes and between Newton steps; compiling a search is not cut short. None: no
        limit.
    """

    steps: int = 200
    budget: Budget | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        set_as(self, "steps", whole("steps", self.steps, 1))
        if self.budget is not None and not isinstance(self.budget, Budget):
            raise refuse("budget", self.budget, "None or a Budget, such as Budget.parse('8GiB')")
        if self.seconds is not None:
            set_as(self, "seconds", positive("seconds", self.seconds))


DEFAULT_LIMITS = ProofLimits()


def decide(
    instance: HasArrays,
    limits: ProofLimits = DEFAULT_LIMITS,
    *,
    start: Float64[np.ndarray, "d d"] | None = None,
    progress: Progress | None = None,
    seconds: float | None = None,
    family: str | Subspace | Memory = "full",
) -> Verdict:
    """Decide whether any W stores the instance, or any W of a linear family.

    `start` is the W from which the search starts, such as `last` in the verdict of a neighbouring instance; its scale
    hardly matters. `progress` is called with the Newton steps done, and the state of the search in words. `seconds` is
    short for a limit of that name. `family` is the name of a linear family ('symmetric', 'blocks:8'), a subspace such
    as Masked(mask) or Given(basis), or a memory of such a family.

    Example:
        >>> stream = loadstone.Stream(0, 4)
        >>> [str(loadstone.decide(loadstone.Instance(stream, p)).verdict) for p in (6, 14)]
        ['storable', 'not storable']
    """
    arrays = arrays_of(instance)
    if not isinstance(limits, ProofLimits):
        raise refuse("limits", limits, "a ProofLimits, such as ProofLimits(steps=200)")
    if seconds is not None:
        limits = replace(limits, seconds=seconds)
    d = arrays.inputs.shape[1]
    start, subspace = None if start is None else _start(start, d), subspace_of(family, d)
    isotropic = bool(getattr(instance, "isotropic", False))
    return _Decision(Conditioned(arrays, subspace), limits, progress_of(progress), isotropic).verdict(start)


def is_worth_compiling(n: int, m: int, d: int) -> bool:
    """Whether a compiled search that stores n facts with m outputs takes less time than Newton's method."""
    return d >= _WORTH_COMPILING and n * m * d >= _WORTH_PRODUCTS


def is_compiled(arrays: Arrays) -> bool:
    """Whether a verdict begins with L-BFGS that is compiled for this number of facts."""
    return not _is_plain(arrays) and is_worth_compiling(len(arrays.inputs), *arrays.outputs.shape[-2:])


def _is_plain(arrays: Arrays) -> bool:
    return not arrays.decoupled and is_plain(len(arrays.inputs), *arrays.outputs.shape)


class _Decision:
    """The search for a verdict on one instance; `last` is the latest W of the search."""

    def __init__(self, instance: Conditioned, limits: ProofLimits, progress: Progress, isotropic: bool) -> None:
        self.instance, self.limits, self.progress, self.isotropic = instance, limits, progress, isotropic
        self.deadline = Deadline(limits.seconds)
        self.passes, self.newton, self.last = 0, (0, 0, 0), np.zeros((instance.arrays.inputs.shape[1],) * 2)

    def verdict(self, start: Float64[np.ndarray, "d d"] | None) -> Verdict:
        if start is not None:
            self.last = _moderate(self.instance.inside(start), self.instance.arrays)
        outcome, fields = Outcome.UNDECIDED, dict[str, Any]()
        try:
            proof = self.instance.tie() or self._by_lbfgs() or self._by_newton()
        except Undecided as why:
            fields["reason"] = f"{why}."
        else:
            outcome = proof.outcome
            fields = {"reason": proof.reason, "witness": proof.witness, "margin": proof.margin}
            fields["certificate"] = proof.certificate
            fields["memory"] = None if proof.witness is None else self._memory(proof.witness)
        work, seconds, family = self.newton, self.deadline.taken, self.instance.subspace
        return Verdict(outcome, *work, seconds, **fields, last=self.last, passes=self.passes, family=family)

    def _by_lbfgs(self) -> Proof | None:
        arrays = self.instance.arrays
        if len(self.last) < _WORTH_SEARCHING if _is_plain(arrays) else not is_compiled(arrays):
            return None
        vectors = arrays.inputs.size + arrays.outputs.size
        _check_memory("a search for W", _LBFGS.most_bytes(vectors, len(self.last), not _is_plain(arrays)))
        weights, status, self.passes = self._in_time(self._lbfgs)
        self.last = self.instance.inside(weights)
        if status == Status.STORED and (proof := self.instance.witness(self.last)) is not None:
            return proof
        if status == Status.OUT_OF_TIME:
            raise Undecided(OUT_OF_TIME)
        if not np.isfinite(self.last).all():
            self.last = np.zeros_like(self.last)
        elif status != Status.MINIMUM:
            self.last = _moderate(self.last, self.instance.arrays)
        return None

    def _in_time(self, search: Callable[[], _Searched]) -> _Searched:
        """Begin a search only if its first pass can end in time, since no pass is interrupted."""
        arrays, outputs = self.instance.arrays, self.instance.arrays.outputs.shape
        # Scores and pulls, in numbers of half the digits. Devices are too fast for such a limit to matter.
        operations = 4 * len(arrays.inputs) * outputs[-2] * outputs[-1]
        deadline = self.deadline if jax.default_backend() == "cpu" else Deadline()
        try:
            return Clock(deadline, np).timed("passes", operations, 2.0, search)
        except OutOfTimeError:
            raise Undecided(OUT_OF_TIME) from None

    def _lbfgs(self) -> _Searched:
        """The W that a search for one with positive margins got to, why the search ended, and its passes."""
        arrays = self.instance.arrays
        d = arrays.inputs.shape[1]
        # Scores of order one for a W of order one, as in the streams. W itself is then another one.
        scale = math.sqrt(d) / (float(arrays.outputs.std()) or 1.0)
        scaled = Arrays(arrays.inputs * scale, arrays.outputs, arrays.targets)
        limits = Limits(_MOST_PASSES, self.deadline.share(1.0))
        progress = lambda passes, words: self.progress(0, words)  # noqa: E731
        start = (self.last / scale).astype(np.float32)
        if _is_plain(arrays):
            solution = lbfgs_numpy.store(scaled, start, limits, self.instance.subspace, progress, self.isotropic)
        else:
            problem = separate(scaled) if arrays.decoupled else facts_of(scaled, self.isotropic)
            # Called directly: `solve` would measure the memory once more, and here only a proof counts.
            options = SearchOptions("exact", limits, drop_slower(_LBFGS.precisions(), problem), progress)
            (solution,) = _LBFGS.solve([problem], [self._memory(jnp.asarray(start))], options)
        return np.asarray(solution.memory.weights, np.float64) * scale, solution.status, solution.passes

    def _memory(self, weights: Float64[np.ndarray, "d d"] | Float32[Array, "d d"]) -> Full | Projected:
        subspace = self.instance.subspace
        return Full(weights) if subspace is None else Projected.made(weights, subspace)

    def _by_newton(self) -> Proof:
        n, m = len(self.instance.arrays.targets), self.instance.arrays.outputs.shape[-2]
        _check_memory("no W was found, and a certificate", scores_bytes(n, m))
        limits, on_cpu = self.limits, jax.default_backend() == "cpu"
        given = limits.steps, limits.budget, self.deadline, self.progress
        with one_thread() if on_cpu else jax.enable_x64(True):
            search = NewtonSearch(self.instance, np if on_cpu else jnp, self.last, *given)
            try:
                return search.run()
            finally:
                self.newton = search.steps, search.products, search.dense_solves
                self.last = np.asarray(search.weights)


def _check_memory(what: str, needed: int) -> None:
    """Give up before anything is allocated that does not fit."""
    if not Budget().allows(needed):
        raise Undecided(f"{what} needs {needed / 2**30:.3g} GiB of memory, more than half of what is free")


def _start(start: ArrayLike, d: int) -> Float64[np.ndarray, "d d"]:
    if (floats := exact_floats("start", start)).shape != (d, d):
        raise refuse("start.shape", floats.shape, f"({d}, {d}), the shape of W")
    return floats.astype(np.float64)


def _moderate(weights: Float64[np.ndarray, "d d"], arrays: Arrays) -> Float64[np.ndarray, "d d"]:
    """W scaled down to scores of moderate size, judged by a sample of the inputs."""
    rows = np.unique(np.linspace(0, len(arrays.targets) - 1, _SAMPLED_INPUTS).astype(int))
    with np.errstate(over="ignore", invalid="ignore"):
        queries = arrays.inputs[rows] @ weights.T
        outputs = arrays.outputs[rows] if arrays.decoupled else arrays.outputs[None]
        scores = (outputs @ queries[:, :, None])[:, :, 0]
        size = float(np.sqrt((scores**2).mean()))
    return weights * moderate_scale(size)
