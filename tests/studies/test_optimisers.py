"""Curves of each optimiser on each law, with searches that failed among them, and what docs state of them."""

import math

import pytest

from loadstone.studies.optimisers import points
from tests.studies.drawing import drawn
from tests.studies.shipped import shipped_rows

DISTANCES = [0.2, 0.1, 0.05, 0.02, 0.01, 0.0]


def row(seed, passes, optimiser="lbfgs", law="gaussian", limit=1000):
    """One stream with p_c = 1000; None: not stored within the limit."""
    sizes = [round(1000 * (1 - x)) for x in DISTANCES]
    attempts = [[p, one is not None, "", one or limit] for p, one in zip(sizes, passes)]
    parameters = {} if optimiser == "lbfgs" else {"optimiser": optimiser}
    spec = {"problem": "original", "d": 9, "law": law, "seed": seed, "solver": "approach", "parameters": parameters}
    return spec | {"p_c": 1000, "limit": limit, "distances": DISTANCES, "attempts": attempts}


def power(z, factor):
    return [factor * 0.2**-z, *(factor * x**-z for x in DISTANCES[1:-1]), 900]


def test_a_power_law_gives_its_exponent_and_scatter_an_error():
    (curve,) = points([row(seed, power(1.5, factor)) for seed, factor in enumerate((1, 1.1, 1.4, 1.2, 2))])
    assert curve["z"] == pytest.approx(1.5) and curve["error"] == pytest.approx(0, abs=1e-9)
    assert curve["streams"] == 5 and curve["median"][1] == pytest.approx(1.2 * 0.1**-1.5)
    assert curve["lower"][1] == pytest.approx(1.1 * 0.1**-1.5) and curve["upper"][1] == pytest.approx(1.4 * 0.1**-1.5)
    mixed = [row(seed, power(z, 1)) for seed, z in enumerate((1, 1.2, 1.5, 1.9, 2))]
    (curve,) = points(mixed)
    assert 0.1 < curve["error"] < 0.5


def test_what_was_not_stored_counts_as_longer_than_everything_else():
    rows = [row(seed, [10, 20, 30, 40, taken, None]) for seed, taken in enumerate((50, 70, None, None))]
    (curve,) = points(rows[:3])
    assert curve["stored"] == [3, 3, 3, 3, 2, 0] and curve["median"] == [10, 20, 30, 40, 70, None]
    assert curve["upper"][4] is None and curve["lower"][4] == 60
    (curve,) = points(rows)
    # The median of four lies between a number and infinity.
    assert curve["median"][4] is None and curve["stored"][4] == 2
    (curve,) = points(rows[2:])
    assert curve["median"][4] is None and curve["z"] == pytest.approx(math.log(2) / math.log(5), rel=0.2)


def test_nothing_is_fitted_to_fewer_than_two_distances():
    (curve,) = points([row(0, [10, 20, None, None, None, None])])
    assert curve["z"] is None and curve["error"] is None and curve["median"][2:] == [None] * 4


def test_laws_and_optimisers_are_kept_apart_and_other_records_left_out():
    passes = [10, 20, 30, 40, 50, 60]
    rows = [row(0, passes, "adam:learning_rate=0.1"), row(0, passes, law="power law:exponent=0.5")]
    rows += [row(0, passes, law="power law"), row(1, passes, law="power law") | {"p_c": None}]
    rows += [{"solver": "capacity", "p_c": 5}, {"solver": "sgd"}]
    kinds = [(curve["law_exponent"], curve["optimiser"], curve["streams"]) for curve in points(rows)]
    assert kinds == [(0.0, "adam:learning_rate=0.1", 1), (0.5, "lbfgs", 1), (1.0, "lbfgs", 1)]


def test_the_line_of_medians_ends_below_the_capacity_which_has_a_place_of_its_own():
    """Also where no stream was stored at a distance before."""
    with drawn("optimisers", [row(0, [10, 20, None, 40, 50, 900])]) as (figure, _):
        line, *_ = figure.axes[0].lines
        x, y = line.get_data()
        capacity = figure.axes[0].get_xticks()[-1]
        bars = [one.lines[0].get_data() for one in figure.axes[0].containers]
    assert x.tolist() == pytest.approx([0.2, 0.1, 0.02, 0.01]) and y.tolist() == [10, 20, 40, 50]
    assert 0 < capacity < 0.01 and bars[-1] == ([capacity], [900]) and len(bars) == 5


@pytest.fixture(scope="module")
def shipped():
    return [row for row in shipped_rows("optimisers", "optimisers") if row["d"] == 30]


def test_shipped_streams_have_one_capacity_under_every_law(shipped):
    """Each was proved anew for every law."""
    laws = {(row["seed"], row["law"]) for row in shipped}
    capacities = {(row["seed"], row["p_c"]) for row in shipped}
    assert len(capacities) == len(dict(capacities)) == 12 and len(laws) == 12 * 4


def test_what_docs_state_of_the_shipped_streams(shipped):
    """Who stores at 1 % below the capacity and at the capacity, and the exponents."""
    curves = {one["optimiser"].partition(":")[0]: one for one in points(shipped) if one["law_exponent"] == 0}
    assert {name: one["stored"][4:] for name, one in curves.items()} == {
        "lbfgs": [12, 12], "newton": [12, 12], "muon": [12, 3], "adam": [12, 3], "normalised": [12, 3],
        "sgd": [7, 0], "minibatch": [4, 0], "perceptron": [2, 0], "paper": [0, 0],
    }  # fmt: skip
    stated = {"lbfgs": 0.53, "newton": 0.85, "muon": 1.12, "normalised": 1.37, "adam": 1.60, "sgd": 1.85}
    assert {name: round(curves[name]["z"], 2) for name in stated} == stated
