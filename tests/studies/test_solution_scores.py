"""Scores of typical solutions: means over streams beside their law, and the table in the docs."""

import numpy as np
import pytest

from loadstone.studies.kit.comparison import with_error
from loadstone.studies.kit.multiple_tests import family_tests
from loadstone.studies.solution_scores import law_of_scores, points
from tests.studies.drawing import compared
from tests.studies.shipped import RESULTS, docs_table, shipped_rows


def rows(targets, problem="decoupled", d=8, p=11):
    def moments(target):
        means = {"target": target, "rival": 1.0, "margin": target - 1.0}
        return {name: {"mean": mean, "deviation": 0.4} for name, mean in means.items()}

    histograms = {"low": -9.0, "high": 9.0, "target": [1] * 9, "rival": [1] * 9, "others": [1] * 9}
    return [
        {"problem": problem, "d": d, "p": p, "seed": seed, "solver": "space"}
        | {"typical_scores": {"moments": moments(target)} | histograms}
        for seed, target in enumerate(targets)
    ]


def test_means_over_streams_beside_the_law(few_samples):
    (point,) = points(rows([1.4, 1.6, 1.8])).means
    law = law_of_scores("decoupled", 8, 11)
    assert point["target"]["mean"] == pytest.approx(1.6) and point["target"]["deviation"] == pytest.approx(0.4)
    assert point["target"]["error"] == pytest.approx(0.2 / np.sqrt(3))
    for name in ("target", "rival", "margin"):
        assert point[name]["predicted"] == pytest.approx(law[name].mean())
    assert (law["margin"] > 0).all() and (law["rival"] == law["others"].reshape(-1, 10).max(axis=1)).all()
    assert len(law["others"]) == 10 * len(law["target"])
    # Rivals that are all the same show no scatter.
    target, margin = compared("solution-scores", rows([1.4, 1.6, 1.8]))
    assert target.error == pytest.approx(np.hypot(point["target"]["error"], point["target"]["predicted_error"]))
    assert margin.measured == pytest.approx(0.6) and target.dof == 2
    assert compared("solution-scores", rows([1.4])) == [] and points([{"solver": "space"}]).means == []


def test_the_table_in_the_docs_is_that_of_the_shipped_records():
    shipped = [row for row in shipped_rows("solution-scores", "solutions") if row["problem"] == "decoupled"]
    table = docs_table("| d, share, p |")
    assert len(table) == len({(row["d"], row["p"]) for row in shipped})
    for size, *cells in table:
        d, _, p = size.split(", ")
        group = [row["typical_scores"]["moments"] for row in shipped if (row["d"], row["p"]) == (int(d), int(p))]
        for name, cell in zip(("target", "rival", "margin"), cells, strict=True):
            means = [one[name]["mean"] for one in group]
            error = np.std(means, ddof=1) / np.sqrt(len(means))
            assert cell.split(" [")[0] == f"{np.mean(means):.3f}({error:.3f})"


@pytest.mark.soak
def test_the_predictions_in_the_docs(fresh_predictions):
    for size, *cells in docs_table("| d, share, p |"):
        d, _, p = size.split(", ")
        law = law_of_scores("decoupled", int(d), int(p))
        for name, cell in zip(("target", "rival", "margin"), cells):
            assert float(cell.split("[")[1].rstrip("]")) == pytest.approx(law[name].mean(), abs=6e-4)
    text = (RESULTS.parents[1] / "docs" / "space.md").read_text()
    for family in family_tests(compared("solution-scores", shipped_rows("solution-scores", "solutions"))):
        if "margin" not in family.family or "decoupled" in family.family:
            assert with_error(abs(family.shift), family.shift_error).lstrip("+") + " %" in text, family
