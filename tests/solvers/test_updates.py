"""Updates without training, against dense least squares and a general solver; and what they have in common."""

import numpy as np
import pytest
from scipy.optimize import minimize

from loadstone.problems.arrays import Arrays
from loadstone.solvers.updates import (
    SHARE,
    Answers,
    _shortest,
    all_at_once,
    batch,
    one_at_a_time,
    rank_one,
    weight_of_old,
)

D = 6


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def test_the_rank_one_update_is_the_constrained_least_squares_solution():
    weights, inputs, key, value = normal(D, D), normal(15, D, seed=1), normal(D, seed=2), normal(D, seed=3)
    found = rank_one(weights, inputs.T @ inputs, key, value)
    np.testing.assert_allclose(found @ key, value, rtol=1e-10)
    # Row by row: minimise |X (w' - w)|^2 with k . w' = v, by the equations of Karush, Kuhn and Tucker.
    system = np.block([[2 * inputs.T @ inputs, key[:, None]], [key[None, :], np.zeros((1, 1))]])
    right = np.vstack([np.zeros((D, D)), (value - weights @ key)[None, :]])
    np.testing.assert_allclose(found - weights, np.linalg.solve(system, right)[:D].T, rtol=1e-9, atol=1e-12)


def test_an_input_outside_the_span_of_the_others_is_edited_at_no_cost():
    weights, inputs, key, value = normal(D, D), normal(3, D, seed=1), normal(D, seed=2), normal(D, seed=3)
    found = rank_one(weights, inputs.T @ inputs, key, value)
    np.testing.assert_allclose(found @ key, value, rtol=1e-6)
    # The smallest multiple of the identity that keeps the condition number at 1e10 leaves about 1e-10 of the change.
    np.testing.assert_allclose(inputs @ found.T, inputs @ weights.T, atol=1e-7)
    alone = rank_one(weights, np.zeros((D, D)), key, value)
    np.testing.assert_allclose(alone, weights + np.outer(value - weights @ key, key) / (key @ key), rtol=1e-10)


@pytest.mark.parametrize("old", [0.01, 1.0, 30.0])
def test_the_batch_update_is_weighted_least_squares_over_old_and_new_facts(old):
    weights, inputs, keys, values = normal(D, D), normal(15, D, seed=1), normal(4, D, seed=2), normal(4, D, seed=3)
    found = batch(weights, old * inputs.T @ inputs, keys, values)
    left = np.vstack([np.sqrt(old) * inputs, keys])
    right = np.vstack([np.sqrt(old) * inputs @ weights.T, values])
    np.testing.assert_allclose(found.T, np.linalg.lstsq(left, right)[0], rtol=1e-8, atol=1e-10)


def test_without_a_weight_an_edit_alone_gets_most_of_its_change():
    inputs = np.vstack([np.eye(D)] * 3)
    old, key, value = weight_of_old(inputs), np.eye(D)[0], normal(D)
    found = batch(np.zeros((D, D)), old * inputs.T @ inputs, key[None, :], value[None, :])
    np.testing.assert_allclose(found @ key, SHARE * value, rtol=1e-12)
    # Only the dimensions that the inputs span count: here 2 of 6.
    assert weight_of_old(np.eye(D)[[0, 1, 0, 1]]) == pytest.approx(2 / 4 * (1 - SHARE) / SHARE)
    assert weight_of_old(np.empty((0, D))) == 1


@pytest.mark.parametrize("m, seed", [(9, 0), (9, 1), (4, 2), (30, 6)])
def test_the_wanted_query_is_the_nearest_as_a_general_solver_finds_it(m, seed):
    outputs, query, margin = normal(m, D, seed=seed), normal(D, seed=seed + 10), 0.7
    found = Answers(outputs).query(query, 1, margin)
    differences = np.delete(outputs[1] - outputs, 1, axis=0)
    centred = outputs - outputs.mean(axis=0)

    def change(step):  # the mean square change of the scores about their mean
        return float(np.mean((centred @ step) ** 2))

    assert found is not None
    assert (differences @ found).min() >= margin * (1 - 1e-5)
    best = minimize(
        change, np.zeros(D), jac=lambda step: 2 * centred.T @ (centred @ step) / m, method="SLSQP",
        constraints={"type": "ineq", "fun": lambda step: differences @ (query + step) - margin,
                     "jac": lambda step: differences}, options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    assert best.success
    # Both solve the same problem, each to about 1e-6 of the margin.
    assert change(found - query) == pytest.approx(best.fun, rel=1e-4)


def test_a_query_that_wins_already_stays_and_a_hidden_answer_has_none():
    outputs, query = normal(7, D), normal(D, seed=1)
    best = int(np.argmax(outputs @ query))
    np.testing.assert_array_equal(Answers(outputs).query(query, best, 1e-9), query)
    hidden = np.vstack([outputs, outputs[:3].mean(axis=0), outputs[4]])
    assert Answers(hidden).query(query, 7, 0.1) is None and Answers(hidden).query(query, 8, 0.1) is None
    facts = Arrays(normal(4, D, seed=2), hidden, np.array([0, 1, 2, 7]))
    weights = normal(D, D, seed=3)
    for update in (one_at_a_time, all_at_once):
        np.testing.assert_array_equal(update(weights, facts, [3], 0.1), weights)


def facts_of(n=12, m=9, seed=0):
    targets = np.random.default_rng(seed + 7).integers(0, m, n)
    return Arrays(normal(n, D, seed=seed), normal(m, D, seed=seed + 1), targets)


def margins(weights, facts):
    scores = facts.inputs @ weights.T @ facts.outputs.T
    own = np.arange(len(facts.targets)), facts.targets
    target = scores[own].copy()
    scores[own] = -np.inf
    return target - scores.max(axis=1)


def test_each_edit_wins_by_the_margin_when_it_is_made():
    facts, weights = facts_of(), normal(D, D, seed=4)
    for edits in ([11], [11, 3], [3, 11]):
        found = one_at_a_time(weights, facts, edits, 0.5)
        assert margins(found, facts)[edits[-1]] >= 0.5 * (1 - 1e-5)
        assert np.linalg.matrix_rank(found - weights, tol=1e-8) == len(edits)
    # With hardly any weight on the others, all edits of a batch reach their margin.
    found = all_at_once(weights, facts, [3, 11], 0.5, old=1e-9)
    assert margins(found, facts)[[3, 11]].min() >= 0.5 * (1 - 1e-4)


@pytest.mark.parametrize("update", [one_at_a_time, all_at_once])
def test_other_coordinates_of_inputs_and_outputs_change_nothing(update):
    """W -> A^-T W B^-1 for u -> A u + c and e -> B e keeps all scores up to a shift; so do the updates."""
    facts, weights = facts_of(), normal(D, D, seed=4)
    a, b, c = normal(D, D, seed=5), normal(D, D, seed=6), normal(D, seed=7)
    other = Arrays(facts.inputs @ b.T, facts.outputs @ a.T + c, facts.targets)
    turned = np.linalg.inv(a).T @ weights @ np.linalg.inv(b)
    one, two = update(weights, facts, [11, 3], 0.5), update(turned, other, [11, 3], 0.5)
    np.testing.assert_allclose(margins(two, other), margins(one, facts), rtol=1e-6, atol=1e-7)


def test_numbers_of_float32_are_edited_in_float64():
    facts = facts_of()
    small = Arrays(facts.inputs.astype("f"), facts.outputs.astype("f"), facts.targets)
    for update in (one_at_a_time, all_at_once):
        assert update(normal(D, D).astype("f"), small, [1], 0.3).dtype == np.float64


@pytest.mark.parametrize("angle", [1.0, 1e-2, 1e-4, 2e-5])
def test_an_answer_between_two_rivals_wins_far_away(angle):
    """The query has to go 1 / angle times as far as one of them alone would ask for."""
    found = _shortest(np.array([[1.0, angle], [-1.0, angle]]), np.ones(2))
    np.testing.assert_allclose(found, [0, 1 / angle], rtol=1e-4, atol=1e-3 / angle)


def test_an_answer_that_would_have_to_go_too_far_cannot_win():
    for angle in (5e-6, 0.0):
        assert _shortest(np.array([[1.0, angle], [-1.0, angle]]), np.ones(2)) is None
    assert _shortest(np.zeros((1, 2)), np.ones(1)) is None


def test_directions_in_which_no_answers_differ_are_left_out():
    assert [Answers(normal(m, D)).back.shape for m in (2, 4, 7, 30)] == [(D, 1), (D, 3), (D, D), (D, D)]
