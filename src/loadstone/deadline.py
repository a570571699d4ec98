"""The time that a piece of work has taken, and the time that it has left."""

from __future__ import annotations

import math
import time


class Deadline:
    """A stopwatch that starts when it is made, with a time limit in seconds; None means no limit."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = math.inf if seconds is None else float(seconds)
        self._began = time.perf_counter()

    @property
    def taken(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._began

    @property
    def left(self) -> float:
        """Seconds until the limit: infinite if there is none, negative once it has passed."""
        return self.seconds - self.taken

    @property
    def is_over(self) -> bool:
        return self.left <= 0

    def share(self, share: float, least: float = 1e-3) -> float | None:
        """The time limit of a part of the work: this share of the seconds left, at least `least`; None for no limit."""
        return None if math.isinf(self.seconds) else max(least, share * self.left)
