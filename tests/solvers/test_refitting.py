"""Storing again: what fits is kept in its order, by proof, and old facts first."""

import numpy as np
import pytest

from loadstone.problems.arrays import Arrays
from loadstone.proofs.conditioned import Conditioned
from loadstone.solvers import refitting
from loadstone.solvers.decide import ProofLimits, decide
from loadstone.solvers.refitting import refit


def drawn(n, d, seed=0):
    random = np.random.default_rng(seed)
    return Arrays(random.standard_normal((n, d)), random.standard_normal((n, d)), np.arange(n))


def part(facts, rows):
    return Arrays(facts.inputs[rows], facts.outputs, facts.targets[rows])


def by_brute_force(facts, order):
    """Each fact in turn, kept if it is proved to fit beside those that were kept before."""
    kept = []
    for row in order:
        if decide(part(facts, [*kept, row])).verdict == "storable":
            kept.append(row)
    return kept


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (1, 2))])
def test_what_is_kept_is_what_fits_one_after_the_other(seed):
    facts = drawn(16, 4, seed)
    for order in (list(range(16)), list(range(15, -1, -1))):
        found = refit(facts, order, np.zeros((4, 4)))
        assert list(found.kept) == by_brute_force(facts, order) and not found.undecided
        assert len(found.kept) < 16 and {*found.kept, *found.impossible} == set(order)
        assert Conditioned(part(facts, list(found.kept))).witness(found.weights) is not None


def test_everything_is_kept_if_a_proof_says_that_it_can_be():
    facts = drawn(12, 6)
    start = decide(part(facts, list(range(8)))).witness
    assert decide(facts).verdict == "storable" and Conditioned(facts).witness(start) is None
    found = refit(facts, range(12), start)
    assert found.kept == tuple(range(12)) and not found.impossible and not found.undecided
    # A W that stores everything stays as it is.
    again = refit(facts, range(12), found.weights)
    assert np.array_equal(again.weights, found.weights)


def test_one_number_of_facts_is_compiled_where_search_comes_first(monkeypatch):
    """Facts are repeated to one length, which changes no verdict."""
    facts, seen = drawn(10, 4), []
    monkeypatch.setattr(refitting, "is_compiled", lambda facts: True)

    def noted(arrays, seconds, **more):
        seen.append((len(arrays.targets), seconds))
        return decide(arrays, **more)

    monkeypatch.setattr(refitting, "decide", noted)
    found = refit(facts, range(10), np.zeros((4, 4)), seconds=1000)
    # And no verdict takes all of the time, so that one hard fact leaves some for the others.
    assert {n for n, _ in seen} == {10} and max(seconds for _, seconds in seen) < 900
    assert list(found.kept) == by_brute_force(facts, range(10))


def test_when_time_is_up_the_rest_is_undecided():
    facts = drawn(60, 10)
    start = decide(part(facts, list(range(15)))).witness
    found = refit(facts, range(60), start, seconds=1e-6)
    assert np.array_equal(found.weights, start) and not found.kept and found.undecided == tuple(range(60))
    found = refit(facts, range(60), start, seconds=0.3)
    assert not found.kept or Conditioned(part(facts, list(found.kept))).witness(found.weights) is not None
    with pytest.raises(ValueError, match="seconds is 0"):
        refit(facts, range(3), start, seconds=0)


@pytest.mark.parametrize("steps, loses", [(1, True), (2, True), (3, False)])
def test_of_an_unfinished_search_and_the_old_memory_the_one_that_stores_more_is_kept(steps, loses, monkeypatch):
    """Verdicts that end after so many steps of Newton's method, as if time were up. They prove nothing, and after one
    or two steps the search has lost some of the old facts."""
    facts = drawn(50, 16)
    start = decide(part(facts, list(range(40)))).witness
    last = decide(facts, ProofLimits(steps=steps), start=start).last
    there = [row for row in range(50) if Conditioned(part(facts, [row])).witness(last) is not None]
    before = [row for row in range(50) if Conditioned(part(facts, [row])).witness(start) is not None]
    assert (not {*range(40)} <= {*there}) is loses and {*range(40)} <= {*before}
    unfinished = lambda *given, seconds, **more: decide(*given, ProofLimits(steps=steps), **more)  # noqa: E731
    monkeypatch.setattr(refitting, "decide", unfinished)
    found = refit(facts, range(50), start)
    assert len(found.kept) >= max(len(before), len(there)) and not found.impossible
    assert Conditioned(part(facts, list(found.kept))).witness(found.weights) is not None
    assert sorted([*found.kept, *found.undecided]) == list(range(50))
    if steps > 1:
        assert len(found.kept) > len(before)
    if not loses:
        assert {*range(40)} <= {*found.kept}


def test_within_a_linear_family():
    facts = drawn(9, 5)
    found = refit(facts, range(9), np.zeros((5, 5)), family="symmetric")
    assert len(found.kept) < 9 and np.allclose(found.weights, found.weights.T)
    assert decide(part(facts, list(found.kept)), family="symmetric").verdict == "storable"
    for row in found.impossible:
        before = [one for one in found.kept if one < row]
        assert decide(part(facts, [*before, row]), family="symmetric").verdict == "not storable"


@pytest.mark.parametrize(
    "n, d, seed, steps, count", [(12, 5, 1, 1, 7), (12, 5, 1, 2, 9), (12, 5, 2, 3, 11), (20, 8, 0, 1, 14)]
)
def test_where_facts_are_undecided_the_memory_that_stores_most_is_taken(n, d, seed, steps, count, monkeypatch):
    """It is one of an unfinished search, and stores more than could be kept one after the other."""
    facts, seen = drawn(n, d, seed), []

    def unfinished(*given, seconds, **more):
        seen.append(decide(*given, ProofLimits(steps=steps), **more))
        return seen[-1]

    monkeypatch.setattr(refitting, "decide", unfinished)
    found = refit(facts, range(n), np.zeros((d, d)))
    assert any(one.last is found.weights for one in seen if one.verdict == "undecided")
    stores = [row for row in range(n) if Conditioned(part(facts, [row])).witness(found.weights) is not None]
    assert list(found.kept) == stores and len(stores) == count
    assert not found.impossible and {*found.kept, *found.undecided} == {*range(n)}
