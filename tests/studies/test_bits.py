"""What memories of few bits store: the table in the docs is that of the shipped records."""

import numpy as np
import pytest

from loadstone.studies.bits import TRAINED, compare, points
from tests.studies.shipped import docs_table, shipped_rows


@pytest.fixture(scope="module")
def shipped():
    return {(point["d"], point["bits"], point["way"]): point for point in points(shipped_rows("bits", "bits"))}


def test_the_table_in_the_docs_is_that_of_the_shipped_records(shipped):
    table = docs_table("| d, bits |")
    assert len(table) == 12
    for size, *cells, noise, bound in table:
        d, bits = map(int, size.split(", "))
        for way, cell in zip(("largest margin", "centre", TRAINED), cells):
            point = shipped.get((d, bits, way))
            assert cell == (f"{point['stored']:.1f}({point['error']:.1f})" if point else "-"), size
        point = shipped[d, bits, "largest margin"]
        assert (noise, bound) == (f"{point['noise']:.1f}", f"{point['bound']:.1f}")


def test_training_stores_more_than_rounding_and_never_more_than_counting_allows(shipped):
    for (d, bits, way), point in shipped.items():
        assert point["stored"] < point["bound"]
        if way == TRAINED:
            rounded = shipped[d, bits, "largest margin"]
            assert point["stored"] > rounded["stored"] - 2 * (rounded["error"] + point["error"])
    ratio = max(one["stored"] / shipped[d, bits, "largest margin"]["stored"]
                for (d, bits, way), one in shipped.items() if way == TRAINED)  # fmt: skip
    assert 1.65 < ratio < 1.8  # the docs say: up to 1.7 times


def test_bits_of_all_three_ways():
    base = {"problem": "original", "d": 12, "p": 40, "solver": "bits"}
    given = [base | {"seed": s, "stored": n, "parameters": {"bits": 2}} for s, n in enumerate((14, 16, 18))]
    given += [base | {"seed": 0, "stored": 20, "parameters": {"bits": 2, "way": "centre"}}]
    given += [base | {"seed": 0, "solver": "reach", "family": "rounded:bits=2", "stored": 25}]
    given += [base | {"seed": 0, "solver": "reach", "family": "full", "stored": 39}]  # of another figure
    ways = {point["way"]: point for point in points(given)}
    assert ways.keys() == {"largest margin", "centre", TRAINED} and ways[TRAINED]["stored"] == 25
    best = ways["largest margin"]
    assert best["facts_per_parameter"] == pytest.approx(16 / 144) and best["bits_per_bit"] == pytest.approx(64 / 288)
    assert best["error"] == pytest.approx(2 / np.sqrt(3)) and best["stored"] < best["bound"]
    (only,) = compare(points(given))
    assert only.predicted == best["noise"] and only.dof == 2
