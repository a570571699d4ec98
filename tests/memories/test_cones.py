"""Training a square stores exactly what can be stored: judged by linear programs, and for semidefinite matrices by
linear programs with cuts."""

import numpy as np
import pytest
from scipy.optimize import linprog

from loadstone.measurements.accuracy import measure
from loadstone.memories.cones import PositiveSemidefinite
from loadstone.memories.families import initial_memory
from loadstone.memories.low_rank import LowRank
from loadstone.problems.original import original
from loadstone.solvers.solve import solve_batch
from loadstone.streams.stream import Stream
from tests.solvers.linear_program import largest_margin

D, P, STREAMS = 5, 7, 10


def semidefinite_stores(arrays) -> bool:
    """Maximise the least margin over symmetric matrices with v^T W v >= 0 for ever more v: each W that is not
    semidefinite yields its lowest eigenvector as the next v. No margin left means not storable; a semidefinite part of
    W with positive margins is a witness."""
    n, d = arrays.inputs.shape
    outputs, inputs = arrays.outputs.astype(float), arrays.inputs.astype(float)
    normals = [np.outer(outputs[mu] - outputs[rho], inputs[mu]) for mu in range(n) for rho in range(n) if rho != mu]
    normals = np.array(normals)
    first, second = np.triu_indices(d)
    packed = lambda m: (m + m.swapaxes(-1, -2))[..., first, second] / np.where(first == second, 2, 1)  # noqa: E731
    rows = [np.append(-packed(normal), 1) for normal in normals]
    rows += [np.append(-packed(np.outer(v, v)), 0) for v in np.eye(d)]
    bounds = [(-1, 1)] * len(first) + [(None, None)]
    for _ in range(400):
        best = linprog([0] * len(first) + [-1], np.array(rows), np.zeros(len(rows)), bounds=bounds)
        if best.x[-1] < 1e-7:
            return False
        w = np.zeros((d, d))
        w[first, second] = w[second, first] = best.x[:-1]
        values, vectors = np.linalg.eigh(w)
        part = (vectors * np.maximum(values, 0)) @ vectors.T
        if (np.tensordot(normals, part, 2) > 1e-7).all():
            return True
        rows += [np.append(-packed(np.outer(v, v)), 0) for value, v in zip(values, vectors.T) if value < 0]
    raise AssertionError("the cuts did not end")


def nonnegative_stores(arrays) -> bool:
    return largest_margin(arrays, low=0) > 1e-7


@pytest.mark.parametrize("family, judge", [("nonnegative", nonnegative_stores), ("psd", semidefinite_stores)])
def test_training_stores_exactly_what_can_be_stored(family, judge):
    problems = [original(Stream(seed, D), P) for seed in range(STREAMS)]
    storable = [judge(problem.arrays()) for problem in problems]
    assert 3 <= sum(storable) <= STREAMS - 3
    memories = [initial_memory(D, seed=seed, family=family) for seed in range(STREAMS)]
    solutions = solve_batch(problems, memories)
    assert [solution.status == "stored" for solution in solutions] == storable
    assert [measure(*both).violations == 0 for both in zip(problems, (one.memory for one in solutions))] == storable


@pytest.mark.parametrize("family", ["nonnegative", "psd"])
def test_starts_are_away_from_the_edge_of_the_cone(family):
    """At an entry of zero, or in a kernel, the gradient vanishes for ever."""
    for seed in range(20):
        root = np.asarray(initial_memory(12, seed=seed, family=family).root)
        least = np.abs(root).min() if family == "nonnegative" else np.linalg.svd(root, compute_uv=False)[-1]
        assert least > 0.15 / np.sqrt(12)


def test_the_matrix_of_a_long_root_keeps_its_digits():
    root = np.random.default_rng(0).standard_normal((5, 5))
    np.testing.assert_array_equal(PositiveSemidefinite(root).matrix(), root @ root.T)
    np.testing.assert_array_equal(LowRank(root[:, :2], root[:, 2:4]).matrix(), root[:, :2] @ root[:, 2:4].T)
