"""Checks: a general solver over all pairs, cases done by hand, and what the bounds promise."""

import numpy as np
import pytest
from scipy.optimize import nnls

from loadstone.problems.arrays import Arrays
from loadstone.problems.original import original
from loadstone.proofs.rounding import margin_bound
from loadstone.solvers import margin
from loadstone.solvers.decide import ProofLimits, decide
from loadstone.solvers.margin import maximum_margin
from loadstone.streams.stream import Stream


def instance(d, n, m, decoupled, seed=0, targets=None):
    random = np.random.default_rng(seed)
    outputs = random.standard_normal((n, m, d) if decoupled else (m, d))
    return Arrays(random.standard_normal((n, d)), outputs, np.arange(n) % m if targets is None else targets)


def normals(arrays):
    """(u_target - u_rho) e^T of all pairs, one a row."""
    rows = []
    for mu, (target, e) in enumerate(zip(arrays.targets, arrays.inputs)):
        outputs = arrays.outputs[mu] if arrays.decoupled else arrays.outputs
        rows += [np.outer(outputs[target] - u, e).ravel() for rho, u in enumerate(outputs) if rho != target]
    return np.array(rows)


def largest_margin(arrays):
    """1 / |W| for the shortest W whose margins are all at least 1, by non-negative least squares (Lawson, Hanson)."""
    matrix = np.vstack([normals(arrays).T, np.ones(len(normals(arrays)))])
    aim = np.append(np.zeros(len(matrix) - 1), 1.0)
    rest = aim - matrix @ nnls(matrix, aim)[0]
    return 1 / np.linalg.norm(rest[:-1] / rest[-1])


@pytest.mark.parametrize("d, n, m", [(4, 6, 6), (5, 12, 3), (3, 2, 5), (4, 11, 2)])
@pytest.mark.parametrize("decoupled", [True, False])
def test_against_a_general_solver_over_all_pairs(d, n, m, decoupled):
    arrays = next(one for one in (instance(d, n, m, decoupled, seed) for seed in range(20)) if storable(one))
    found = maximum_margin(arrays)
    assert found.margin == pytest.approx(largest_margin(arrays), rel=2e-6)
    assert found.gap <= 1e-6


def storable(arrays):
    try:
        return maximum_margin(arrays, tolerance=0.5).margin > 0.02
    except ValueError:
        return False


def test_one_fact_with_one_rival():
    """Then the best W is along (u_target - u_rho) e^T."""
    inputs, outputs = np.array([[3.0, 4.0]]), np.array([[1.0, 0.0], [1.0, 2.0]])
    found = maximum_margin(Arrays(inputs, outputs, np.array([0])))
    assert found.margin == pytest.approx(10, rel=1e-6)
    np.testing.assert_allclose(found.memory.weights, np.outer([0, -1], [0.6, 0.8]), atol=1e-6)


def test_two_facts_with_two_answers_are_a_support_vector_machine():
    """With two outputs W = (u_1 - u_2) w^T, w the nearest point to the origin of the segment between e_1 and -e_2."""
    inputs, outputs = np.array([[2.0, 1.0], [-1.0, 3.0]]), np.array([[0.5, 0.0], [-0.5, 0.0]])
    found = maximum_margin(Arrays(inputs, outputs, np.array([0, 1])))
    # The segment from (2, 1) to (1, -3): the line through it is at a distance of |2 * -3 - 1 * 1| / sqrt(17).
    assert found.margin == pytest.approx(7 / np.sqrt(17), rel=1e-6)


@pytest.mark.parametrize("decoupled", [True, False])
def test_bounds_hold_and_nearly_agree(decoupled):
    arrays = instance(12, 30, 30, decoupled, seed=3)
    found = maximum_margin(arrays)
    weights = np.asarray(found.memory.weights)
    assert np.linalg.norm(weights) == pytest.approx(1, rel=1e-12)
    assert found.margin <= (normals(arrays) @ weights.ravel()).min() <= found.upper_bound
    assert 0 <= found.gap <= 1e-6
    # The dual solution: multipliers on active pairs alone, which make up W itself.
    assert margin_bound(arrays, found.multipliers).margin == found.upper_bound
    active = found.multipliers[found.multipliers > 0]
    assert len(active) < 12**2
    keep = np.arange(30)[None, :] != arrays.targets[:, None]
    summed = (found.multipliers[keep] @ normals(arrays)).reshape(12, 12)
    np.testing.assert_allclose(summed / np.linalg.norm(summed), weights, atol=1e-4)


def test_a_stream_and_its_scale():
    found = maximum_margin(original(Stream(0, 8), 10))
    arrays = original(Stream(0, 8), 10).arrays()
    assert found.margin == pytest.approx(largest_margin(arrays), rel=2e-6)
    far = Arrays(arrays.inputs.astype(float) * 1e-150, arrays.outputs.astype(float) * 1e200, arrays.targets)
    assert maximum_margin(far).margin == pytest.approx(found.margin * 1e50, rel=2e-6)


def test_unequal_lengths():
    arrays = instance(6, 8, 8, False, seed=5)
    arrays = Arrays(arrays.inputs * np.geomspace(1e-3, 1e3, 8)[:, None], arrays.outputs, arrays.targets)
    found = maximum_margin(arrays)
    assert found.gap <= 1e-6 and found.margin == pytest.approx(largest_margin(arrays), rel=1e-5)


def test_few_passes_give_wide_bounds_that_hold():
    arrays = instance(10, 20, 20, True)
    few, many = maximum_margin(arrays, passes=3), maximum_margin(arrays)
    assert few.passes == 3 < many.passes
    assert few.margin < many.margin <= many.upper_bound < few.upper_bound


def test_what_cannot_be_stored_has_no_margin():
    with pytest.raises(ValueError, match="The instance is not storable, so it has no largest margin"):
        maximum_margin(instance(6, 30, 30, False))
    with pytest.raises(ValueError, match="tolerance is 0, but must be"):
        maximum_margin(instance(3, 2, 2, False), tolerance=0)
    with pytest.raises(ValueError, match="instance is 'a list', but must be"):
        maximum_margin([1.0])


def test_what_is_undecided_has_no_margin_either(monkeypatch):
    monkeypatch.setattr(margin, "decide", lambda arrays: decide(arrays, ProofLimits(steps=1)))
    with pytest.raises(margin.NoMarginError, match="was not proved storable, .*: 1 Newton steps were not") as error:
        maximum_margin(instance(10, 30, 30, False))
    assert error.value.outcome == "undecided"
