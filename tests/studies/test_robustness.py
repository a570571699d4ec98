"""What rounded and noisy solutions recall: means over streams, predictions, and the table in the docs."""

import numpy as np
import pytest

from loadstone.studies import margin, robustness
from loadstone.studies.kit.sampled import MEMORIES
from loadstone.studies.robustness import points
from loadstone.theory.solution_scores import recalled_with_noise, rounding_noise
from tests.studies.drawing import compared
from tests.studies.shipped import docs_table, shipped_rows


def rows(d=8, p=11, problem="decoupled", shares=((1.0, 0.5), (0.9, 0.3), (0.8, 0.4))):
    memory = {"bits": [4, 1], "noises": [0.1, 0.8]}
    return [
        {"problem": problem, "d": d, "p": p, "seed": seed, "solver": "space"}
        | {"memories": {name: memory | {"recalled_rounded": list(one), "recalled": list(one)} for name in MEMORIES}}
        for seed, one in enumerate(shares)
    ]


def test_means_over_streams_and_their_prediction(few_samples):
    typical, centre, margin = points(rows())
    assert (typical["share"], typical["streams"], typical["memory"]) == (0.5, 3, "typical")
    for point in (typical, centre, margin):
        assert point["rounded"] == pytest.approx([0.9, 0.4]) and point["noisy_error"][0] == pytest.approx(0.1 / 3**0.5)
    outputs, _, middle, widest = robustness.predicted_queries(8, 11, 64.0)
    assert margin["rounded_predicted"][1] == recalled_with_noise(outputs, widest, rounding_noise(1)).mean()
    assert centre["noisy_predicted"][1] == recalled_with_noise(outputs, middle, 0.64).mean()
    # All of them bear less noise than little.
    assert typical["noisy_predicted"][1] < typical["noisy_predicted"][0] < centre["noisy_predicted"][0]
    found = compared("robustness", rows())
    assert len(found) == 6 and {one.dof for one in found} == {2}
    assert compared("robustness", rows()[:1]) == []  # one stream tells no error
    assert compared("robustness", rows(shares=[(1.0, 0.5)] * 3)) == []  # nor do streams that are all the same


def test_entries_that_no_output_shows(few_samples):
    """With six outputs a query has five directions of eight: the centre has no entries in the others, so that its
    rounding changes less of it."""
    typical, centre, _ = points(rows(p=6, problem="original"))
    outputs, usual, middle, _ = robustness.predicted_queries(8, 6, 40.0)
    assert typical["rounded_predicted"][1] == recalled_with_noise(outputs, usual, rounding_noise(1)).mean()
    assert centre["rounded_predicted"][1] == recalled_with_noise(outputs, middle, rounding_noise(1) * 40 / 64).mean()


def test_without_a_largest_margin_nothing_is_predicted_of_it(few_samples):
    """With so many outputs in three dimensions that some of them never win there is no prediction."""
    assert margin.predicted_margin("gaussian", 3, 6) is None
    *others, largest = points(rows(d=3, p=6))
    assert largest["memory"] == "largest margin" and largest["rounded_predicted"] == [None, None]
    assert all(None not in point["rounded_predicted"] for point in others)
    assert not any("largest margin" in one.what for one in compared("robustness", rows(d=3, p=6)))


def shipped_shares(kind):
    """Mean and standard error of each memory at d = 16, half full, decoupled."""
    size = ("decoupled", 16, 31)
    given = [row for row in shipped_rows("space", "space") if (row["problem"], row["d"], row["p"]) == size]
    assert len(given) == 24
    found = {name: np.array([row["memories"][name][kind] for row in given]) for name in MEMORIES}
    return {name: (one.mean(axis=0), one.std(axis=0, ddof=1) / np.sqrt(24)) for name, one in found.items()}


def test_the_table_in_the_docs_is_that_of_the_shipped_records():
    columns = [("recalled_rounded", 2), ("recalled_rounded", 3), ("recalled", 1), ("recalled", 3), ("recalled", 5)]
    shares = {kind: shipped_shares(kind) for kind in ("recalled_rounded", "recalled")}
    table = docs_table("| d = 16, half full |")
    assert [line[0] for line in table] == list(MEMORIES.values())
    for (name, _), (_, *cells) in zip(MEMORIES.items(), table):
        for (kind, place), cell in zip(columns, cells, strict=True):
            mean, error = (one[place] for one in shares[kind][name])
            assert cell.split(" [")[0] == f"{mean:.3f}({error:.3f})"


@pytest.mark.soak
def test_the_predictions_in_the_docs(fresh_predictions):
    for (name, _), (_, *cells) in zip(MEMORIES.items(), docs_table("| d = 16, half full |")):
        variances = [rounding_noise(2), rounding_noise(1), 0.2**2, 0.4**2, 0.8**2]
        for variance, cell in zip(variances, cells):
            predicted = robustness.predicted_recall(16, 31, 256.0, name, variance).value
            assert float(cell.split("[")[1].rstrip("]")) == pytest.approx(predicted, abs=6e-4)
