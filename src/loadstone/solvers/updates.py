"""Edit a memory without training it again: the rank-one update and the batch update.

Both are least squares. Among all matrices that give the input k of an edit a wanted query v, the rank-one update

    W' = W + (v - W k) (C^-1 k)^T / (k^T C^-1 k),    C the second moment of the inputs of the other facts,

changes the queries of the other facts least. It is the update of ROME (Meng, Bau, Andonian and Belinkov 2022,
arXiv:2202.05262). The batch update weighs all edits at once (columns of K and V) against n other facts,

    W' = W + (V - W K) K^T (lambda n C + K K^T)^-1,

which minimises the squared changes of the other queries, lambda times each, plus the squared errors of the new ones. It
is that of MEMIT (Meng, Sen Sharma, Andonian, Belinkov and Bau 2022, arXiv:2210.07229).

There v comes from a language model. Here it is the query nearest to W k at which the new answer wins by a margin, where
near means that the scores of all answers, up to a common shift, change least in the mean square. With the rank-one
update this v also changes the scores of the other facts least: those changes are in proportion to the change for k.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Float64
from scipy.optimize import nnls

from loadstone.arguments import refuse
from loadstone.problems.arrays import Arrays

#: Second moments get the smallest multiple of the identity that keeps their condition number below this. Inputs outside
#: the span of the others are then edited along what is outside, which leaves the others almost untouched.
_CONDITION = 1e10
#: Where a query needs more than this many times the change that the worst rival alone asks for, the answer cannot win.
_FAR = 1e5
_TOLERANCE = 1e-6
#: An update works with products of four entries.
_LARGEST = 1e70
#: An edit that is alone in a batch gets this share of the change that it asks for, if lambda is not given.
SHARE = 0.9


def one_at_a_time(
    weights: Float[np.ndarray, "d d"], facts: Arrays, edits: Sequence[int], margin: float
) -> Float64[np.ndarray, "d d"]:
    """W after a rank-one update for each edit, in their order.

    facts: all facts as they are to be.
    edits: which of them are new or changed. Each one counts among the others once it is made.
    margin: by which the answer of each edit is to win. An edit whose answer can never win is left out.
    """
    _check_scale(facts)
    answers, updated, moment = Answers(facts.outputs), np.asarray(weights, np.float64), _moment(_kept(facts, edits))
    for row in edits:
        key, value = _wanted(answers, updated, facts, row, margin)
        if value is not None:
            updated = rank_one(updated, moment, key, value)
        moment = moment + np.outer(key, key)
    return updated


def all_at_once(
    weights: Float[np.ndarray, "d d"], facts: Arrays, edits: Sequence[int], margin: float, old: float | None = None
) -> Float64[np.ndarray, "d d"]:
    """W after one batch update for all edits. See `one_at_a_time` for the arguments.

    old: lambda, the weight of a fact that is to stay beside that of an edit; see `weight_of_old`.
    """
    _check_scale(facts)
    answers, start, kept = Answers(facts.outputs), np.asarray(weights, np.float64), _kept(facts, edits)
    wanted = [_wanted(answers, start, facts, row, margin) for row in edits]
    possible = [(key, value) for key, value in wanted if value is not None]
    if not possible:
        return start
    old = weight_of_old(kept) if old is None else old
    keys, values = (np.stack(part) for part in zip(*possible))
    return batch(start, old * _moment(kept), keys, values)


def rank_one(
    weights: Float64[np.ndarray, "d d"],
    moment: Float64[np.ndarray, "d d"],
    key: Float64[np.ndarray, "d"],
    value: Float64[np.ndarray, "d"],
) -> Float64[np.ndarray, "d d"]:
    """W' with W' k = v that changes W' e - W e least, summed over inputs with this second moment (of any scale)."""
    direction = np.linalg.solve(_well_conditioned(moment), key)
    return weights + np.outer(value - weights @ key, direction / (key @ direction))


def batch(
    weights: Float64[np.ndarray, "d d"],
    moment: Float64[np.ndarray, "d d"],
    keys: Float64[np.ndarray, "k d"],
    values: Float64[np.ndarray, "k d"],
) -> Float64[np.ndarray, "d d"]:
    """The W' that minimises the sum of |W' k - v|^2 over the edits and of (W' - W) moment (W' - W)^T's trace."""
    system = _well_conditioned(moment + keys.T @ keys)
    return weights + np.linalg.solve(system, keys.T @ (values - keys @ weights.T)).T


def weight_of_old(inputs: Float[np.ndarray, "n d"]) -> float:
    """The lambda at which an edit that is alone gets SHARE of the change that it asks for.

    An edit of input k gets the share s / (lambda n + s) with s = k^T C^-1 k, and the mean of s over the inputs is the
    number of dimensions that they span.
    """
    if not len(inputs):
        return 1.0
    sizes = np.linalg.eigvalsh(_moment(inputs))
    return float((sizes > sizes[-1] / _CONDITION).sum() * (1 - SHARE) / SHARE / len(inputs))


class Answers:
    """The answers in coordinates in which the length of a change of the query is that of the change of all scores about
    their mean."""

    def __init__(self, outputs: Float[np.ndarray, "m d"]) -> None:
        centred = outputs.astype(np.float64) - outputs.mean(axis=0, dtype=np.float64)
        sizes, directions = np.linalg.eigh(centred.T @ centred / len(centred))
        differ = sizes > sizes[-1] / _CONDITION
        self.outputs = centred
        self.back = directions[:, differ] / np.sqrt(sizes[differ])
        self.inside = centred @ self.back

    def query(self, query: Float64[np.ndarray, "d"], target: int, margin: float) -> Float64[np.ndarray, "d"] | None:
        """The query nearest to this one at which the target wins by the margin; None if it cannot.

        Few rivals matter: they are taken in one after the other, the one that falls short most first.
        """
        rivals = np.arange(len(self.outputs)) != target
        directions = (self.inside[target] - self.inside)[rivals]
        wanted = margin - ((self.outputs[target] - self.outputs) @ query)[rivals]
        change, met = np.zeros(directions.shape[1]), list[int]()
        while True:
            missing = wanted - directions @ change
            worst = int(np.argmax(missing))
            if missing[worst] <= _TOLERANCE * margin or worst in met:
                return query + self.back @ change
            met.append(worst)
            shortest = _shortest(directions[met], wanted[met])
            if shortest is None:
                return None
            change = shortest


def _check_scale(facts: Arrays) -> None:
    """Refuse vectors whose second moments leave the range of float64. Decisions do not depend on the scale."""
    for name, vectors in (("inputs", facts.inputs), ("outputs", facts.outputs)):
        size = float(np.abs(vectors).max())
        if not 1 / _LARGEST < size < _LARGEST:
            allowed = f"between {1 / _LARGEST:g} and {_LARGEST:g} for an update: multiply them by one number, or refit"
            raise refuse(f"the largest of the {name}", size, allowed)


def _wanted(
    answers: Answers, weights: Float64[np.ndarray, "d d"], facts: Arrays, row: int, margin: float
) -> tuple[Float64[np.ndarray, "d"], Float64[np.ndarray, "d"] | None]:
    """The input of an edit, and the query that it wants; None if its answer can never win."""
    key = facts.inputs[row].astype(np.float64)
    return key, answers.query(weights @ key, int(facts.targets[row]), margin)


def _shortest(directions: Float64[np.ndarray, "k d"], wanted: Float64[np.ndarray, "k"]) -> np.ndarray | None:
    """The shortest x with directions x >= wanted, by non-negative least squares (Lawson and Hanson 1974, chapter 23);
    None if it is far longer than the first of them asks for."""
    length = np.linalg.norm(directions[0])
    if length == 0:
        return None
    unit = wanted[0] / length
    table = np.vstack([directions.T, wanted / unit])
    aim = np.zeros(len(table))
    aim[-1] = 1.0
    residual = table @ nnls(table, aim, maxiter=100 * len(wanted))[0] - aim
    return -unit * residual[:-1] / residual[-1] if residual[-1] < -1 / _FAR**2 else None


def _kept(facts: Arrays, edits: Sequence[int]) -> Float64[np.ndarray, "n d"]:
    """The inputs of the facts that are not edited."""
    return np.delete(facts.inputs, list(edits), axis=0).astype(np.float64)


def _moment(inputs: Float64[np.ndarray, "n d"]) -> Float64[np.ndarray, "d d"]:
    return inputs.T @ inputs


def _well_conditioned(moment: Float64[np.ndarray, "d d"]) -> Float64[np.ndarray, "d d"]:
    sizes = np.linalg.eigvalsh(moment)
    if sizes[-1] <= 0:
        return np.eye(len(moment))
    more = (sizes[-1] - _CONDITION * sizes[0]) / (_CONDITION - 1)
    return moment + max(0.0, more) * np.eye(len(moment))
