"""The pass in NumPy: scores, margins, rivals, the loss with its gradient, and second moments. Nothing is compiled, and
nothing here imports JAX.

`ExactPass` has all scores of an instance in memory at once, in float64: what Newton's method and proofs need.
`NumpyPass` is the pass of a search over facts, a block of facts at a time. The functions at the end find rivals and
margins of facts, however many: all scores of 50 000 facts would take 20 GB.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from jaxtyping import Bool, Float, Float64, Int

from loadstone.deadline import Deadline
from loadstone.problems.arrays import Arrays
from loadstone.problems.moderate import given_scale, moderate
from loadstone.threads import shared_out

if TYPE_CHECKING:
    from jaxtyping import Array

    from loadstone.problems.facts import Facts

    Numbers = np.ndarray | Array
else:
    Numbers = Any  # arrays of NumPy or JAX, which need not be imported to check their shapes

#: How many numbers of decoupled outputs `ExactPass` weights at a time.
_NUMBERS_AT_A_TIME = 2**25
#: This many scores at a time stay in a processor's cache, but products of fewer rows than this are slow.
_SCORES_AT_A_TIME, _FEWEST_ROWS = 2**17, 128
#: How many scores in float64, and in float32, are made at a time where only rivals are looked for.
_BLOCK, _BLOCK_OF_SINGLES = 2**22, 2**23
#: With more products, rivals are looked for in float32, which takes half the time.
_MOST_IN_FLOAT64 = 2**32
#: Unit of rounding of float32.
_UNIT = 2.0**-24
#: The time of a pass is judged by this many facts.
_TIMED_ROWS = 1024


class ExactPass:
    """Scores, weights and their moments for one instance, in float64 with all scores in memory.

    It is written for NumPy's interface: `xp` is NumPy on a CPU, where nothing has to be compiled, and jax.numpy (with
    64-bit numbers switched on) on an accelerator.
    """

    def __init__(self, arrays: Arrays, xp: ModuleType = np) -> None:
        self.xp = xp
        self.decoupled = arrays.decoupled
        self.inputs = xp.asarray(arrays.inputs, dtype=xp.float64)
        self.outputs = xp.asarray(arrays.outputs, dtype=xp.float64)
        self.targets = xp.asarray(arrays.targets)
        self.target_outputs = xp.asarray(arrays.target_outputs, dtype=xp.float64)
        n, m = len(arrays.targets), arrays.outputs.shape[-2]
        self.is_target = xp.arange(m)[None, :] == self.targets[:, None]
        self._pairs = np.triu_indices(self.inputs.shape[1])
        self._rows = max(1, _NUMBERS_AT_A_TIME // (m * self.inputs.shape[1])) if self.decoupled else n

    def scores(self, weights: Float64[Numbers, "d d"]) -> Float64[Numbers, "n m"]:
        """u_rho^T W e_mu for all competing outputs."""
        queries = self.inputs @ weights.T
        return (self.outputs @ queries[:, :, None])[:, :, 0] if self.decoupled else queries @ self.outputs.T

    def margins(self, scores: Float64[Numbers, "n m"]) -> Float64[Numbers, "n"]:
        """The target's score minus the rival's."""
        xp = self.xp
        target = xp.take_along_axis(scores, self.targets[:, None], axis=1)[:, 0]
        return target - xp.max(xp.where(self.is_target, -xp.inf, scores), axis=1)

    def mean(self, softmax: Float64[Numbers, "n m"]) -> Float64[Numbers, "n d"]:
        """The pull: outputs averaged with these weights."""
        return (softmax[:, None, :] @ self.outputs)[:, 0, :] if self.decoupled else softmax @ self.outputs

    def spreads(
        self, weights: Float64[Numbers, "n m"], sums: Float64[Numbers, "n d"], centres: Float64[Numbers, "n d"]
    ) -> Float64[Numbers, "n d d"]:
        """Sum over rho of weight (u_rho - c_mu) (u_rho - c_mu)^T, for weights with weighted sums `sums`. With the
        softmax and its mean as the centre, this is the covariance of the outputs of mu."""
        cross, total = sums[:, :, None] * centres[:, None, :], weights.sum(axis=1)[:, None, None]
        squares = total * centres[:, :, None] * centres[:, None, :]
        return self._second_moments(weights) - cross - self.xp.swapaxes(cross, 1, 2) + squares

    def summed_squares(self, weights: Float64[Numbers, "n m"]) -> Float64[Numbers, "d d"]:
        """Sum over all associations and their outputs of weight u u^T."""
        if self.decoupled:
            return self._second_moments(weights).sum(axis=0)
        return (self.outputs.T * weights.sum(axis=0)) @ self.outputs

    def _second_moments(self, weights: Float64[Numbers, "n m"]) -> Float64[Numbers, "n d d"]:
        xp = self.xp
        if self.decoupled:
            pieces = []
            for first in range(0, weights.shape[0], self._rows):
                part = self.outputs[first : first + self._rows]
                weighted = part * weights[first : first + self._rows, :, None]
                pieces.append(xp.swapaxes(part, 1, 2) @ weighted)
            return xp.concatenate(pieces)
        d = self.inputs.shape[1]
        index = np.zeros((d, d), int)
        index[self._pairs] = index[self._pairs[::-1]] = np.arange(len(self._pairs[0]))
        return (weights @ self._products)[:, index]

    @cached_property
    def _products(self) -> Any:
        """Products of all pairs of components of shared outputs."""
        first, second = self._pairs
        return self.outputs[:, first] * self.outputs[:, second]


class PassResult(NamedTuple):
    """The mean loss, its gradient, and which facts are stored, or stored beyond rounding (kernels/recall.py)."""

    loss: float
    gradient: Float[np.ndarray, "d d"]
    stored: Bool[np.ndarray, "n"]
    stored_beyond_rounding: Bool[np.ndarray, "n"]


class NumpyPass:
    """Passes over facts with the gradient for W, in float32 or float64.

    The scores of all answers are E (U W)^T. If there are fewer answers than facts, W meets the few, and a pass takes
    half as long as with (E W^T) U^T or less; the same goes for the gradient.

    each: maps a function over blocks of facts, perhaps on several threads.
    """

    def __init__(self, facts: Facts | Arrays, kind: np.dtype, each: Callable[..., Iterable[Any]] = map) -> None:
        given = facts if isinstance(facts, Arrays) or kind != np.float64 else facts.arrays()
        self.inputs, self.outputs = (np.ascontiguousarray(part, kind) for part in (given.inputs, given.outputs))
        self.targets = np.asarray(facts.targets).astype(int)
        n, m = len(self.inputs), len(self.outputs)
        of_facts = None if isinstance(facts, Arrays) else facts.shares
        shares = np.ones(n) if of_facts is None else np.asarray(of_facts, np.float64)
        self.shares = (shares / shares.sum()).astype(kind)
        self.fewer_answers = m < n
        blocks = -(-n // max(_FEWEST_ROWS, _SCORES_AT_A_TIME // m))
        self.blocks = [slice(part[0], part[-1] + 1) for part in np.array_split(np.arange(n), blocks)]
        self._map = each if len(self.blocks) > 1 else map

    def at(self, weights: Float[np.ndarray, "d d"]) -> PassResult:
        """Loss, gradient and what is stored."""
        mapped = self._mapped(weights)
        losses, sums, targets, rivals = zip(*self._map(lambda rows: self._block(rows, mapped), self.blocks))
        gradient = np.sum(sums, axis=0) if len(sums) > 1 else sums[0]
        if self.fewer_answers:
            gradient = self.outputs.T @ gradient
        target, rival = np.concatenate(targets), np.concatenate(rivals)
        mean = float(np.dot(self.shares.astype(np.float64), np.concatenate(losses)))
        return PassResult(mean, gradient, target > rival, _stored_beyond_rounding(target, rival))

    def recalled(self, weights: Float[np.ndarray, "d d"]) -> tuple[Bool[np.ndarray, "n"], Float[np.ndarray, "n"]]:
        """Which facts are stored beyond rounding, and the loss of each, without the gradient."""
        mapped = self._mapped(weights)
        losses, target, rival = zip(*self._map(lambda rows: self._softmax(rows, mapped)[1:], self.blocks))
        return _stored_beyond_rounding(np.concatenate(target), np.concatenate(rival)), np.concatenate(losses)

    def _mapped(self, weights: Float[np.ndarray, "d d"]) -> np.ndarray:
        return self.outputs @ weights if self.fewer_answers else weights

    def _block(self, rows: slice, mapped: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """For some facts: their losses, what they add to the gradient, and the scores of targets and rivals."""
        softmax, losses, target, rival = self._softmax(rows, mapped)
        inputs, shares = self.inputs[rows], self.shares[rows]
        softmax *= shares[:, None]
        softmax[np.arange(len(softmax)), self.targets[rows]] -= shares
        sums = softmax.T @ inputs if self.fewer_answers else (softmax @ self.outputs).T @ inputs
        return losses, sums, target, rival

    def _softmax(self, rows: slice, mapped: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """For some facts: the weights of all answers, the losses, and the scores of targets and rivals."""
        queries = self.inputs[rows] @ mapped.T
        scores = queries if self.fewer_answers else queries @ self.outputs.T
        target = _take_target_scores(scores, self.targets[rows])
        rival = scores.max(axis=1)
        scores[np.arange(len(scores)), self.targets[rows]] = target
        top = np.maximum(target, rival)
        scores -= top[:, None]
        weights = np.exp(scores, out=scores)
        total = weights.sum(axis=1)
        weights /= total[:, None]
        return weights, np.log(total) + (top - target), target, rival


class WithVectors(Protocol):
    """Facts with their vectors, such as a book, or plain arrays."""

    @property
    def inputs(self) -> Float[np.ndarray, "n d"]: ...
    @property
    def outputs(self) -> Float[np.ndarray, "m d"]: ...
    @property
    def targets(self) -> Int[np.ndarray, "n"]: ...


#: For each fact: the other answer that scores best, and by how much its own answer scores more.
Rivals = tuple[Int[np.ndarray, "n"], Float64[np.ndarray, "n"]]


def scores_of(
    weights: Float[np.ndarray, "d d"], facts: WithVectors, rows: Collection[int]
) -> Iterator[tuple[Int[np.ndarray, "b"], Float64[np.ndarray, "b m"]]]:
    """Blocks of rows, and the scores u^T W e of all answers for each of them, in float64. Scores beyond its range are
    brought into it by a power of two, the same for all scores of a row."""
    indices, (outputs, of_outputs) = np.fromiter(rows, int, len(rows)), moderate(facts.outputs.astype(np.float64))
    matrix, of_matrix = moderate(weights.T.astype(np.float64))
    for part in np.array_split(indices, max(1, len(indices) * len(outputs) // _BLOCK)):
        inputs, of_inputs = moderate(facts.inputs[part].astype(np.float64), axis=1)
        yield part, given_scale(inputs @ matrix @ outputs.T, of_inputs + of_outputs + of_matrix)


def margins_of(
    weights: Float[np.ndarray, "d d"], facts: WithVectors, rows: Collection[int] | None = None
) -> Float64[np.ndarray, "n"]:
    """For each fact: the score of its answer minus the best other score."""
    return rivals_of(weights, facts, rows)[1]


def rivals_of(weights: Float[np.ndarray, "d d"], facts: WithVectors, rows: Collection[int] | None = None) -> Rivals:
    """For each fact: the other answer that scores best, and by how much its own answer scores more."""
    indices = np.arange(len(facts.targets)) if rows is None else np.fromiter(rows, int, len(rows))
    return _rivals_in_either(facts, len(indices))(weights, facts, indices)


def seconds_of_rivals(weights: Float[np.ndarray, "d d"], facts: WithVectors) -> float:
    """How long it takes to find the rivals of all facts, judged by a few of them."""
    n = len(facts.targets)
    rivals, few = _rivals_in_either(facts, n), np.arange(min(_TIMED_ROWS, n))
    rivals(weights, facts, few[:1])  # the first time takes longer: threads begin
    clock = Deadline()
    rivals(weights, facts, few)
    return clock.taken * n / len(few)


def _rivals_in_either(facts: WithVectors, count: int) -> Callable[..., Rivals]:
    """The search for rivals: in float32 where there are many products, otherwise in float64."""
    return _rivals_in_float32 if count * facts.outputs.size > _MOST_IN_FLOAT64 else _rivals_in_float64


def _rivals_in_float64(weights: Float[np.ndarray, "d d"], facts: WithVectors, indices: Int[np.ndarray, "n"]) -> Rivals:
    rivals, margins = [np.empty(0, int)], [np.empty(0)]
    for part, scores in scores_of(weights, facts, indices):
        target = _take_target_scores(scores, facts.targets[part])
        rivals.append(scores.argmax(axis=1))
        margins.append(target - scores.max(axis=1))
    return np.concatenate(rivals), np.concatenate(margins)


def _rivals_in_float32(weights: Float[np.ndarray, "d d"], facts: WithVectors, indices: Int[np.ndarray, "n"]) -> Rivals:
    """The rival has the best score in float32, and the margin against it is computed in float64.

    A sum of d products in float32 is wrong by at most (d + 4) units of rounding times the lengths of its two vectors.
    So another answer may score better than the rival, but by no more than twice that. Facts whose margin is positive
    and not larger are looked at again in float64: whether a fact is stored is certain.
    """
    d, (vectors, of_outputs) = weights.shape[0], moderate(facts.outputs)
    matrix, of_matrix = moderate(weights.T.astype(np.float64))
    longest = float(np.linalg.norm(vectors.astype(np.float64), axis=1).max()) or 1.0
    outputs = (vectors / longest).astype(np.float32)
    rivals, margins = np.empty(len(indices), int), np.empty(len(indices))
    doubtful = np.zeros(len(indices), bool)

    def score(part: Int[np.ndarray, "b"]) -> None:
        rows = indices[part]
        inputs, of_inputs = moderate(facts.inputs[rows].astype(np.float64), axis=1)
        queries = inputs @ matrix
        lengths = np.linalg.norm(queries, axis=1)
        scores = (queries / np.where(lengths > 0, lengths, 1.0)[:, None]).astype(np.float32) @ outputs.T
        _take_target_scores(scores, facts.targets[rows])
        rivals[part] = scores.argmax(axis=1)
        difference = vectors[facts.targets[rows]].astype(np.float64) - vectors[rivals[part]]
        differences = (queries * difference).sum(axis=1)
        doubtful[part] = (differences > 0) & (differences <= 2 * (d + 4) * _UNIT * lengths * longest)
        margins[part] = given_scale(differences, of_inputs + of_outputs + of_matrix, lengths * longest)

    blocks = np.array_split(np.arange(len(indices)), max(1, len(indices) * len(outputs) // _BLOCK_OF_SINGLES))
    with shared_out() as each:
        list(each(score, blocks))
    rivals[doubtful], margins[doubtful] = _rivals_in_float64(weights, facts, indices[doubtful])
    return rivals, margins


def _take_target_scores(scores: Float[np.ndarray, "n m"], targets: Int[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    """Take out the targets' scores: minus infinity takes their places, so the largest score left is the rival's."""
    at = np.arange(len(scores)), targets
    target = scores[at]
    scores[at] = -np.inf
    return target


def _stored_beyond_rounding(target: Float[np.ndarray, "n"], rival: Float[np.ndarray, "n"]) -> Bool[np.ndarray, "n"]:
    """`Recall.stored_beyond_rounding` for arrays of NumPy."""
    size = np.abs(target)
    return target - rival > np.finfo(size.dtype).eps * (8 * size + 2 * size.mean())
