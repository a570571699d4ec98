"""Which precisions a search goes through."""

import pytest

from loadstone.problems.decoupled import decoupled
from loadstone.problems.original import original
from loadstone.problems.padded import padded
from loadstone.solvers import loop
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.search import drop_slower
from loadstone.solvers.solve import solve
from loadstone.streams.stream import Stream

LADDER = ("float16", "split", "float32", "float64")
WITHOUT = ("float16", "float32", "float64")


def test_numbers_are_split_only_for_many_scores_of_shared_outputs(monkeypatch):
    """Decoupled outputs are read in float32 in any case, so split passes would take as long as those in float32."""
    monkeypatch.setattr("loadstone.kernels.devices.SOME_SCORES", 400)
    longer = original(Stream(0, 5), 20)
    assert [drop_slower(LADDER, original(Stream(0, 5), p)) for p in (19, 20)] == [WITHOUT, LADDER]
    assert drop_slower(LADDER, padded(longer, 12)) == drop_slower(LADDER, longer.weighted([1] * 20)) == LADDER
    answers = original(Stream(0, 5), 50, answers=7), original(Stream(0, 5), 50, answers=8)
    assert [drop_slower(LADDER, one) for one in answers] == [WITHOUT, LADDER]
    for hold in ("stored", "regenerated"):
        assert drop_slower(LADDER, decoupled(Stream(0, 5), 30, hold=hold)) == WITHOUT


@pytest.mark.parametrize("few, used", [(12**2 + 1, ["float16", "float32"]), (12**2, ["float16", "split"])])
def test_a_search_that_runs_out_of_digits_goes_on_to_the_next_that_is_worthwhile(few, used, monkeypatch):
    """Here every search has run out of digits at once."""
    seen, program_of = [], loop.program_of
    monkeypatch.setattr(LBFGS, "precisions", lambda self: LADDER)
    monkeypatch.setattr(LBFGS, "out_of_digits", lambda self, state: state.trials >= 0)
    monkeypatch.setattr("loadstone.kernels.devices.SOME_SCORES", few)
    monkeypatch.setattr(loop, "program_of", lambda *given: seen.append(given[2]) or program_of(*given))
    solve(original(Stream(0, 4), 12))
    assert seen[:2] == used
    # Whoever asks for a precision gets it.
    seen.clear()
    solve(original(Stream(0, 4), 12), precision="split")
    assert seen == ["split"]
