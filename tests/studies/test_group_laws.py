"""Laws of the excess against the number of groups: each is recognised, and chi-square is what it should be."""

import numpy as np
import pytest

from loadstone.studies.groups import GROUP_LAWS, fitted_group_laws, left

EXCESS = {12: 0.035, 20: 0.028}
SIZES = [(d, p, g) for d, p in ((12, 40.0), (20, 86.0)) for g in (1, 2, 4, 8, 16, None)]


def points(law, noise=None):
    found = [{"d": d, "groups": g, "predicted": p, "excess": EXCESS[d] * left(law, g, p)} for d, p, g in SIZES]
    drawn = np.zeros(len(found)) if noise is None else 0.003 * noise.standard_normal(len(found))
    return [point | {"error": 0.003, "excess": point["excess"] + shift} for point, shift in zip(found, drawn)]


@pytest.mark.parametrize("law", GROUP_LAWS)
def test_each_law_is_recognised(law):
    fits = {fit.law: fit for fit in fitted_group_laws(points(law))}
    assert fits[law].excess == pytest.approx(EXCESS) and fits[law].chi_square < 1e-9 and fits[law].deviations < 1e-3
    assert all(fit.chi_square > 10 and fit.freedom == 10 for name, fit in fits.items() if name != law)


def test_one_group_leaves_all_and_pairs_vanish_with_a_group_for_each():
    for law in GROUP_LAWS:
        assert left(law, 1, 40) == 1
    pairs = next(iter(GROUP_LAWS))
    assert left(pairs, None, 40) == left(pairs, 40, 40) == 0
    # 40 inputs in 4 groups: 4 times 10 9 / 2 of 40 39 / 2 pairs.
    assert left(pairs, 4, 40) == pytest.approx(4 * 45 / 780)


def test_chi_square_is_as_large_as_its_degrees_of_freedom_on_average():
    noise, law = np.random.default_rng(0), next(iter(GROUP_LAWS))
    squares = [fitted_group_laws(points(law, noise))[0].chi_square for _ in range(200)]
    assert np.mean(squares) == pytest.approx(10, abs=4 * np.sqrt(20 / 200))  # 4 standard errors of a mean chi-square


def test_a_fit_needs_more_points_than_dimensions():
    assert fitted_group_laws([]) == fitted_group_laws(points("g^-2")[::6]) == []
