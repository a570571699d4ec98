"""A time limit that is checked before long work, not only after it.

One dense step of Newton's method may take minutes. How long it will take follows from its operations: from the speed of
the last piece of the same kind or, before the first, from that of a small product, measured there and then, so that a
busy machine counts as slow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import TypeVar

import jax

from loadstone.deadline import Deadline
from loadstone.threads import all_threads

#: Work of fewer operations is not timed. A trial product of matrices of this size takes a few milliseconds.
_SOON, _TRIAL_SIZE = 10**9, 400

Result = TypeVar("Result")


class OutOfTimeError(Exception):
    """Time is up, or would be before a piece of work is done."""


class Clock:
    """deadline: when to stop; speeds: operations a second of each kind of work."""

    def __init__(self, deadline: Deadline, xp: ModuleType) -> None:
        self.deadline, self.xp = deadline, xp
        self.speeds: dict[str, float] = {}

    def look(self) -> None:
        """Raise OutOfTimeError if time is up."""
        if self.deadline.is_over:
            raise OutOfTimeError

    def timed(self, kind: str, operations: float, share: float, work: Callable[[], Result]) -> Result:
        """Do a piece of work, unless it would take longer than there is time.

        operations: how many it takes.
        share: of the speed of a plain matrix product that such work reaches; used until a piece has been timed.
        """
        if math.isinf(self.deadline.seconds) or operations < _SOON:
            return work()
        if kind not in self.speeds:
            self.speeds[kind] = share * self._speed_of_a_product()
        if operations / self.speeds[kind] > self.deadline.left:
            raise OutOfTimeError
        clock = Deadline()
        result = jax.block_until_ready(work())
        self.speeds[kind] = operations / clock.taken
        return result

    def _speed_of_a_product(self) -> float:
        matrix = self.xp.ones((_TRIAL_SIZE, _TRIAL_SIZE), self.xp.float64)
        with all_threads(_TRIAL_SIZE, self.xp):
            jax.block_until_ready(matrix @ matrix)  # on a device the first also compiles
            clock = Deadline()
            jax.block_until_ready(matrix @ matrix)
            return 2 * _TRIAL_SIZE**3 / clock.taken
