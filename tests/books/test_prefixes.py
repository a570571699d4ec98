"""How many facts of a list fit, in their order: beside verdicts on every k."""

import numpy as np
import pytest

from loadstone.books.gathered import gather
from loadstone.books.prefixes import first_facts, first_obstacle, first_that_fit
from loadstone.proofs.verdict import Outcome
from loadstone.solvers.decide import decide


def gathered(seed, d=3, facts=14, answers=6):
    random = np.random.default_rng(seed)
    names = [f"s{fact}" for fact in range(facts)] + [f"a{answer}" for answer in range(answers)]
    vectors = dict(zip(names, random.standard_normal((len(names), d))))
    targets = [*range(answers), *random.integers(0, answers, facts - answers)]
    return gather([(f"s{fact}", f"a{target}") for fact, target in enumerate(targets)], vectors)


@pytest.mark.parametrize("seed", range(3))
def test_the_first_k_fit_and_the_next_does_not(seed):
    """A verdict on every k; the guess is far below, then far above."""
    facts = gathered(seed)
    verdicts = [decide(first_facts(facts, k)).verdict for k in range(1, len(facts) + 1)]
    stored = verdicts.index(Outcome.NOT_STORABLE) if Outcome.NOT_STORABLE in verdicts else len(facts)
    assert set(verdicts[:stored]) == {Outcome.STORABLE} and 2 <= stored < len(facts)
    for guess in (1, 10**6):
        found = first_that_fit(facts, guess, seconds=60)
        assert found.is_exact and found.fits == stored


def test_answers_compete_from_the_fact_that_brings_them():
    facts = gathered(0)
    assert [len(first_facts(facts, k).outputs) for k in (1, 2, 3, 6, 14)] == [2, 2, 3, 6, 6]
    assert len(first_facts(facts, 4).inputs) == 4 and first_facts(facts, 4).inputs.dtype == np.float64


def test_a_contradiction_is_seen_without_a_search():
    """The third and the fifth subject are the same, with different answers: four fit at most."""
    vectors = {name: row for name, row in zip("abcdwxyz", np.eye(8))} | {"c2": 3 * np.eye(8)[2]}
    facts = gather([("a", "w"), ("b", "x"), ("c", "y"), ("d", "z"), ("c2", "x")], vectors)
    found = first_that_fit(facts, 5, seconds=60)
    assert (found.fits, found.fails) == (4, 5)


def test_without_time_bounds_are_left_open():
    found = first_that_fit(gathered(0), 5, seconds=1e-9)
    assert (found.fits, found.most, found.is_exact) == (0, 14, False)


AXES = np.eye(6)


def test_the_first_of_several_obstacles_counts():
    """Two pairs of subjects exclude each other, and equal answers do so from the fact on that brings the second."""
    names = dict(zip("abcdef", AXES)) | {"a2": 2 * AXES[0], "c2": AXES[2]}
    names |= dict(zip("uvwxy", AXES + 1)) | {"w2": AXES[2] + 1}
    pairs = [("a", "u"), ("b", "v"), ("c", "w"), ("d", "x"), ("c2", "u"), ("e", "w2"), ("a2", "v")]
    assert first_obstacle(gather(pairs, names)) == (5, (2, 4))
    assert first_obstacle(gather(pairs[:4] + pairs[5:], names)) == (5, (2,))
    assert first_obstacle(gather(pairs[:4], names)) == (None, ())
    # Behind facts that are there already, and with answers that compete in any case.
    assert first_obstacle(gather(pairs, names), present=3, rivals=3) == (2, (2, 4))
    assert first_obstacle(gather(pairs[:4] + pairs[5:], names), present=2, rivals=2) == (3, (2,))
    assert first_obstacle(gather(pairs[:4] + pairs[5:], names), present=2, rivals=5) == (1, (2,))
    # What stands in the way of the facts that are there is no obstacle for others.
    assert first_obstacle(gather(pairs[:5], names), present=5, rivals=4) == (None, ())
