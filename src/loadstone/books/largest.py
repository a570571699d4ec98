"""The largest k such that the first k facts of a sequence can be stored: a search by verdicts.

A further fact, or a further answer that competes, only adds inequalities. So if the first k facts are not storable, the
first k + 1 are not either, and two verdicts enclose the largest k that is. A plain bisection would not do: a verdict
may be 'undecided', and takes the longer the closer k is to the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from loadstone.deadline import Deadline
from loadstone.problems.arrays import Arrays
from loadstone.proofs.verdict import Outcome
from loadstone.solvers.decide import DEFAULT_LIMITS, ProofLimits, decide

#: Until k is bounded on both sides, it moves by this factor, then by its square and so on, up to the second.
_FACTOR, _LARGEST_FACTOR = 1.2, 4.0
#: One verdict may take this share of the time that is left.
_SHARE = 1 / 3


@dataclass(frozen=True)
class Fitting:
    """How many facts of a sequence fit.

    count: how many there are.
    fits: the first `fits` of them are proved to be storable.
    fails: the first `fails` of them are proved not to be; None if nothing was proved not to be.
    verdicts: how many verdicts it took.
    """

    count: int
    fits: int
    fails: int | None = None
    verdicts: int = 0

    @property
    def most(self) -> int:
        """The proved upper bound on how many fit."""
        return self.count if self.fails is None else self.fails - 1

    @property
    def is_exact(self) -> bool:
        """Whether `fits` is the largest number that fits."""
        return self.fits == self.most

    def is_within(self, width: float) -> bool:
        """Whether the gap between the two bounds is at most this share of `fits`."""
        return self.most - self.fits <= width * self.fits


def largest_fitting(
    instance: Callable[[int], Arrays],
    count: int,
    guess: float,
    deadline: Deadline,
    family: str = "full",
    width: float = 0.0,
    start: Float64[np.ndarray, "d d"] | None = None,
    fails: int | None = None,
    limits: ProofLimits = DEFAULT_LIMITS,
) -> Fitting:
    """The largest k <= count such that `instance(k)`, the first k facts, is storable.

    guess: where to begin.
    deadline: when to stop; each verdict may take a third of the time that is left.
    width: stop once the gap between the two bounds is at most this share of what fits.
    start: a W to begin with.
    fails: a number that is known not to fit.
    limits: when a verdict is given up.
    """
    fits, undecided, verdicts = 0, set[int](), 0
    most = Fitting(count, 0, fails).most
    k: int | None = int(np.clip(guess, 1, most)) if most else None
    factor = _FACTOR
    while k is not None and (left := deadline.left) > 0:
        verdict = decide(instance(k), limits, start=start, seconds=_SHARE * left, family=family)
        verdicts += 1
        if verdict.verdict != Outcome.UNDECIDED:  # where an undecided search ended is a poor start
            start = verdict.last
        if verdict.verdict == Outcome.STORABLE:
            fits, undecided = k, {number for number in undecided if number > k}
        elif verdict.verdict == Outcome.NOT_STORABLE:
            fails, undecided = k, {number for number in undecided if number < k}
        else:
            undecided.add(k)
        if Fitting(count, fits, fails).is_within(width):
            break
        k, factor = _next(fits, fails, undecided, count, factor), min(factor**2, _LARGEST_FACTOR)
    return Fitting(count, fits, fails, verdicts)


def _next(fits: int, fails: int | None, undecided: set[int], count: int, factor: float) -> int | None:
    """The next k to decide; None if none is left."""
    top = count + 1 if fails is None else fails
    if undecided:
        # Verdicts are hard close to the largest k that fits, and easy far from it: first both ends, then towards it.
        below, above = (fits + min(undecided)) // 2, (max(undecided) + top) // 2
        far = [below] if fits == 0 else [min(count, 2 * max(undecided))] if fails is None else []
        near = sorted((below, above), key=lambda k: min(abs(k - number) for number in undecided), reverse=True)
        return next((k for k in (*far, *near) if fits < k < top and k not in undecided), None)
    if fails is None:
        return min(count, int(np.ceil(fits * factor)))
    if fits == 0:
        return max(1, int(fails / factor)) if fails > 1 else None
    return (fits + top) // 2
