"""Studies of shipped records plot, compare and say what they did."""

import json

import pytest

from tests.studies.plotted import KEPT, SWEEPS, plotted

ADVICE = "if that is meant, run `python -m tests.studies.plotted` and read the diff of plotted.json"


@pytest.mark.parametrize("name", SWEEPS)
def test_the_numbers_of_shipped_records_are_what_they_were(name):
    now, kept = plotted(name), json.loads(KEPT.read_text())[name]
    assert now["numbers"].keys() == kept["numbers"].keys(), ADVICE
    for path, numbers in now["numbers"].items():
        # Sums of other signs cancel: the size of the largest of the three counts.
        assert numbers == pytest.approx(kept["numbers"][path], rel=1e-6, abs=1e-9), f"{path}: {ADVICE}"
    assert now["verdicts"] == kept["verdicts"] and now["remarks"] == kept["remarks"], ADVICE
