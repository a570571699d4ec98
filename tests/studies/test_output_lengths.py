"""Free entropies of both laws beside the functional, with and without lengths, and where 1/d is zero."""

import numpy as np
import pytest

from loadstone.studies import solution_space
from loadstone.studies.kit.comparison import Judgement, with_error
from loadstone.studies.kit.multiple_tests import family_tests
from loadstone.studies.kit.runs import share_of_capacity
from loadstone.studies.output_lengths import at_infinity, compare, points, remarks
from tests.studies.drawing import compared
from tests.studies.shipped import RESULTS, docs_table, shipped_rows


def rows(law, excess, sizes=(8, 12, 16), streams=12):
    """Streams whose free entropy exceeds that of the functional by these per cent, with a scatter of 1 %."""
    random, sampled = np.random.default_rng(0), []
    for d in sizes:
        p = share_of_capacity(0.5, d)
        scale = solution_space.predicted(p, float(d * d)).phi * d * d * (1 + excess(d) / 100)
        sampled += [
            {"problem": "decoupled", "law": law, "d": d, "p": p, "seed": seed, "solver": "space", "overlap": 0.4}
            | {"log_volume": scale * (1 + 0.01 * random.standard_normal())}
            for seed in range(streams)
        ]
    return sampled


def test_a_line_is_followed_to_its_end():
    sizes = [8.0, 12.0, 20.0, 40.0]
    value, error, freedom = at_infinity(sizes, [3 + 16 / d for d in sizes], [0.1] * 4, 50)
    assert value == pytest.approx(3) and freedom == 50
    random = np.random.default_rng(1)
    ends = [at_infinity(sizes, [3 + 16 / d + 0.1 * random.standard_normal() for d in sizes], [0.1] * 4, 50)[0]
            for _ in range(400)]  # fmt: skip
    assert np.std(ends) == pytest.approx(error, rel=0.2) and np.mean(ends) == pytest.approx(3, abs=4 * error / 20)
    # Values that are no line make the end less certain.
    assert at_infinity(sizes, [3, 9, 2, 8], [0.1] * 4, 50)[1:] > (10 * error, 1)


def test_lengths_are_taken_into_account_where_they_differ(few_samples):
    given = rows("gaussian", lambda d: 6.0) + rows("sphere", lambda d: 0.0)
    lengths = points(given)
    by_size = {(point["law"], point["d"]): point for point in lengths}
    assert len(by_size) == 6 and all(one["share"] == 0.5 for one in lengths)
    for (law, _), point in by_size.items():
        assert abs(point["excess"] - (6 if law == "gaussian" else 0)) < 2
        assert (point["lengths"] > 1) == (law == "gaussian")
        assert point["with_lengths"] == pytest.approx(point["predicted"] * (1 + point["lengths"] / 100))
    compared_by_name = {one.what: one for one in compare(lengths)}
    assert len(compared_by_name) == 8  # three sizes of both laws, and two ends
    end = compared_by_name["excess of the free entropy over the functional at 1/d = 0, decoupled, 0.5 of the capacity"]
    assert end.percent == 1 and abs(end.measured - 6) < 4 * end.error
    assert end.dof == 3 * (12 - 1)  # each size has one mean of its twelve streams
    words = remarks(lengths)
    assert len(words) == 2 and "of which lengths explain" in words[0] and "lengths explain" not in words[1]


def test_streams_without_a_volume_leave_nothing_to_compare(few_samples):
    given = rows("sphere", lambda d: 0.0, sizes=(8,), streams=3)
    del given[0]["log_volume"]
    assert points(given) == [] and compare([]) == [] and remarks([]) == []
    assert points([row | {"law": "rademacher"} for row in rows("sphere", lambda d: 0.0, (8,), 3)]) == []


@pytest.mark.soak
def test_the_tables_in_the_docs_are_those_of_the_shipped_records():
    shipped = shipped_rows("lengths", "space", "solutions")
    text = (RESULTS.parents[1] / "docs" / "space.md").read_text()
    table = docs_table("| problem, share, d |")
    lengths = points(shipped)
    by_size = {(one["problem"], one["share"], one["d"], one["law"]): one for one in lengths}
    assert len(table) == len({key[:3] for key in by_size})
    for size, *cells in table:
        problem, share, d = size.split(", ")
        gaussian = by_size[problem, float(share), int(d), "gaussian"]
        sphere = by_size.get((problem, float(share), int(d), "sphere"))
        expected = [f"{gaussian['excess']:.1f}({gaussian['excess_error']:.1f})", f"{gaussian['lengths']:.1f}"]
        expected.append(f"{sphere['excess']:.1f}({sphere['excess_error']:.1f})" if sphere else "-")
        assert cells == expected, size
    comparisons = compare(lengths)
    for one in comparisons:
        if one.what.startswith("excess"):
            assert f"{one.measured:.1f}({one.error:.1f})" in text, one.what
    equal = [one for one in comparisons if "equal length" in one.what]
    assert equal and not any(one.verdict == Judgement.DIFFERS for one in equal)
    # What families show as a whole, of these and of the whole sweep of 'space'.
    for family in family_tests(equal + compared("space", shipped_rows("space", "space"))):
        if "free entropy, original" not in family.family:
            assert with_error(abs(family.shift), family.shift_error).lstrip("+") + " %" in text, family
            assert f"{family.p_value:.1g}".replace("e-0", "e-") in text, family
