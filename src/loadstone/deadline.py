"""The time that a piece of work has taken, and the time that it has left."""

from __future__ import annotations

import math
import time


class Deadline:
    """A clock that starts when it is made, and rings after so many seconds; with None it never does."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = math.inf if seconds is None else float(seconds)
        self._began = time.perf_counter()

    @property
    def taken(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self._began

    @property
    def left(self) -> float:
        """Seconds until the end: infinite if there is none, negative once it has passed."""
        return self.seconds - self.taken

    @property
    def is_over(self) -> bool:
        return self.left <= 0

    def share(self, share: float, least: float = 1e-3) -> float | None:
        """This share of the seconds that are left, but some time in any case: what a part of the work may take. None
        if there is no end."""
        return None if math.isinf(self.seconds) else max(least, share * self.left)
