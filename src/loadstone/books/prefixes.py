"""How many facts of a list can be stored, taken in their order: the first k of them, with proof."""

from __future__ import annotations

import numpy as np

from loadstone.books.gathered import Gathered
from loadstone.books.largest import Fitting, largest_fitting
from loadstone.books.screening import obstructions
from loadstone.deadline import Deadline
from loadstone.problems.arrays import Arrays
from loadstone.solvers.decide import DEFAULT_LIMITS, ProofLimits


def first_that_fit(
    gathered: Gathered, guess: float, seconds: float, family: str = "full", limits: ProofLimits = DEFAULT_LIMITS
) -> Fitting:
    """The largest k such that some W stores the first k facts, among the answers of these facts.

    guess: about how many may fit.
    seconds: most time, about; then the number lies between two proved bounds.
    limits: when a verdict is given up.
    """
    deadline = Deadline(seconds)
    fails, _ = first_obstacle(gathered)
    instance = lambda k: first_facts(gathered, k)  # noqa: E731
    return largest_fitting(instance, len(gathered), guess, deadline, family, fails=fails, limits=limits)


def first_facts(gathered: Gathered, k: int, rivals: int = 2) -> Arrays:
    """The first k facts and the answers that they have, in float64. Answers come in the order in which they appear.

    rivals: this many answers compete in any case; at least two do, since a single one always wins.
    """
    first = gathered.arrays(range(k))
    answers = max(rivals, int(first.targets.max(initial=0)) + 1)
    return Arrays(first.inputs.astype(np.float64), first.outputs[:answers].astype(np.float64), first.targets)


def first_obstacle(gathered: Gathered, present: int = 0, rivals: int = 0) -> tuple[int | None, tuple[int, ...]]:
    """The least k that sorting alone shows not to fit, and the facts that show it: equal directions with different
    answers, or equal answers. A search would take long to see it.

    present: this many facts come before these k.
    rivals: this many answers compete in any case; any other competes from the fact on that brings it.
    """
    newest = np.maximum.accumulate(np.append(np.full(present, rivals - 1), gathered.targets[present:]))
    obstacles: list[tuple[int, tuple[int, ...]]] = []
    for obstruction in obstructions(gathered):
        facts, answers = zip(*obstruction.multipliers)
        competing = int(np.searchsorted(newest, max(answers))) + 1 if max(answers) >= rivals else 0
        count = max(max(facts) + 1, competing)
        if count > present and obstruction.is_proved(gathered, range(count)):
            obstacles.append((count - present, obstruction.facts))
    return min(obstacles, default=(None, ()))
