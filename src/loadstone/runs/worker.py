"""What every worker does: run specs, and write each record durably before reporting it.

A spec may be given out twice, to the same worker or to another: if it has a record, it is not run again.
"""

from __future__ import annotations

import json
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import jax

from loadstone.problems.budget import Budget
from loadstone.runs.plan import batch_sizes
from loadstone.runs.record import Record
from loadstone.runs.result import begin
from loadstone.runs.spec import Spec
from loadstone.runs.store import Store

#: Called by any thread when a run has its record, with its status, or (status None) why there is none.
Report = Callable[[Spec, str | None, str], None]


def run_job(identities: str, folder: str, budget: int | None = None) -> list[tuple[str, str | None, str]]:
    """A job of a Dask worker: run specs of one program, given as JSON of their identities. Returns for each its key,
    the status of its record (None if it failed), and why it failed."""
    specs = [Spec.from_identity(identity) for identity in json.loads(identities)]
    reports = []
    with Runner(Store(folder), budget, lambda spec, *ended: reports.append((spec.key, *ended))) as runner:
        runner.run(specs)
    return reports


class Runner:
    """Runs specs. While the next batch computes, threads finish the records and write them to the disk.

    If a run fails, that is reported. If writing fails, the error is raised: no later record could be written either.
    Before each batch `is_over` is asked whether to stop.
    """

    def __init__(
        self, store: Store, budget: int | None, report: Report, is_over: Callable[[], bool] = lambda: False
    ) -> None:
        self._store, self._limit, self._report, self._is_over = (
            store,
            Budget(budget) if budget else None,
            report,
            is_over,
        )
        self._platform = jax.default_backend()
        # While a CPU computes, it has at most one core to spare.
        self._writers = 1 if self._platform == "cpu" else 4
        self._pool, self._unwritten = ThreadPoolExecutor(self._writers), deque[Future]()

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
            if self._is_over():
                return
            missing = []
            for spec in specs[first : first + size]:
                if record := self._store.get(spec.key):
                    self._report(spec, str(record.result.get("status")), "")
                else:
                    missing.append(spec)
            # `_attempt` is a generator: a batch computes first, and only then do we wait for earlier records.
            for tasks in self._attempt(missing, together) if missing else ():
                self._wait(self._writers - 1)
                self._unwritten.extend(self._pool.submit(task) for task in tasks)

    def _attempt(self, batch: Sequence[Spec], together: int) -> Iterator[list[Callable[[], None]]]:
        """Run a batch, filled up to `together`, and yield the tasks that finish and write its records. If the batch
        fails, each of its runs is tried alone."""
        try:
            begun, why = begin(batch, self._limit, together), ""
        except Exception as error:  # any error is reported for this run; the others go on
            begun, why = [], sentence(error)
        # Outside of the `except` block nothing keeps the arrays of a failed batch on the device.
        if begun:
            yield [partial(self._keep, spec, finish) for spec, finish in zip(batch, begun)]
        elif len(batch) == together == 1:
            yield [partial(self._report, batch[0], None, why)]
        else:
            for spec in batch:
                yield from self._attempt([spec], 1)

    def _keep(self, spec: Spec, finish: Callable[[], Record]) -> None:
        try:
            record = finish()
        except Exception as error:  # as above; an error of `put` below ends the sweep
            return self._report(spec, None, sentence(error))
        self._store.put(record)
        self._report(spec, str(record.result.get("status")), "")

    def _wait(self, left: int = 0) -> None:
        """Wait until at most `left` records are still to be written. If there are several errors, one of writing is
        raised first, because it concerns all records."""
        tasks = self._unwritten
        while tasks and (len(tasks) > left or tasks[0].done()):
            if tasks[0].exception():
                errors = [error for task in tasks if (error := task.exception())]
                raise next((error for error in errors if isinstance(error, OSError)), errors[0])
            tasks.popleft()


def sentence(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]


def dask_setup(worker: object) -> None:
    """Dask calls this in a worker process of this machine once everything is imported. From then on the worker prints
    nothing and can be ended by SIGTERM and SIGHUP. Ctrl-C stays blocked: the command that started it handles that."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGHUP})
