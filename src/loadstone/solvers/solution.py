"""What a solver returns: a memory, and how its search ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from loadstone.measurements.accuracy import Measurement, TopScores
from loadstone.readable import readable


class Status(StrEnum):
    """How a search ended. None of these says that the associations cannot be stored: only a proof does.

    STORED: every margin is positive, measured once more in the memory that is returned.
    STOPPED: another stop rule is met, an accuracy of 99.9 % or of 99 %.
    SCHEDULE_ENDED: the paper's schedule is over.
    MINIMUM: the gradient says that nothing more can be gained, or, in a bisection, that not everything will be stored
        (tasks/multi_start.py). Above the capacity that is what a search ends with.
    OUT_OF_DIGITS: the last precision has too few digits to go on, or for the memory to store what the search did.
    OUT_OF_PASSES, OUT_OF_TIME: a limit is reached.
    DIVERGED: the loss is no longer a finite number.
    CLOSED_FORM, INITIAL: there was no search.
    """

    STORED = "stored"
    STOPPED = "stop rule met"
    SCHEDULE_ENDED = "step limit"
    MINIMUM = "minimum reached"
    OUT_OF_DIGITS = "out of digits"
    OUT_OF_PASSES = "out of passes"
    OUT_OF_TIME = "out of time"
    DIVERGED = "diverged"
    CLOSED_FORM = "closed form"
    INITIAL = "initial"


@dataclass(frozen=True)
class Solution:
    """A memory, how its search ended, and what the memory stores.

    memory: the memory that the last pass of the search measured.
    status: why the search ended.
    passes: how many passes it took. As a rule each measures the memory, which moves once between two of them; a solver
        that also passes over parts of the problem counts these passes too.
    loss: the mean loss at each memory that was measured.
    accuracy: the share of associations stored in each memory that was measured.
    seconds: time taken, compilation included, with that of earlier parts if there is a checkpoint; for a batch, its
        time divided by its size.
    problem: what was stored, in words, and whether its numbers were rounded.
    top_scores: of the memory as it is returned, from one pass more after the search; None if a solver was called
        directly, without `solve`.
    """

    memory: Any = field(repr=False)
    status: Status
    passes: int
    loss: Float[np.ndarray, "measured"] = field(repr=False)
    accuracy: Float[np.ndarray, "measured"] = field(repr=False)
    seconds: float
    problem: str = ""
    top_scores: TopScores | None = field(default=None, repr=False)

    __repr__ = readable

    @cached_property
    def measured(self) -> Measurement:
        """How much of the problem the memory stores, as `measure` gives it."""
        assert self.top_scores is not None, "a solver was called directly: measure its memory"
        return self.top_scores.measurement()

    @property
    def steps(self) -> int:
        """How often the memory moved."""
        return max(0, len(self.loss) - 1)
