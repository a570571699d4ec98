"""The perceptron rule against its definition, written with an argmax."""

from dataclasses import dataclass

import jax
import numpy as np
import pytest

from loadstone.measurements.accuracy import measure
from loadstone.memories.families import initial_memory
from loadstone.memories.full import Full
from loadstone.problems.decoupled import decoupled
from loadstone.solvers.decide import decide
from loadstone.solvers.perceptron import Perceptron
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import Limits
from loadstone.trees import tree
from tests.solvers.test_minibatch import STREAM, P, alone, longer, orders


def ruled(arrays, weights, rounds, blocks):
    """W and the perceptron's loss before each round: for each association of a block that a rival wins, u_t - u_r."""
    inputs, outputs = arrays.inputs.astype(np.float64), arrays.outputs.astype(np.float64)
    separate, losses = outputs.ndim == 3, []
    of = lambda mu: outputs[mu] if separate else outputs  # noqa: E731

    def lead(mu):
        scores = of(mu) @ weights @ inputs[mu]
        winner = int(np.argmax(scores))
        return winner, scores[winner] - scores[mu]

    for index in range(rounds):
        losses.append(np.mean([lead(mu)[1] for mu in range(len(inputs))]))
        for rows in blocks(index):
            winners = [lead(mu)[0] for mu in rows]
            moves = [np.outer(of(mu)[mu] - of(mu)[winner], inputs[mu]) for mu, winner in zip(rows, winners)]
            weights = weights + np.sum(moves, axis=0) / len(rows)
    return weights, losses


@pytest.mark.parametrize("make", [alone, longer, lambda: decoupled(STREAM, 20)], ids=["alone", "padded", "decoupled"])
def test_all_at_once(make):
    problem = make()
    n = int(problem.associations)
    found = solve(problem, solver="perceptron", stop="none", limits=Limits(passes=12))
    start = np.asarray(initial_memory(12).weights, np.float64)
    weights, losses = ruled(problem.arrays(), start, 12, lambda index: [range(n)])
    np.testing.assert_allclose(found.loss, losses, rtol=1e-4, atol=1e-5)
    weights, _ = ruled(problem.arrays(), start, 11, lambda index: [range(n)])
    np.testing.assert_allclose(found.memory.weights, weights, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("batch", [1, 5])
def test_one_at_a_time_and_in_blocks(batch):
    order = orders(6)
    blocks = lambda index: [order[index][first : first + batch] for first in range(0, P, batch)]  # noqa: E731
    found = solve(alone(), solver=Perceptron(batch), stop="none", limits=Limits(passes=11))
    start = np.asarray(initial_memory(12).weights, np.float64)
    _, losses = ruled(alone().arrays(), start, 6, blocks)
    np.testing.assert_allclose(found.loss, losses, rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def witness():
    return decide(alone()).witness


def test_what_is_stored_stays_as_it_is(witness):
    stored = Full(witness.astype(np.float32))
    again = solve(alone(), stored, solver="perceptron", stop="none", limits=Limits(passes=12))
    np.testing.assert_array_equal(again.memory.weights, stored.weights)
    assert (again.loss == 0).all() and again.accuracy[-1] == 1


def test_novikoffs_bound(witness):
    """From W = 0 the number of single moves, and so of rounds, is at most (longest move / margin)^2, whichever W of
    unit norm has the margin."""
    inputs, outputs = (np.asarray(part, np.float64) for part in (alone().inputs, alone().outputs))
    scores = inputs @ (witness / np.linalg.norm(witness)).T @ outputs.T
    margin = (np.diag(scores)[:, None] - scores + np.where(np.eye(P), np.inf, 0)).min()
    longest = np.max(np.linalg.norm(outputs[:, None] - outputs[None], axis=2) * np.linalg.norm(inputs, axis=1)[:, None])
    found = solve(
        alone(), Full(np.zeros((12, 12), np.float32)), solver=Perceptron(1), stop="exact", limits=Limits(passes=2000)
    )
    assert found.status == "stored" and margin > 0 and 1 < found.steps <= (longest / margin) ** 2
    assert measure(alone(), found.memory).violations == 0


def test_float64():
    found = solve(alone(), solver="perceptron", precision="float64", limits=Limits(passes=500))
    assert found.status == "stored" and found.memory.weights.dtype == np.float64
    assert measure(alone(), found.memory).violations == 0


@tree(data=["weights"])
@dataclass(frozen=True)
class Squared:
    weights: jax.Array

    def queries(self, inputs):
        return inputs @ (self.weights**2).T


def test_queries_must_be_proportional_to_the_numbers_of_a_memory():
    with pytest.raises(ValueError, match="memory is 'a Squared', but must be one whose queries are proportional"):
        solve(alone(), Squared(initial_memory(12).weights), solver="perceptron")
