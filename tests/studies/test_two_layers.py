"""Two layers beside linear memories: by hand on a small table, and on the shipped records."""

import pytest

from loadstone.studies import two_layers
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.codimension import codimension
from tests.studies.shipped import RESULTS, shipped_rows


def row(stored, seed=0, d=12, family="relu:width=6"):
    return {"d": d, "seed": seed, "stored": stored, "solver": "reach", "family": family}


def test_means_over_streams_beside_both_laws():
    rows = [row(30), row(34, 1), row(9, family="full"), row(80, family="gelu:width=24")]
    gelu, relu = two_layers.points([*rows, {"d": 12, "seed": 0, "solver": "capacity", "family": "symmetric"}])
    assert (relu["activation"], relu["width"], relu["stored"], relu["streams"]) == ("relu", 6, 32.0, 2)
    assert relu["error"] == pytest.approx(2.0) and (relu["parameters"], gelu["parameters"]) == (144, 576)
    # h = d/2 has as many parameters as a full W; beyond h = d the width of a linear memory gives nothing more.
    assert relu["as_many_parameters"] == pytest.approx(float(capacity_associations(12)))
    assert relu["as_wide"] == float(capacity_associations(12, 0.5))
    assert gelu["as_wide"] == float(capacity_associations(12))
    n = gelu["as_many_parameters"]
    assert n * codimension(round(n)) == pytest.approx(576, rel=0.01)


@pytest.fixture(scope="module")
def shipped():
    points = two_layers.points(shipped_rows("layers", "layers"))
    return {(point["d"], point["activation"], point["width"]): point for point in points}


def test_shipped_relu_and_gelu_store_more_than_as_many_linear_parameters(shipped):
    for (d, activation, width), point in shipped.items():
        if activation != "attention" and width >= d:
            assert point["stored"] > point["as_many_parameters"], (d, activation, width)


def test_wider_memories_store_more(shipped):
    for d in (20, 50):
        for activation in ("relu", "gelu", "attention"):
            stored = [shipped[key]["stored"] for key in sorted(shipped) if key[:2] == (d, activation)]
            assert len(stored) >= 2 and stored == sorted(stored)


def test_the_table_in_the_docs_is_that_of_the_shipped_records(shipped):
    text = (RESULTS.parents[1] / "docs" / "measured.md").read_text()
    rows = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("| ")}
    for (d, _, width), point in shipped.items():
        line = rows[f"{d}, {width}"]
        ratio = point["stored"] / point["as_many_parameters"]
        several = f"{point['stored']:.1f}({point['error']:.1f})"
        assert f" {several if point['streams'] > 1 else round(point['stored'])}, {ratio:.2f} " in line
        assert f"| {point['as_many_parameters']:.1f} | {point['as_wide']:.1f} |" in line
