"""Spectra of the last runs stored: which runs these are, whether their distance to the law falls, and both problems at
low rank, where differences that fall are told from those that stay."""

import numpy as np
import pytest

from loadstone.studies.kit.comparison import Judgement
from loadstone.studies.kit.singular_values import FOURTH
from loadstone.studies.stored_spectra import (
    NUMBERS,
    Points,
    compare,
    last_stored,
    original_minus_decoupled,
    points,
    remarks,
)

SCORE = "mean of the target's score"


def run(d, seed, p, status="stored", values=None, solver="lbfgs", problem="original", kappa=1.0, score=2.0):
    row = {"solver": solver, "kappa": kappa, "problem": problem, "d": d, "seed": seed, "p": p, "status": status}
    row["singular_values"] = list(np.ones(d)) if values is None else list(values)
    return row | {"scores": {"own_target": {"mean": score, "deviation": 1.0}}}


def gaussian(d, seed, power=1.0):
    """Singular values of a Gaussian matrix; another power than 1 bends their law."""
    matrix = np.random.default_rng([d, seed]).standard_normal((d, d))
    return np.linalg.svd(matrix, compute_uv=False) ** power


def both(d, seed, difference, p=5, kappa=0.5):
    """Runs of both problems on one stream, whose targets' scores differ by so much."""
    return [
        run(d, seed, p, problem="original", kappa=kappa, score=2 + difference),
        run(d, seed, p, problem="decoupled", kappa=kappa),
    ]


def test_the_last_run_is_below_the_first_that_fails():
    rows = [run(8, 0, 5), run(8, 0, 7), run(8, 0, 9, "minimum reached"), run(8, 0, 11), run(8, 1, 5, "step limit")]
    assert [(row["seed"], row["p"]) for row in last_stored(rows)] == [(0, 7)]
    assert points([run(8, 0, 5, solver="hebbian")]) == points([]) == Points([], [])


@pytest.mark.parametrize("mixed, verdict", [(1.0, Judgement.AGREES), (0.0, Judgement.CANNOT_TELL)])
def test_what_approaches_the_law_is_told_from_what_approaches_another(mixed, verdict):
    """Values that are raised to a power have another law, unless the power tends to 1 as d grows."""
    rows = [
        run(d, seed, 5, values=gaussian(d, seed, 1 + 0.6 * (20 / d) ** mixed))
        for d in (20, 40, 80, 120)
        for seed in range(4)
    ]
    read = points(rows)
    (one,) = compare(read)
    assert one.verdict == verdict and one.what.endswith("L-BFGS, original, kappa = 1")
    # The distance itself falls in either case.
    first, *_, last = read.distances
    assert last["distance"] < first["distance"]
    (words,) = remarks(read)
    assert f"{first['distance']:.3f} at d = 20" in words and f"{last['distance']:.3f} at d = 120" in words


def test_problems_are_compared_at_the_last_p_that_every_stream_stored():
    rows = [row for p in (5, 7) for seed in range(3) for row in both(20, seed, p / 100 + seed / 1000, p=p)]
    rows += [row for seed in range(3) for row in both(20, seed, 5.0, p=9)]
    rows[-1]["status"] = "minimum reached"
    rows += both(20, 0, 5.0, p=11) + both(20, 0, 5.0, p=3, kappa=1.0)
    rows += [run(30, 0, 5, solver="adam", kappa=0.5)]
    differences = {point["number"]: point for point in original_minus_decoupled(rows)}
    assert set(differences) == set(NUMBERS) and differences[FOURTH]["difference"] == 0
    of_scores = differences[SCORE]
    assert of_scores["p"] == 7 and of_scores["streams"] == 3 and of_scores["decoupled"] == 2
    assert of_scores["difference"] == pytest.approx(0.071)
    assert of_scores["error"] == pytest.approx(0.001 / np.sqrt(3))


@pytest.mark.parametrize("power, verdict", [(-1.0, Judgement.AGREES), (0.0, Judgement.CANNOT_TELL)])
def test_a_difference_that_falls_is_told_from_one_that_stays(power, verdict):
    random = np.random.default_rng(0)
    rows = [
        row
        for d, streams in ((50, 5), (100, 5), (150, 2))
        for seed in range(streams)
        for row in both(d, seed, -0.2 * (d / 50) ** power * (1 + 0.1 * random.standard_normal()))
    ]
    compared = {one.what: one for one in compare(Points([], original_minus_decoupled(rows)))}
    at = f"at kappa = 0.5: {SCORE}, original - decoupled, d = "
    exponent = f"exponent of d at kappa = 0.5 in the difference: {SCORE}, original - decoupled"
    assert set(compared) == {at + "50", at + "100", at + "150", exponent}
    trend, smallest = compared[exponent], compared[at + "50"]
    assert trend.verdict == verdict and trend.measured == pytest.approx(power, abs=4 * trend.error)
    assert smallest.verdict == Judgement.DIFFERS and smallest.measured == pytest.approx(-0.2, abs=0.04)


def test_differences_of_both_signs_have_no_exponent():
    rows = [row for d in (20, 40, 80) for seed in range(3) for row in both(d, seed, (d - 30) * (1 + seed / 10))]
    compared = compare(Points([], original_minus_decoupled(rows)))
    assert len(compared) == 3 and not [one for one in compared if one.what.startswith("exponent")]
    assert original_minus_decoupled([]) == [] == compare(Points([], []))
