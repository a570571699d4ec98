"""Normalised gradient descent with momentum: steps of one length, against NumPy."""

import jax.numpy as jnp
import numpy as np

from loadstone.memories.families import initial_memory
from loadstone.problems.original import original
from loadstone.solvers.normalised import Normalised
from loadstone.solvers.solve import solve
from loadstone.solvers.stop import Limits
from loadstone.streams.stream import Stream

PROBLEM = original(Stream(0, 12), 23)


def test_against_numpy():
    inputs, outputs = (np.asarray(part, np.float64) for part in (PROBLEM.inputs, PROBLEM.outputs))
    weights, mean, losses = np.asarray(initial_memory(12).weights, np.float64), np.zeros((12, 12)), []
    for _ in range(8):
        scores = inputs @ weights.T @ outputs.T
        weight = np.exp(scores - scores.max(1, keepdims=True))
        weight /= weight.sum(1, keepdims=True)
        losses.append(-np.log(np.diag(weight)).mean())
        gradient = (weight @ outputs - outputs).T @ inputs
        mean = 0.8 * mean + 0.2 * gradient / np.linalg.norm(gradient)
        weights = weights - 0.5 * mean / np.linalg.norm(mean)
    found = solve(PROBLEM, solver=Normalised(0.5, 0.8), stop="none", limits=Limits(passes=8))
    np.testing.assert_allclose(found.loss, losses, rtol=1e-4)


def test_no_gradient_is_no_step():
    parameters, solver = [jnp.ones((2, 2))], Normalised()
    moved, state = solver.move(parameters, jnp.float32(0), [jnp.zeros((2, 2))], solver.start(parameters))
    assert (moved[0] == 1).all() and (state[0] == 0).all()


def test_it_stores_factors_too():
    assert solve(PROBLEM, initial_memory(12, 0.5), solver="normalised", limits=Limits(passes=1000)).status == "stored"
