"""The excess over the formula: which streams count, how well it is known, and which law it follows."""

import math

import numpy as np
import pytest
from scipy.stats import chi2, norm

from loadstone.studies.kit.fitted_laws import Fit, fitted_laws
from loadstone.studies.original_excess import PROVED, STORED, compare, excess_points, points
from loadstone.theory.storable import capacity_moments


def proved(p_c, problem="original", d=12, **changes):
    return {"solver": "capacity", "problem": problem, "d": d, "kappa": 1.0, "p_c": p_c} | changes


def reached(attempts, problem="original", d=12):
    """A bracket that these attempts, as (p, status), have left."""
    stored = max(p for p, status in attempts if status == "stored")
    not_stored = min(p for p, status in attempts if status != "stored")
    listed = [[p, status == "stored", status, 7] for p, status in attempts]
    row = {"solver": "reach", "problem": problem, "d": d, "kappa": 1.0, "attempts": listed}
    return row | {"stored": stored, "not_stored": not_stored}


def test_proved_streams_are_averaged_and_others_left_out():
    rows = [proved(40), proved(44), proved(None), proved(9, answers=3), proved(9, kappa=0.5), proved(9, solver="adam")]
    (point,) = excess_points(rows)
    mean, scatter = capacity_moments(12)
    assert (point["way"], point["streams"], point["undecided"], point["capacity"]) == (PROVED, 2, 1, 42)
    assert point["excess"] == point["at most"] == pytest.approx(42 / mean - 1)
    # Of two streams, with the scatter of the formula and not their own.
    assert point["error"] == pytest.approx(scatter / math.sqrt(2) / mean)
    assert excess_points([proved(None)]) == []


def test_a_bracket_holds_whole_numbers():
    """Stored at 40 and not at 44: the capacity is 40, 41, 42 or 43."""
    rows = [reached([(40, "stored"), (60, "minimum reached"), (50, "minimum reached"), (44, "out of passes")])]
    (point,) = excess_points(rows)
    mean, scatter = capacity_moments(12)
    assert point["way"] == STORED and point["capacity"] == np.mean([40, 41, 42, 43])
    assert point["error"] == pytest.approx(math.sqrt(scatter**2 + np.var([40, 41, 42, 43])) / mean)
    # At 50 there is a minimum, so no more than 49 can be stored; at 44 there may have been too few passes.
    assert point["at most"] == pytest.approx(49 / mean - 1)
    (sure,) = excess_points([reached([(40, "stored"), (41, "minimum reached")])])
    assert sure["capacity"] == 40 and sure["at most"] == sure["excess"]
    # Without any minimum the largest p that was tried is all that is known.
    (unsure,) = excess_points([reached([(40, "stored"), (60, "out of passes"), (50, "out of passes")])])
    assert unsure["at most"] == pytest.approx(59 / mean - 1)


def falling(law, errors):
    sizes = (12, 20, 30, 50, 100, 200)
    sized = [{"d": d, "predicted": 0.3 * d**1.8, "error": error} for d, error in zip(sizes, errors)]
    return [point | {"excess": 0.1 * law(point)} for point in sized]


def test_each_law_is_recognised():
    laws = {
        "c / log p": lambda point: 1 / math.log(point["predicted"]),
        "c / (log p)^2": lambda point: 1 / math.log(point["predicted"]) ** 2,
        "c d^-x": lambda point: point["d"] ** -0.6,
    }
    for law, shape in laws.items():
        fits = {fit.law: fit for fit in fitted_laws(falling(shape, np.full(6, 1e-4)))}
        assert fits[law].c == pytest.approx(0.1) and fits[law].chi_square < 1e-6 and fits[law].deviations < 1e-3
        assert all(fit.chi_square > 20 for name, fit in fits.items() if name != law)
        assert [fit.dof for fit in fits.values()] == [5, 5, 4]
    assert fits["c d^-x"].x == pytest.approx(0.6)


def test_the_error_of_the_exponent_is_its_scatter():
    errors, random = np.array([4, 3, 2, 5, 2, 1]) * 1e-4, np.random.default_rng(0)
    exact, fits = falling(lambda point: point["d"] ** -0.5, errors), []
    for _ in range(300):
        noisy = [point | {"excess": point["excess"] + point["error"] * random.standard_normal()} for point in exact]
        fits.append(fitted_laws(noisy)[-1])
    # Both bounds are 4 standard errors: of a deviation, 1 / sqrt(2 n) of it, and of a mean chi-square, sqrt(2 f / n).
    assert np.std([fit.x for fit in fits]) == pytest.approx(fits[-1].x_error, rel=4 / math.sqrt(600))
    assert np.mean([fit.chi_square for fit in fits]) == pytest.approx(4, abs=4 * math.sqrt(8 / 300))


def test_a_fit_needs_more_points_than_parameters():
    shape = falling(lambda point: point["d"] ** -0.5, np.full(6, 1e-3))
    assert [len(fitted_laws(shape[:count])) for count in (0, 1, 2, 3)] == [0, 0, 2, 3]


def test_chance_in_standard_deviations():
    for deviations in (0.5, 2.0, 5.0):
        fit = Fit("any", 1, 1, 0, chi2.isf(2 * norm.sf(deviations), 7), 7)
        assert fit.deviations == pytest.approx(deviations)
    assert Fit("any", 1, 1, 0, 1e5, 7).deviations > 30


def test_comparisons_of_three_streams():
    rows = [proved(p, problem) for problem in ("original", "decoupled") for p in (38, 40, 44)]
    decoupled, original = compare(points(rows))
    mean, scatter = capacity_moments(12)
    assert decoupled.predicted == mean and decoupled.measured == pytest.approx(122 / 3)
    assert decoupled.error == pytest.approx(scatter / math.sqrt(3))
    assert original.predicted == 0 and original.measured == pytest.approx(100 * (122 / 3 / mean - 1))
    assert original.error == pytest.approx(100 * decoupled.error / mean)
    assert original.percent == 1 and original.dof == decoupled.dof == math.inf
    assert compare(points(rows[:1])) == []
