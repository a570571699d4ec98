"""The scatter of overlaps over streams: its size without noise of the chains, its power of p, its shape."""

import numpy as np
import pytest

from loadstone.studies.kit.comparison import Judgement
from loadstone.studies.kit.runs import share_of_capacity
from loadstone.studies.overlap_law import points, remarks
from tests.studies.drawing import compared, drawn
from tests.studies.shipped import RESULTS, shipped_rows


def rows(spread, error=0.0, streams=40, draw=None):
    """Overlaps of streams at four dimensions, half full, with this deviation at each p."""
    random = np.random.default_rng(0)
    draw = draw or random.standard_normal
    return [
        {"problem": "decoupled", "d": d, "p": p, "seed": seed, "solver": "space", "overlap_error": error}
        | {"overlap": 0.5 + spread(p) * draw() + error * random.standard_normal()}
        for d in (8, 12, 16, 30)
        for p in [share_of_capacity(0.5, d)]
        for seed in range(streams)
    ]


def test_noise_of_the_chains_is_taken_off():
    for point in points(rows(lambda p: 0.02, error=0.02, streams=400)).spreads:
        assert point["scatter"] == pytest.approx(0.02 * np.sqrt(2), rel=0.15)
        assert abs(point["spread"] - 0.02) < 4 * point["spread_error"] and point["spread_error"] < 0.002
    assert points(rows(lambda p: 0.02, streams=2)).spreads == []


@pytest.mark.parametrize("power", [0.5, 0.0])
def test_the_exponent_is_found(power):
    exponent = compared("overlaps", rows(lambda p: 0.1 * p**-power, streams=100))[0]
    assert exponent.what.startswith("exponent of p") and exponent.predicted == -0.5
    assert abs(exponent.measured + power) < 4 * exponent.error and exponent.error < 0.07
    assert (exponent.verdict == Judgement.DIFFERS) == (power == 0)


def test_a_skewed_law_is_told_from_a_normal_one():
    random = np.random.default_rng(3)
    skewed = compared("overlaps", rows(lambda p: 0.02, draw=random.standard_exponential))
    normal = compared("overlaps", rows(lambda p: 0.02))
    for found, differs in ((skewed, True), (normal, False)):
        shape = {one.what.split(" of ")[0]: one for one in found if "exponent" not in one.what}
        assert shape.keys() == {"skewness", "fourth moment less 3"}
        assert (shape["skewness"].verdict == Judgement.DIFFERS) == differs
        assert shape["fourth moment less 3"].predicted == pytest.approx(-6 / 41)
        assert abs(shape["skewness"].measured - 2 * differs) < 4 * shape["skewness"].error + 0.3 * differs


def test_each_problem_has_a_panel_and_the_shape_has_one_of_its_own():
    with drawn("overlaps", rows(lambda p: 0.02)) as (figure, _):
        assert [panel.get_title() for panel in figure.axes] == ["decoupled", "shape"]


def test_a_shape_needs_more_streams_than_a_spread():
    for streams, told in ((5, False), (40, True)):
        of_one_size = [row for row in rows(lambda p: 0.02, streams=streams) if row["d"] == 8]
        assert any("of the overlap over streams" in one.what for one in compared("overlaps", of_one_size)) == told


def test_what_the_docs_say_of_the_shipped_overlaps():
    shipped = shipped_rows("space", "space")
    text = " ".join((RESULTS.parents[1] / "docs" / "space.md").read_text().split())
    *shapes, noise = remarks(points(shipped))
    assert noise.removesuffix("; it is taken off.") in text
    comparisons = compared("overlaps", shipped)
    exponents = [one for one in comparisons if one.what.startswith("exponent")]
    table = text[text.index("| share | exponent, decoupled |") :]
    for share in (0.25, 0.5, 0.75):
        of = {one.what.split(", ")[1]: one for one in exponents if f"{share:g} of" in one.what}
        cells = [f"{of[name].measured:.2f}({of[name].error:.2f})" for name in ("decoupled", "original")]
        assert f"| {share:g} | {cells[0]} | {cells[1]} |" in table
    for one in comparisons[-4:]:
        assert f"{one.measured:.2f}({one.error:.2f})" in text, one.what
    detectable = [one.min_detectable for one in comparisons if one.what.startswith("skewness")]
    assert f"{max(detectable):.2f}" in text
    assert len(shapes) == 4
