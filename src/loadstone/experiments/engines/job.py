"""What every worker does: run specs and write each record durably before saying so.

Specs may be given twice, to the same worker or to another: what has its record is not run again.
"""

from __future__ import annotations

import json
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Lock

import jax

from loadstone.experiments.plan import batch_sizes
from loadstone.experiments.record import Record
from loadstone.experiments.result import begin
from loadstone.experiments.spec import Spec
from loadstone.experiments.store import Store
from loadstone.experiments.sweep import recorded
from loadstone.problems.budget import Budget

#: Hears of a run that its record is there, with its status, or why there is none.
Tell = Callable[[Spec, str | None, str], None]


def run_job(identities: str, folder: str, budget: int | None = None) -> list[tuple[str, str | None, str]]:
    """A job of a Dask worker: specs of one program, as JSON of their identities. For each its key, the status of its
    record or None, and why it failed."""
    specs = [Spec.from_identity(identity) for identity in json.loads(identities)]
    reports = []
    with Runner(Store(folder), budget, lambda spec, *report: reports.append((spec.key, *report))) as runner:
        runner.run(specs)
    return reports


class Runner:
    """Runs specs. Records are finished and written, and their disk waited for, while the next batch computes.

    An error of a run is told. An error of writing is raised: no later record could be kept either.
    """

    def __init__(self, store: Store, budget: int | None, tell: Tell) -> None:
        self._store, self._limit, self._tell = store, Budget(budget) if budget else None, tell
        self._platform = jax.default_backend()
        # A CPU that computes has one core to spare at most.
        self._writers = 1 if self._platform == "cpu" else 4
        self._pool, self._unwritten = ThreadPoolExecutor(self._writers), deque[Future]()
        self._one_at_a_time = Lock()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, kind: type | None, *_: object) -> None:
        with self._pool:
            if kind is None:
                self._wait()

    def run(self, specs: Sequence[Spec]) -> None:
        """Run specs of one program, the largest first."""
        # A budget is for one problem at a time.
        size, together = (1, 1) if self._limit else batch_sizes(specs, self._platform)
        for first in range(0, len(specs), size):
            missing = []
            for spec in specs[first : first + size]:
                if record := recorded(spec, self._store):
                    self._say(spec, str(record.result.get("status")))
                else:
                    missing.append(spec)
            # Attempts are made as the loop asks for them: a batch computes before those before it are waited for.
            for tasks in self._attempt(missing, together) if missing else ():
                self._wait(self._writers - 1)
                self._unwritten.extend(self._pool.submit(task) for task in tasks)

    def _attempt(self, batch: Sequence[Spec], together: int) -> Iterator[list[Callable[[], None]]]:
        """Run a batch, filled up to `together`; what is to be done with what came of it. If it fails as one, each run
        is tried alone."""
        try:
            begun, why = begin(batch, self._limit, together), ""
        except Exception as error:  # whatever a run fails with is told of that run; the others go on
            begun, why = [], sentence(error)
        # Out here nothing holds on to what the failed batch had on the device.
        if begun:
            yield [partial(self._keep, spec, finish) for spec, finish in zip(batch, begun)]
        elif len(batch) == together == 1:
            yield [partial(self._say, batch[0], None, why)]
        else:
            for spec in batch:
                yield from self._attempt([spec], 1)

    def _keep(self, spec: Spec, finish: Callable[[], Record]) -> None:
        try:
            record = finish()
        except Exception as error:  # as above; an error of writing comes after this, and ends the sweep
            return self._say(spec, None, sentence(error))
        self._store.put(record)
        self._say(spec, str(record.result.get("status")))

    def _say(self, spec: Spec, status: str | None, why: str = "") -> None:
        with self._one_at_a_time:
            self._tell(spec, status, why)

    def _wait(self, left: int = 0) -> None:
        """Until no more than `left` records are to be written. An error of writing comes before others, because it
        concerns all records."""
        tasks = self._unwritten
        while tasks and (len(tasks) > left or tasks[0].done()):
            if tasks[0].exception():
                errors = [error for task in tasks if (error := task.exception())]
                raise next((error for error in errors if isinstance(error, OSError)), errors[0])
            tasks.popleft()


def sentence(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]


def dask_setup(worker: object) -> None:
    """A worker process of this machine is ready when all is imported. From then on it speaks through its reports alone,
    and can be ended by others too; Ctrl-C is for whoever started it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGHUP})
