"""Moments of proved memories: known matrices, Gaussian ones, and an excess that is put in."""

import numpy as np
import pytest

from loadstone.evidence.witnesses import FOURTH, TOP, compare_witnesses, falling_excess, gaussian_moments, moments
from loadstone.studies.kit.comparison import Judgement


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


def test_moments_of_known_matrices():
    assert moments(np.ones(7)) == {FOURTH: pytest.approx(1), TOP: pytest.approx(1)}
    # The relative variance of |W e|^2 over Gaussian inputs is 2 <s^4> / (<s^2>^2 d).
    random, values = np.random.default_rng(0), np.array([3.0, 1.0, 0.5, 2.0])
    lengths = ((random.standard_normal((200_000, 4)) * values) ** 2).sum(axis=1)
    assert lengths.var() / lengths.mean() ** 2 == pytest.approx(2 * moments(values)[FOURTH] / 4, rel=0.02)


@pytest.mark.parametrize("d", [12, 30])
def test_gaussian_moments_beside_the_exact_mean(d):
    # E tr (W W^T)^2 / E (tr W W^T)^2 d = (2 d + 1) d / (d^2 + 2): a ratio of means, not a mean of ratios.
    mean, error = gaussian_moments(d)[FOURTH]
    assert mean == pytest.approx((2 * d + 1) * d / (d**2 + 2), abs=4 * error + 0.2 / d**2)
    assert gaussian_moments(d)[TOP][0] < 2  # the edge is approached from below


def test_gaussian_memories_agree_and_others_do_not():
    plain = compare_witnesses(rows())
    assert all(abs(one.deviations) < 4 for one in plain if one.what.startswith(FOURTH))
    broad = [one for one in compare_witnesses(rows(excess=3.0)) if one.what.startswith(FOURTH)]
    assert len(broad) == 3 and all(one.verdict == Judgement.DIFFERS and one.difference > 0 for one in broad)


def test_the_exponent_of_an_excess_is_found():
    excess = lambda d: {FOURTH: {"excess": 12 * d**-0.8, "excess_error": 0.01}}  # noqa: E731
    points = [{"problem": "original", "d": d, "streams": 9, "predicted": 5 * d} | excess(d) for d in (12, 20, 30, 50)]
    fit = falling_excess(points, "original")
    assert (fit.x, fit.c) == (pytest.approx(0.8, abs=1e-4), pytest.approx(12, rel=1e-3)) and fit.chi_square < 1e-3
    assert falling_excess(points, "decoupled") is None and falling_excess(points[:2], "original") is None


def test_strands_of_the_equivalence_need_both_problems():
    both = compare_witnesses(rows() + rows(problem="original"))
    strands = [one for one in both if "original - decoupled" in one.what]
    assert len(strands) == 9 and not any("original - decoupled" in one.what for one in compare_witnesses(rows()))
    assert all(one.predicted == 0 and one.scale is not None for one in strands)
