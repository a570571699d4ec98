"""The Dask engine: the workers of a scheduler, on this machine or elsewhere. They must see the store's folder.

We choose the worker of each job, and a worker has one job at a time. So when a worker dies, we know which runs it had.
Whatever Dask reports, a run is done only when its record is in the store. Where Dask would wait silently (no worker,
none with the resource, a dead scheduler), the sweep ends with one sentence that says why.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass

from loadstone.runs.plan import jobs
from loadstone.runs.spec import Spec
from loadstone.runs.store import Store
from loadstone.runs.sweep import Progress, SweepError
from loadstone.runs.worker import run_job, sentence

try:
    import cryptography  # noqa: F401  Dask makes certificates with it
    from distributed import Client, Future, KilledWorker

    from loadstone.runs.engines.elsewhere import Elsewhere
    from loadstone.runs.engines.this_machine import ThisMachine
except ImportError as error:
    raise ValueError(f"several workers need Dask: pip install 'loadstone[cluster]' ({error}).") from error

#: A run counts as failed after this many workers died while it was their only run.
_ATTEMPTS = 3
#: How long to wait for a job to end before the workers are checked, and for an answer of the scheduler.
_LOOK_SECONDS, _ANSWER_SECONDS = 0.5, 2.0
#: A scheduler that has not answered for this long counts as gone; a record may take this long to appear in a network
#: file system.
_GONE_SECONDS = _NETWORK_SECONDS = 10.0


@dataclass
class DaskEngine:
    """Run specs on the workers of a scheduler.

    scheduler: one that we start on this machine, or one that somebody else started.
    resource: the resource that a worker needs for a run, such as 'GPU'; None: none.
    patience: the sweep ends after this many seconds without such a worker.
    budget: bytes that each problem may take; None: half of the free memory.
    """

    scheduler: ThisMachine | Elsewhere
    resource: str | None = None
    patience: float = 60.0
    budget: int | None = None

    def __call__(self, specs: Sequence[Spec], store: Store, progress: Progress) -> None:
        # Silence Dask's own messages: we report every problem ourselves, in one sentence.
        for name in ("distributed", "distributed.client", "distributed.gc", "tornado.application", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        client = self.scheduler.connect(len(specs))
        try:
            _Sweep(self, client, store, progress).run(specs)
        finally:
            self.scheduler.close(client)


class _Sweep:
    def __init__(self, engine: DaskEngine, client: Client, store: Store, progress: Progress) -> None:
        self.engine, self.client, self.store, self.progress = engine, client, store, progress
        self.jobs: deque[list[Spec]] = deque()
        self.deaths: Counter[str] = Counter()
        #: The job of each worker, by its address.
        self.given: dict[str, tuple[list[Spec], Future]] = {}
        #: Addresses of all workers, and of those that have the resource.
        self.known: set[str] = set()
        self.usable: list[str] = []
        #: Where the scheduler is, or was.
        self.address = ""
        self.answered = self.last_usable = time.monotonic()
        self.something_ended = threading.Event()

    def run(self, specs: Sequence[Spec]) -> None:
        self._wait_for_workers()
        self.jobs.extend(jobs(specs, len(self.usable)))
        while self.jobs or self.given:
            # Free workers get their next job before we look at the results of the last one.
            ended = [name for name, (_, future) in self.given.items() if future.done() or name not in self.known]
            settled = [self.given.pop(address) for address in ended]
            for address in self.usable:
                if self.jobs and address not in self.given:
                    self._give(address, self.jobs.popleft())
            for specs, future in settled:
                self._settle(specs, future)
            # When the scheduler is lost, all jobs look done. This call then ends the sweep.
            self._wait_for_workers()
            if not settled:
                self.something_ended.wait(_LOOK_SECONDS)
            self.something_ended.clear()

    def _give(self, address: str, specs: list[Spec]) -> None:
        needs = {self.engine.resource: 1} if self.engine.resource else None
        identities, folder = json.dumps([spec.identity() for spec in specs]), str(self.store.folder.absolute())
        future = self.client.submit(
            run_job, identities, folder, self.engine.budget, workers=[address], resources=needs, pure=False
        )
        future.add_done_callback(lambda _: self.something_ended.set())
        self.given[address] = specs, future
        self.progress.at(address, specs)

    def _settle(self, specs: list[Spec], future: Future) -> None:
        """Deal with a job that ended, or whose worker died."""
        reports = {}
        with contextlib.suppress(OSError, TimeoutError, CancelledError):  # the worker may have died before it answered
            if future.status == "finished":
                reports = {key: report for key, *report in future.result(timeout=_GONE_SECONDS)}
        error = future.exception() if future.status == "error" else None
        if reports:
            done = [spec for spec in specs if reports[spec.key][0] is not None]
            self._see(done[-1:])  # one is enough: all are read at the end of the sweep
            for spec in specs:
                self.progress.ended(spec, *reports[spec.key])
        elif future.cancelled():  # by a scheduler that was restarted
            self.jobs.appendleft(specs)
        elif isinstance(error, OSError):
            raise SweepError(f"the store {self.store.folder} cannot be written by a worker: {sentence(error)}.")
        else:
            died = f"{_ATTEMPTS} workers died on it"
            self._again(specs, died if error is None or isinstance(error, KilledWorker) else sentence(error))
        future.release()

    def _see(self, specs: list[Spec]) -> None:
        """End the sweep if records that workers wrote do not appear in our folder."""
        end = time.monotonic() + _NETWORK_SECONDS
        for spec in specs:
            while self.store.get(spec.key) is None:
                if time.monotonic() > end:
                    folder = self.store.folder.absolute()
                    raise SweepError(f"the record of {spec} is not in {folder}: the workers must see the same folder.")
                # Network file systems cache for a while that a file was missing; listing its folder helps.
                time.sleep(1)
                self.store.missing([spec.key])

    def _again(self, specs: list[Spec], why: str) -> None:
        """Queue each unfinished run of a job again, alone. If a run was alone already, count the death against it."""
        for spec in specs:
            if record := self.store.get(spec.key):
                self.progress.ended(spec, str(record.result.get("status")))
                continue
            self.deaths[spec.key] += len(specs) == 1
            if self.deaths[spec.key] < _ATTEMPTS:
                self.jobs.appendleft([spec])
            else:
                self.progress.ended(spec, None, why)

    def _wait_for_workers(self) -> None:
        """Return when there is a usable worker. Give up if there has been none for long, or the scheduler is gone."""
        while not self._look():
            now = time.monotonic()
            if now - self.answered > _GONE_SECONDS:
                raise SweepError(f"the scheduler at {self.address} is gone.")
            if now - self.last_usable > self.engine.patience:
                what = f"no worker with the resource {self.engine.resource}" if self.engine.resource else "no worker"
                raise SweepError(f"{what} was there for {self.engine.patience:.0f} seconds: start one, then run again.")
            time.sleep(_LOOK_SECONDS)

    def _look(self) -> bool:
        """Ask the scheduler for its workers, without waiting if it hangs, and return whether one is usable."""
        scheduler = self.client.scheduler
        if scheduler is None:  # the client could not reach it again and has given up
            return False
        self.address = str(scheduler.address)
        try:
            answer = self.client.sync(scheduler.identity, n_workers=-1, callback_timeout=_ANSWER_SECONDS)
        except (OSError, TimeoutError):
            return False
        workers, resource = answer["workers"], self.engine.resource
        self.engine.scheduler.look_after(bool(workers))
        self.progress.lost_workers += len(self.known - workers.keys())
        self.known, self.answered = set(workers), time.monotonic()
        for address in list(self.progress.current.keys() - self.given.keys()):
            del self.progress.current[address]
        self.usable = [name for name in workers if resource is None or workers[name]["resources"].get(resource, 0) >= 1]
        self.progress.watch(self.progress)
        if self.usable:
            self.last_usable = self.answered
        return bool(self.usable)
