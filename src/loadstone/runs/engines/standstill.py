"""Worker processes that stand still: stopped by a signal, or waiting for a disk that is gone.

A long run is no standstill, whatever it computes and however long: its process uses the processor, and the thread that
talks to the scheduler wakes up. A process that does neither, for a minute, will not go on by itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress

import psutil

#: More time between two looks does not count: this process was itself stopped, or the machine was asleep.
_MOST_BETWEEN = 2.0


class Standstill:
    """What some processes have done since the last look.

    seconds: a process that did nothing for so long stands still.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._seen: dict[int, tuple[object, float]] = {}
        self._looked = time.monotonic()

    def among(self, processes: Iterable[int]) -> list[int]:
        """Look at the processes with these numbers, and return those that stand still."""
        now = time.monotonic()
        passed, self._looked = min(now - self._looked, _MOST_BETWEEN), now
        before, self._seen = self._seen, {}
        for process in processes:
            with suppress(psutil.Error):  # it has ended
                activity = _activity(psutil.Process(process))
                last, still = before.get(process, (None, 0.0))
                self._seen[process] = activity, still + passed if activity == last else 0.0
        return [process for process, (_, still) in self._seen.items() if still >= self._seconds]


def _activity(process: psutil.Process) -> object:
    """The processor time of all threads, and how often the first one, which talks to the scheduler, was woken."""
    return process.create_time(), process.cpu_times()[:2], process.num_ctx_switches()
