"""Excess of the fourth moment over Gaussian matrices: none for these, the true one elsewhere, and its trend."""

import numpy as np
import pytest

from loadstone.estimate import deviation
from loadstone.studies.kit.bounds import BELOW
from loadstone.studies.kit.comparison import Judgement
from loadstone.studies.kit.runs import share_of_capacity
from loadstone.studies.kit.singular_values import FOURTH, moments
from loadstone.studies.typical_spectra import gaussian_fourth, points, remarks
from tests.studies.drawing import compared


def rows(excess, problem="decoupled", sizes=(8, 12, 16, 30), streams=24):
    """Gaussian matrices and, where `excess(d)` is not zero, a larger first singular value."""
    found, random = [], np.random.default_rng(0)
    for d in sizes:
        for seed in range(streams):
            drawn = random.standard_normal((6, d, d))
            values = np.linalg.svd(drawn, compute_uv=False)
            values[:, 0] *= 1 + excess(d)
            three = dict(zip(("typical", "centre", "largest margin"), values[3:]))
            found.append(
                {"problem": problem, "d": d, "p": share_of_capacity(0.5, d), "seed": seed, "solver": "space"}
                | {"typical_singular_values": values[:4].tolist(), "centre_length": 0.6, "overlap": 0.27}
                | {"memories": {name: {"singular_values": one.tolist()} for name, one in three.items()}}
            )
    return found


def test_the_fourth_moment_of_gaussian_matrices():
    drawn = np.linalg.svd(np.random.default_rng(1).standard_normal((4000, 5, 5)), compute_uv=False)
    found = [moments(one)[FOURTH] for one in drawn]
    assert abs(np.mean(found) - gaussian_fourth(5)) < 4 * deviation(found) / np.sqrt(4000)
    assert gaussian_fourth(1) == 1 and gaussian_fourth(10**6) == pytest.approx(2)


def test_gaussian_matrices_have_no_excess():
    given = rows(lambda d: 0)
    excesses, _, shown, _ = points(given)
    assert (shown["d"], shown["p"]) == (30, share_of_capacity(0.5, 30))  # singular values of the largest are drawn
    assert [point["share"] for point in excesses] == [0.5] * 4 and excesses[0]["streams"] == 24
    for point in excesses:
        for name in ("typical", "centre", "largest margin"):
            assert abs(point[name]["excess"]) < 4 * point[name]["error"]
    direct = [one for one in compared("typical", given) if one.what.startswith(f"{FOURTH} of typical solutions")]
    assert len(direct) == 4 and Judgement.DIFFERS not in {one.verdict for one in direct}


def test_an_excess_is_found_and_so_is_its_trend():
    falling = {one.what: one for one in compared("typical", rows(lambda d: 4 / d))}
    lasting = {one.what: one for one in compared("typical", rows(lambda d: 0.02 * d))}
    for name in ("typical solutions", "their centre", "the largest margin"):
        what = f"exponent of d in the excess of {FOURTH} below capacity, {name}, decoupled, 0.5 of capacity"
        assert falling[what].verdict == Judgement.AGREES and falling[what].side == BELOW
        assert lasting[what].verdict == Judgement.DIFFERS
    assert falling[f"{FOURTH} of typical solutions, decoupled, d = 8, p = 11"].verdict == Judgement.DIFFERS


def test_what_was_not_sampled_is_left_out():
    given = rows(lambda d: 0, sizes=(8,), streams=1)
    assert compared("typical", given) == []  # one stream tells no error
    del given[0]["memories"]["largest margin"]
    excess, noise = remarks(points(given))
    assert excess.endswith("(their centre).") and "25.0 % is noise" in noise  # 1 - 0.27 / 0.36
    assert points([{**given[0], "solver": "capacity"}, {**given[0], "family": "symmetric"}]).excesses == []
    assert remarks(points([])) == []
