"""How many facts of a list can be stored, taken in their order: the first k of them, with proof."""

from __future__ import annotations

import time

import numpy as np

from loadstone.books.gathered import Gathered
from loadstone.books.nested import Fitting, largest_fitting
from loadstone.books.screening import obstructions
from loadstone.problems.arrays import Arrays
from loadstone.solvers.decide import DEFAULT_LIMITS, ProofLimits


def first_that_fit(
    gathered: Gathered, guess: float, seconds: float, family: str = "full", limits: ProofLimits = DEFAULT_LIMITS
) -> Fitting:
    """The largest k such that some W stores the first k facts, among the answers of these facts.

    guess: about how many may fit.
    seconds: most time, about; then the number lies between two proved bounds.
    limits: when to give up a verdict.
    """
    end = time.perf_counter() + seconds
    fails = _first_obstacle(gathered)
    instance = lambda k: first_facts(gathered, k)  # noqa: E731
    return largest_fitting(instance, len(gathered), guess, end, family, fails=fails, limits=limits)


def first_facts(gathered: Gathered, k: int) -> Arrays:
    """The first k facts, and the answers that they have. Answers come in the order in which they appear."""
    targets = gathered.targets[:k]
    # Two answers compete in any case: one alone always wins.
    answers = max(2, int(targets.max()) + 1)
    return Arrays(
        gathered.inputs[:k].astype(np.float64), gathered.outputs[:answers].astype(np.float64), targets.astype(int)
    )


def _first_obstacle(gathered: Gathered) -> int | None:
    """The least k of which sorting alone shows that it does not fit. A search would take long to see it."""
    newest = np.maximum.accumulate(gathered.targets)
    found = []
    for one in obstructions(gathered):
        facts, answers = zip(*one.multipliers)
        count = max(max(facts) + 1, int(np.searchsorted(newest, max(answers))) + 1)
        if one.is_proved(gathered, range(count)):
            found.append(count)
    return min(found, default=None)
