"""Solvers that take associations in blocks: every association once a round, honest counting, clear refusals."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.measurements.accuracy import measure
from loadstone.memories.families import initial_memory
from loadstone.problems.original import original
from loadstone.problems.padded import padded
from loadstone.solvers.minibatch import Minibatch, _order
from loadstone.solvers.search import PassInfo
from loadstone.solvers.solve import solve, solve_batch
from loadstone.solvers.stop import Limits
from loadstone.streams.stream import Stream

STREAM, P, ROWS = Stream(0, 12), 23, 30


@cache
def alone():
    return original(STREAM, P)


@cache
def longer():
    return padded(original(STREAM, ROWS), P)


def orders(rounds, rows=P):
    info = PassInfo(jnp.float32(0), None, jnp.int32(P), rows, None)
    return [np.asarray(_order(jnp.int32(index), info)) for index in range(rounds)]


def test_a_round_has_every_association_once_in_an_order_that_padding_does_not_change():
    found = orders(3)
    assert all(sorted(order) == list(range(P)) for order in found)
    assert len({tuple(order) for order in found}) == 3
    for order, longer in zip(found, orders(3, ROWS)):
        assert longer[:P].tolist() == order.tolist() and sorted(longer[P:]) == list(range(P, ROWS))


def replayed(rounds, batch, rate):
    """Stochastic gradient descent in float64, and its mean loss over all associations before each round."""
    inputs, outputs = (np.asarray(part, np.float64) for part in (alone().inputs, alone().outputs))
    weights, losses = np.asarray(initial_memory(12).weights, np.float64), []

    def slopes(rows):
        scores = inputs[rows] @ weights.T @ outputs.T
        weight = np.exp(scores - scores.max(1, keepdims=True))
        weight /= weight.sum(1, keepdims=True)
        return weight @ outputs - outputs[rows], -np.log(weight[np.arange(len(rows)), rows])

    for order in orders(rounds):
        losses.append(slopes(np.arange(P))[1].mean())
        for first in range(0, P, batch):
            rows = order[first : first + batch]
            weights = weights - rate * slopes(rows)[0].T @ inputs[rows] / len(rows)
    return weights, losses


@pytest.mark.parametrize("make", [alone, longer], ids=["alone", "padded"])
def test_minibatches_against_numpy(make):
    """Blocks of 5 leave 3 for the last one, whose mean is over these 3."""
    found = solve(make(), solver=Minibatch(5, 0.1), stop="none", limits=Limits(passes=8))
    weights, losses = replayed(4, 5, 0.1)
    np.testing.assert_allclose(found.loss, losses, rtol=2e-4)
    # Of 8 passes 7 are used: the fourth measurement ends the search, and a round more could not be measured.
    assert (found.passes, found.steps, found.status) == (7, 3, "out of passes")
    assert np.abs(replayed(3, 5, 0.1)[0] - found.memory.weights).max() < 1e-4


def test_the_default_block_is_no_larger_than_the_problem():
    few, limits = original(STREAM, 9), Limits(passes=9)
    found = solve(few, solver="minibatch", stop="none", limits=limits)
    np.testing.assert_array_equal(found.loss, solve(few, solver=Minibatch(9), stop="none", limits=limits).loss)
    assert found.loss[-1] < found.loss[0]


def test_progress_counts_the_passes_in_blocks_too():
    heard = []
    found = solve(alone(), solver=Minibatch(5), limits=Limits(passes=400), progress=lambda *told: heard.append(told[0]))
    assert found.status == "stored" and measure(alone(), found.memory).violations == 0
    assert heard[-1] == found.passes == 2 * found.steps + 1


def test_a_batch_of_problems_of_several_sizes():
    others = [padded(original(Stream(seed, 12), ROWS), p) for seed, p in ((0, 23), (1, 20))]
    together = solve_batch(others, [None, None], solver=Minibatch(4, 0.1), stop="exact", limits=Limits(passes=300))
    assert {one.status for one in together} == {"stored"} and together[0].passes != together[1].passes
    assert all(measure(one, found.memory).violations == 0 for one, found in zip(others, together))
