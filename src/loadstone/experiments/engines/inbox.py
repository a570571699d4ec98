"""The jobs of a worker as they come in: each can be rehearsed while the one before it runs."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

Job = Sequence[Mapping[str, object]]


class Inbox:
    """Filled by one thread and emptied by another; `rehearse(before, job)` is called in a third."""

    def __init__(self, rehearse: Callable[[Job, Job], object] | None = None) -> None:
        self._rehearse, self._rehearsals = rehearse, ThreadPoolExecutor(1)
        self._waiting: queue.SimpleQueue[tuple[Job, Future | None]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        #: The job that came last, unless it is done.
        self._last: Job | None = None

    def put(self, job: Job) -> None:
        with self._lock:
            before, self._last = self._last, job
        rehearsed = before is not None and self._rehearse is not None
        self._waiting.put((job, self._rehearsals.submit(self._rehearse, before, job) if rehearsed else None))

    def take(self) -> Job:
        """The next job, when there is one and its rehearsal is over. A mistake of ours in that is raised here."""
        job, rehearsal = self._waiting.get()
        if rehearsal:
            rehearsal.result()
        return job

    def done(self, job: Job) -> None:
        """With nothing to run there is nothing to rehearse beside."""
        with self._lock:
            if self._last is job:
                self._last = None
