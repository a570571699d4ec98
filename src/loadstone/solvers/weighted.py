"""As many facts as possible, where no memory stores all of them or where there is no time for all of them.

The minimum of the loss serves all facts alike. Far above the capacity it recalls hardly any: 11 of 6000 at d = 64. What
we want to be large is the expected number of facts recalled, the sum of p_mu, the softmax weight of each target.
Since log x <= x - 1, for every p'

    1 - p <= 1 - p' + p' log(p' / p),

so the loss in which each fact has its present p' as its share bounds what is missing, and touches it here. Every round
minimises this bound for a while, and then takes new shares. Facts that have no chance lose their share to the others:
620 of those 6000 are stored in the end.

Of very many facts only the most promising take part, so that time is left for enough passes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from loadstone.arguments import positive
from loadstone.compiling import compiled
from loadstone.deadline import Deadline
from loadstone.problems.facts import Facts, block_rows
from loadstone.problems.loss import queries_of
from loadstone.problems.numpy_pass import NumpyPass
from loadstone.progress import Progress, silent
from loadstone.solvers.coordinates import MODERATE_SCORE, typical_score, whiten
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.lbfgs_numpy import is_plain
from loadstone.solvers.search import SearchOptions
from loadstone.solvers.stop import Limits
from loadstone.threads import shared_out

#: Passes of a round, so that time allows a number of rounds. Of 10 000 cities, rounds of 5, 10, 20 and 40 passes stored
#: 7377, 8147, 8689 and 8986 in the same time.
_ROUNDS, _FEWEST_PASSES, _MOST_PASSES = 8, 8, 100
#: Time should allow this many passes over the facts that take part, and this share of it is for choosing them.
_WORTHWHILE, _FOR_CHOICE = 16, 0.2
#: The search ends when this many rounds in a row stored no more facts than the best before.
_IDLE = 3
#: Rounds in which only the answers of the facts that take part compete, if these are few among all.
_AMONG_THEMSELVES, _FEW = 3, 0.3
#: No share is smaller: a fact without any would never come back.
_LEAST_SHARE = 1e-8
_LBFGS = LBFGS(whiten=False)
_TIMED_ROWS, _ROWS_AT_A_TIME = 1024, 4096


class _Seen(NamedTuple):
    """What a pass saw of some facts: which are stored, and the softmax weight of each target, as a logarithm."""

    stored: Bool[np.ndarray, "n"]
    log_weight: Float[np.ndarray, "n"]


def seconds_a_pass(problem: Facts) -> float:
    """How long a pass over all facts takes here, judged by a few of them."""
    n, d = problem.inputs.shape
    part = _part(problem, np.arange(min(_TIMED_ROWS, n)))
    with shared_out() as each:
        passes = NumpyPass(part, np.dtype(np.float32), each)
        plain = lambda: passes.at(np.eye(d, dtype=np.float32)).loss  # noqa: E731
        look = plain if _is_plain(problem) else lambda: jax.block_until_ready(_recalled(part, part.inputs))
        for _ in range(2):  # the first also compiles, or begins threads
            clock = Deadline()
            look()
    return max(1e-9, clock.taken) * n / part.inputs.shape[0]


def store_most(
    problem: Facts, memory: Any, seconds: float, progress: Progress = silent, pass_seconds: float | None = None
) -> Any:
    """A memory of the same family that stores as many facts as a search of `seconds` seconds can.

    memory: where the search starts. If its matrix is zero, it starts from the projections of targets onto inputs, which
        in whitened coordinates are the pseudo-inverse.
    seconds: most time. The clock is checked after every pass over the facts that take part, of which time allows 16.
    progress: called with how many facts are stored, and of how many.
    pass_seconds: how long a pass over all facts takes, if that is known.
    """
    deadline = Deadline(positive("seconds", seconds))
    pass_seconds = seconds_a_pass(problem) if pass_seconds is None else positive("pass_seconds", pass_seconds)
    whitened = whiten(problem, memory)
    assert isinstance(whitened.problem, Facts)
    trained = bool(np.any(np.asarray(whitened.start.matrix())))
    start = whitened.start if trained else _projections(whitened.problem, whitened.start)
    return whitened.unwhiten(_search(whitened.problem, start, trained, deadline, progress, pass_seconds))


def _search(
    problem: Facts, memory: Any, trained: bool, deadline: Deadline, progress: Progress, pass_seconds: float
) -> Any:
    allowed = deadline.left / pass_seconds
    if allowed >= _WORTHWHILE:
        passes = max(_FEWEST_PASSES, min(_MOST_PASSES, int(allowed / _ROUNDS)))
        return _rounds(problem, memory, _seen(problem, memory) if trained else None, deadline, progress, passes)
    if allowed <= 0:
        return memory
    rows, seen = _promising(problem, memory, _FOR_CHOICE * allowed, (1 - _FOR_CHOICE) * allowed / _WORTHWHILE)
    part = _part(problem, rows)
    answers, targets = np.unique(np.asarray(part.targets), return_inverse=True)
    if 1 < len(answers) < _FEW * problem.competitors:
        alone = replace(part, outputs=part.outputs[answers], targets=jnp.asarray(targets, jnp.int32))
        memory = _rounds(alone, memory, seen, deadline, progress, 2 * _FEWEST_PASSES, _AMONG_THEMSELVES)
        seen = _seen(part, memory)
    return _rounds(part, memory, seen, deadline, progress, _FEWEST_PASSES)


def _promising(problem: Facts, memory: Any, looked_at: float, chosen: float) -> tuple[Int[np.ndarray, "b"], _Seen]:
    """A share of the facts: of the share that is looked at, those whose targets have the largest weights."""
    n = problem.inputs.shape[0]
    rows = np.sort(np.random.default_rng(0).permutation(n)[: max(1, int(n * min(looked_at, 1.0)))])
    seen = _seen(_part(problem, rows), memory)
    best = np.sort(np.argsort(-seen.log_weight)[: max(1, int(n * chosen))])
    return rows[best], _Seen(seen.stored[best], seen.log_weight[best])


def _rounds(
    part: Facts, memory: Any, seen: _Seen | None, deadline: Deadline, progress: Progress, passes: int,
    most: float = math.inf,
) -> Any:  # fmt: skip
    """Rounds until nothing is gained; the memory with most facts stored among those that were seen."""
    n = part.inputs.shape[0]
    best, most_stored, idle, done, look_seconds = memory, -1, 0, 0, 0.0
    # An untrained memory gets a first round in which all facts weigh the same.
    fact_weights = np.ones(n, np.float32) if seen is None else _fact_weights(seen)
    while (left := deadline.left - look_seconds) > 0 and idle < _IDLE and done < most:
        options = SearchOptions("exact", Limits(passes, left))
        (solution,) = _LBFGS.solve([part.weighted(fact_weights)], [memory], options)
        memory = solution.memory
        clock = Deadline()
        seen, done = _seen(part, memory), done + 1
        look_seconds = clock.taken
        stored, idle = int(seen.stored.sum()), idle + 1
        progress(stored, f"{stored} of {n} facts are stored")
        if stored > most_stored:
            best, most_stored, idle = memory, stored, 0
        if stored == n:
            break
        fact_weights = _fact_weights(seen)
    return best


def _fact_weights(seen: _Seen) -> Float[np.ndarray, "n"]:
    """The new shares, relative to the largest: only ratios count, and all may be tiny at first."""
    return np.maximum(np.exp(seen.log_weight - seen.log_weight.max()), _LEAST_SHARE).astype(np.float32)


def _seen(problem: Facts, memory: Any) -> _Seen:
    n = problem.inputs.shape[0]
    if _is_plain(problem):
        with shared_out() as each:
            passes = NumpyPass(problem, np.dtype(np.float32), each)
            stored, loss = passes.recalled(np.asarray(memory.matrix(), np.float32))
        return _Seen(stored, -loss)
    blocks = []
    for first in range(0, n, _ROWS_AT_A_TIME):
        # Always the same number of rows, the last of them repeated if need be: one compiled program does all.
        rows = np.minimum(np.arange(first, first + min(n, _ROWS_AT_A_TIME)), n - 1)
        part = _part(problem, rows)
        stored, loss = _recalled(part, queries_of(memory, part.inputs))
        blocks.append((np.asarray(stored), -np.asarray(loss)))
    stored, log_weight = (np.concatenate(column)[:n] for column in zip(*blocks))
    return _Seen(stored, log_weight)


def _is_plain(problem: Facts) -> bool:
    """Whether a pass in NumPy takes less time than to compile one."""
    (n, d), m = problem.inputs.shape, problem.competitors
    return is_plain(n, m, d, passes=1)


@compiled
def _recalled(part: Facts, queries: Float[Array, "b d"]) -> tuple[Bool[Array, "b"], Float[Array, "b"]]:
    recall = part.recall(queries)
    return recall.stored_beyond_rounding, recall.loss


def _part(problem: Facts, rows: Int[np.ndarray, "b"]) -> Facts:
    block = block_rows(len(rows), problem.competitors)
    return replace(problem, inputs=problem.inputs[rows], targets=problem.targets[rows], shares=None, block=block)


def _projections(problem: Facts, memory: Any) -> Any:
    """The sum of target times input, as far as it lies in the family, with scores of moderate size."""
    inputs, outputs = np.asarray(problem.inputs), np.asarray(problem.outputs)
    start = replace(memory, weights=jnp.asarray(outputs[np.asarray(problem.targets)].T @ inputs))
    weights = np.asarray(start.matrix())
    scale = MODERATE_SCORE / (typical_score(weights, inputs) or MODERATE_SCORE)
    return replace(memory, weights=jnp.asarray(weights * np.float32(scale)))
