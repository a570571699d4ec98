"""Spectra of proved memories: Gaussian ones, an excess that is put in, and both problems beside each other."""

import math

import numpy as np
import pytest

from loadstone.studies.kit.comparison import Judgement
from loadstone.studies.kit.singular_values import FOURTH, TOP
from loadstone.studies.witnesses import compare, falling_excess, gaussian_moments, points


def rows(excess=0.0, problem="decoupled"):
    """Gaussian matrices, whose large values are made larger so that the fourth moment exceeds theirs by excess/d."""
    random = np.random.default_rng(2)
    found = []
    for d in (12, 20, 30):
        for seed in range(60):
            values = np.linalg.svd(random.standard_normal((d, d)), compute_uv=False)
            squares = values**2 / np.mean(values**2)
            # <y^2> = 2 and <y^3> = 5 for large d: to first order y (1 + c (y - 2)) has the fourth moment 2 + 2 c.
            values = np.sqrt(squares * (1 + excess / (2 * d) * (squares - np.mean(squares**2))))
            found.append(
                {"solver": "capacity", "problem": problem, "d": d, "seed": seed, "p_c": 5 * d, "kappa": 1.0}
                | {"singular_values": values.tolist(), "own_target": {"mean": 2.0 + 0.1 * random.standard_normal()}}
            )
    return found


@pytest.mark.parametrize("d", [12, 30])
def test_gaussian_moments_are_the_exact_mean(d):
    # E tr (W W^T)^2 / E (tr W W^T)^2 d: the mean of the ratio, too, since it does not depend on |W|.
    mean, error = gaussian_moments(d)[FOURTH]
    assert mean == pytest.approx((2 * d + 1) * d / (d**2 + 2), abs=4 * error)
    assert gaussian_moments(d)[TOP].value < 2  # the edge is approached from below


def test_gaussian_memories_agree_and_others_do_not():
    gaussian = compare(points(rows()))
    assert all(abs(one.deviations) < 4 for one in gaussian if one.what.startswith(FOURTH))
    broad = [one for one in compare(points(rows(excess=3.0))) if one.what.startswith(FOURTH)]
    assert len(broad) == 3 and all(one.verdict == Judgement.DIFFERS and one.difference > 0 for one in broad)


def test_the_exponent_of_an_excess_is_recovered():
    excess = lambda d: {FOURTH: {"excess": 12 * d**-0.8, "excess_error": 0.01}}  # noqa: E731
    excesses = [{"problem": "original", "d": d, "streams": 9, "predicted": 5 * d} | excess(d) for d in (12, 20, 30, 50)]
    fit = falling_excess(excesses, "original")
    assert (fit.x, fit.c) == (pytest.approx(0.8, abs=1e-4), pytest.approx(12, rel=1e-3)) and fit.chi_square < 1e-3
    assert falling_excess(excesses, "decoupled") is None and falling_excess(excesses[:2], "original") is None


def test_original_minus_decoupled_needs_both_problems():
    both = compare(points(rows() + rows(problem="original")))
    differences = [one for one in both if ", original - decoupled, d = " in one.what]
    assert len(differences) == 9 and all(one.predicted == 0 and one.scale is not None for one in differences)
    assert not any("original - decoupled" in one.what for one in compare(points(rows())))


@pytest.mark.parametrize("streams, differences", [(1, 0), (2, 9)])
def test_two_streams_of_each_problem_can_be_compared(streams, differences):
    few = [row for row in rows() + rows(problem="original") if row["seed"] < streams]
    assert len(points(few).original_minus_decoupled) == differences


def test_a_difference_of_both_problems_is_told_in_shares_of_the_decoupled_one():
    given = rows() + [row | {"p_c": 1.1 * row["p_c"]} for row in rows(problem="original")]
    compared = {one.what: one for one in compare(points(given))}
    for d in (12, 20, 30):
        capacity = compared[f"capacity, original - decoupled, d = {d}"]
        assert (capacity.difference, capacity.scale) == (pytest.approx(0.5 * d), 5 * d) and capacity.dof == 118
        score = compared[f"mean of the target's score, original - decoupled, d = {d}"]
        # Two means of 60 numbers with a deviation of 0.1, which they tell to a tenth.
        assert score.error == pytest.approx(0.1 * math.sqrt(2 / 60), rel=0.3) and abs(score.deviations) < 4


def test_only_full_memories_with_a_proved_capacity_count():
    given = rows()
    others = [{"p_c": None}, {"singular_values": None}, {"family": "symmetric"}, {"answers": 4}, {"solver": "adam"}]
    assert points(given + [given[0] | other for other in others]) == points(given)


def test_histograms_are_densities_of_values_in_units_of_their_root_mean_square():
    for one in points(rows()).histograms:
        density, edges = np.array(one["density"]), np.array(one["edges"])
        middles, width, values = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0], 60 * one["d"]
        assert density.sum() * width == pytest.approx(1)
        # A value is uniform within its bin: a bias of width^2 / 12, and the scatter of so many values.
        scatter = 2 * width / math.sqrt(12 * values)
        assert density * width @ middles**2 == pytest.approx(1, abs=width**2 / 12 + 4 * scatter)
