"""How fast a solver stores below a proved capacity: sizes, counts, and Newton's arithmetic."""

from types import SimpleNamespace

import pytest

from loadstone.problems.instance import Instance
from loadstone.problems.original import original
from loadstone.proofs.verdict import Outcome
from loadstone.runs.result import perform
from loadstone.runs.spec import Spec
from loadstone.runs.validity import check_values
from loadstone.solvers.decide import decide
from loadstone.streams.stream import Stream
from loadstone.tasks import approach as module
from loadstone.tasks.approach import DISTANCES, PassesNearCapacity, approach, newton_passes
from loadstone.tasks.capacity import exact_capacity

STREAM = Stream(1, 7)
AROUND = Instance(STREAM, 16)


@pytest.fixture(scope="module")
def p_c():
    return exact_capacity(AROUND).p_c


@pytest.mark.parametrize("optimiser", ["lbfgs", "newton"])
def test_what_reaches_the_capacity_stores_at_every_distance(optimiser, p_c):
    proved, attempts = approach(AROUND, PassesNearCapacity(optimiser))
    assert proved == p_c and [one.p for one in attempts] == [round((1 - x) * p_c) for x in DISTANCES]
    assert all(one.stored and one.status == "stored" and one.passes >= 1 for one in attempts)
    assert attempts[-1].p == p_c and attempts[-1].passes > attempts[0].passes


def test_a_search_that_fails_is_told_from_one_that_stores(p_c):
    """Few passes are enough far below the capacity and not at the capacity, which a proof says is storable."""
    _, attempts = approach(AROUND, PassesNearCapacity("perceptron", 50))
    assert attempts[0].stored and not attempts[-1].stored
    assert (attempts[-1].status, attempts[-1].passes) == ("out of passes", 50)
    assert decide(original(STREAM, p_c)).verdict == Outcome.STORABLE


def test_the_capacity_of_a_stream_is_proved_once_for_all_solvers_and_without_it_nothing_is_tried(monkeypatch):
    """No stream of this size has an undecided verdict, so it is made here."""
    proved = []
    monkeypatch.setattr(module, "exact_capacity", lambda instance: proved.append(instance) or SimpleNamespace(p_c=None))
    for optimiser in ("lbfgs", "newton"):
        (record,) = perform([Spec("original", 7, 15, 9, solver="approach", parameters={"optimiser": optimiser})])
        assert record.result["status"] == "undecided" and record.result["attempts"] == []
    assert proved == [Instance(Stream(9, 7), 15)]


def test_newton_that_does_not_decide_is_out_of_passes():
    _, attempts = approach(AROUND, PassesNearCapacity("newton", 1))
    assert (attempts[-1].stored, attempts[-1].status) == (False, "out of passes") and attempts[-1].passes >= 1


def test_newton_is_counted_by_its_multiplications():
    """Against the products themselves, written out: n = 5 inputs, m = 6 outputs, d = 3."""
    n, m, d = 5, 6, 3
    one_pass = n * m * d + n * m * d  # scores, mean outputs
    step = one_pass + n * m * d + n * m * d * d  # a pass, the scores of the step, second moments
    product = n * d * d + n * d * d  # of each input with V, and with its matrix of second moments
    dense = n * d**4 / 2 + d**6 / 6  # half of a symmetric matrix, and its Cholesky factor
    search = SimpleNamespace(steps=40, products=70, dense_solves=3)
    expected = 1 + (40 * step + 70 * product + 3 * dense) / one_pass
    assert newton_passes(search, n, m, d) == pytest.approx(expected, abs=0.5)


def test_a_record_holds_what_was_tried(p_c):
    spec = Spec("original", 7, 16, 1, solver="approach", parameters={"optimiser": "newton", "passes": 100})
    (record,) = perform([spec])
    assert (record.result["p_c"], record.result["status"], record.result["limit"]) == (p_c, "proved", 100)
    assert record.result["distances"] == list(DISTANCES) and record.result["attempts"][-1][:3] == [p_c, True, "stored"]
    check_values(record)


def test_three_associations_are_no_place_to_look_around():
    with pytest.raises(ValueError, match="p is 3, but must be a whole number of at least 4"):
        approach(Instance(STREAM, 3))
