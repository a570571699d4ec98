"""What others measured: synthetic rows whose truth is known."""

import numpy as np
import pytest

from loadstone.studies.kit.comparison import Judgement
from loadstone.studies.nichani import points, remarks
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import associations
from tests.studies.drawing import compared

pytestmark = pytest.mark.usefixtures("few_samples")


def recalled(d, sizes, width=1):
    return [{"solver": "reach", "d": d, "seed": seed, "stored": p, "not_stored": p + width}
            for seed, p in enumerate(sizes)]  # fmt: skip


def proved(d, law, capacities):
    return [{"solver": "capacity", "d": d, "law": law, "seed": seed, "p_c": int(p)}
            for seed, p in enumerate(capacities)]  # fmt: skip


def test_points_are_means_of_the_middles_of_brackets():
    (point,) = points(recalled(16, (58, 60, 65), width=4)).recalled
    assert point["p"] == pytest.approx(63) and point["seeds"] == 3
    spread = np.std([58, 60, 65], ddof=1) / np.sqrt(3)
    assert point["error"] == pytest.approx(np.hypot(spread, 4 / np.sqrt(12 * 3)))
    assert point["constant"] == pytest.approx(16**2 / (63 * np.log(63)))
    # 99 % of fewer than 100 are all of them.
    assert point["law"] == pytest.approx(point["bound"]) == pytest.approx(float(capacity_associations(16)))


@pytest.mark.parametrize("share, of_law, of_line", [
    (1.0, Judgement.AGREES, Judgement.DIFFERS), (0.9, Judgement.DIFFERS, Judgement.DIFFERS), (
        float(associations(1 / 1.3, 128) / capacity_associations(128)), Judgement.DIFFERS, Judgement.AGREES)
])  # fmt: skip
def test_the_law_and_the_published_line_are_told_apart(share, of_law, of_line):
    """At d = 128 they are 6.5 % apart, and seeds scatter by 0.5 %."""
    middle = share * float(capacity_associations(128))
    sizes = [round(middle * (1 + shift)) for shift in (-0.005, -0.002, 0, 0.002, 0.005)]
    law, line = compared("peers", recalled(128, sizes))
    assert (law.verdict, line.verdict) == (of_law, of_line)
    assert "at 99 % the law allows at most 2." in law.note and law.what.endswith("beside the law, d = 128")


def test_lengths_are_compared_in_pairs():
    """Streams differ by far more than what equal lengths change: unpaired, a difference of one would not be seen."""
    random = np.random.default_rng(0)
    capacities = random.integers(50, 70, 60)
    more = capacities + random.integers(0, 3, 60)
    rows = proved(16, "gaussian", capacities) + proved(16, "sphere", more) + proved(16, "sphere", [40] * 61)[60:]
    (point,) = points(rows).lengths
    assert point["streams"] == 60 and point["difference"] == pytest.approx(np.mean(more - capacities))
    assert point["error"] == pytest.approx(np.std(more - capacities, ddof=1) / np.sqrt(60))
    (one,) = compared("peers", rows)
    assert one.verdict == Judgement.DIFFERS and one.scale == pytest.approx(capacities.mean())
    assert np.hypot(capacities.std(), more.std()) / np.sqrt(60) > 5 * one.error
    shuffled = proved(16, "gaussian", capacities) + proved(16, "sphere", capacities[::-1])
    assert compared("peers", shuffled)[0].verdict == Judgement.CANNOT_TELL


def test_remarks_tell_the_constant_of_each_size():
    rows = recalled(8, (22, 24)) + recalled(16, (60, 62))
    rows += proved(8, "gaussian", [20, 23]) + proved(8, "sphere", [22, 23])
    constants, lengths = remarks(points(rows))
    assert constants.startswith("At d = 8, 16 the constant C of C N log N = d^2 is 0.86, 1.01 as measured, 0.93, 1.01")
    assert lengths.startswith("At d = 8 outputs of equal length let 4.7 +- 4.7 % more fit") and "2 streams" in lengths
    assert remarks(points([])) == []
