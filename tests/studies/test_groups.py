"""Groups of inputs that share outputs: which streams count, what would have been seen, what is left of the excess."""

import math

import numpy as np
import pytest
from scipy.stats import nct, t

from loadstone.studies import groups
from loadstone.studies.groups import GROUP_LAWS, compare, excess_left, fitted_group_laws, points
from loadstone.studies.original_excess import excess_points
from loadstone.theory.storable import capacity_moments


def proved(p_c, problem, d=12, **changes):
    return {"solver": "capacity", "problem": problem, "d": d, "kappa": 1.0, "p_c": p_c} | changes


KINDS = ("original", "groups:2", "groups:16", "decoupled")
ROWS = [proved(p + shift, kind) for shift, kind in zip((3, 2, 1, 0), KINDS) for p in (38, 40, 42)]


def test_one_group_is_original_and_without_groups_there_are_none():
    grouped = points([*ROWS, proved(70, "original", 20), proved(9, "groups:2", answers=3), proved(7, "groups:4")])
    assert [(point["d"], point["groups"]) for point in grouped] == [(12, 1), (12, 2), (12, 16), (12, None)]
    mean, _ = capacity_moments(12)
    for point, capacity in zip(grouped, (43, 42, 41, 40)):
        assert point["capacity"] == capacity and point["excess"] == pytest.approx(capacity / mean - 1)
        # The scatter of the streams themselves, 2.
        assert point["error"] == pytest.approx(2 / math.sqrt(3) / mean) and point["streams"] == 3


def test_groups_do_not_enter_the_fit_of_the_excess():
    assert {point["problem"] for point in excess_points(ROWS)} == {"original", "decoupled"}


def test_only_groups_between_the_ends_are_compared_and_by_which_streams():
    few, many = compare(points([*ROWS, proved(None, "groups:2", storable=39, not_storable=44)]))
    assert "2 groups, d = 12 (4 streams)" in few.what and "16 groups, d = 12 (3 streams)" in many.what
    assert few.family == "mean capacity, 2 groups" and few.streams == many.streams == "d = 12"
    mean, _ = capacity_moments(12)
    assert many.predicted == 0 and many.measured == pytest.approx(100 * (41 / mean - 1)) and many.percent == 1
    assert few.measured == pytest.approx(100 * (np.mean([40, 42, 44, 41]) / mean - 1))  # the middle of 39, ..., 43


def test_what_would_have_been_seen():
    """With Student's law of 11 degrees of freedom: seen with probability 0.8 by a test at 0.01."""
    point = points([proved(p, kind) for kind in KINDS for p in (38, 40, 42) * 4])[1]
    bound = t.isf(0.005, 11)
    assert nct.sf(bound, 11, groups.would_have_been_seen(point) / point["error"]) == pytest.approx(0.8, abs=1e-6)


def test_what_is_left_of_the_excess():
    two, sixteen, own = excess_left(points(ROWS))
    mean, _ = capacity_moments(12)
    assert (two["groups"], sixteen["groups"], own["groups"]) == (2, 16, None)
    assert two["left"] == pytest.approx((42 - mean) / (43 - mean))
    error = 2 / math.sqrt(3)
    slope = math.hypot(1 / (43 - mean), (42 - mean) / (43 - mean) ** 2)  # of a quotient, with equal errors
    assert two["error"] == pytest.approx(error * slope)
    assert excess_left(points([row for row in ROWS if row["problem"] != "original"])) == []


EXCESS = {12: 0.035, 20: 0.028}
SIZES = [(d, p, g) for d, p in ((12, 40.0), (20, 86.0)) for g in (1, 2, 4, 8, 16, None)]


def following(law, noise=None):
    exact = [{"d": d, "groups": g, "predicted": p, "excess": EXCESS[d] * groups.left(law, g, p)} for d, p, g in SIZES]
    drawn = np.zeros(len(exact)) if noise is None else 0.003 * noise.standard_normal(len(exact))
    return [point | {"error": 0.003, "excess": point["excess"] + shift} for point, shift in zip(exact, drawn)]


@pytest.mark.parametrize("law", GROUP_LAWS)
def test_each_law_is_recognised(law):
    fits = {fit.law: fit for fit in fitted_group_laws(following(law))}
    assert fits[law].excess == pytest.approx(EXCESS) and fits[law].chi_square < 1e-9 and fits[law].deviations < 1e-3
    assert all(fit.chi_square > 10 and fit.dof == 10 for name, fit in fits.items() if name != law)


def test_one_group_leaves_all_and_pairs_vanish_with_a_group_for_each():
    pairs, *_ = GROUP_LAWS
    assert {groups.left(law, 1, 40) for law in GROUP_LAWS} == {1}
    assert groups.left(pairs, None, 40) == groups.left(pairs, 40, 40) == 0
    # 40 inputs in 4 groups: 4 times 10 9 / 2 of 40 39 / 2 pairs.
    assert groups.left(pairs, 4, 40) == pytest.approx(4 * 45 / 780)


def test_chi_square_is_as_large_as_its_degrees_of_freedom_on_average():
    noise, law = np.random.default_rng(0), next(iter(GROUP_LAWS))
    squares = [fitted_group_laws(following(law, noise))[0].chi_square for _ in range(200)]
    assert np.mean(squares) == pytest.approx(10, abs=4 * np.sqrt(20 / 200))  # 4 standard errors of a mean chi-square


def test_a_fit_needs_more_points_than_dimensions():
    assert fitted_group_laws([]) == fitted_group_laws(following("g^-2")[::6]) == []
