"""The Dask engine: the workers of a scheduler, on this machine or elsewhere. They must see the store's folder.

Each worker is handed its jobs by name, so that it is known what a worker was at when it died. Dask is not believed: a
run is done when its record is in the store. What Dask leaves silent (no worker, none with the resource, a dead
scheduler) ends the sweep with a sentence.
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

from loadstone.experiments.engines.job import run_job, sentence
from loadstone.experiments.plan import cost, jobs
from loadstone.experiments.record import Record
from loadstone.experiments.spec import Spec
from loadstone.experiments.store import Store
from loadstone.experiments.sweep import Progress, SweepError, recorded

try:
    import cryptography  # noqa: F401  with which Dask makes certificates
    from distributed import Client, Future, KilledWorker

    from loadstone.experiments.engines.elsewhere import Elsewhere
    from loadstone.experiments.engines.this_machine import ThisMachine
except ImportError as error:
    raise ValueError(f"several workers need Dask, pip install 'loadstone[cluster]' ({error}).") from error

#: A run whose worker died this often, with no other run beside it, counts as failed.
_ATTEMPTS = 3
_DIED = f"{_ATTEMPTS} workers died on it"
#: A worker that is at a job shorter than this has the next one already, and never waits for us.
_SHORT_SECONDS = 5.0
_LOOK_SECONDS, _ASK_SECONDS, _RESULT_SECONDS = 0.2, 0.5, 10.0
#: A scheduler that does not answer for so long is gone.
_GONE_SECONDS = 10.0
_NETWORK_LOOKS = 10


@dataclass
class DaskEngine:
    """Run specs on the workers of a scheduler, each run taking one of `resource` (such as 'GPU') if given. The sweep
    ends if there is no such worker for `patience` seconds."""

    scheduler: ThisMachine | Elsewhere
    resource: str | None = None
    patience: float = 60.0
    budget: int | None = None

    def __call__(self, specs: Sequence[Spec], store: Store, progress: Progress) -> None:
        # What it has to say we say ourselves, in a sentence.
        for name in ("distributed", "distributed.client", "distributed.gc", "tornado.application", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        client = self.scheduler.connect(len(specs))
        try:
            _Sweep(self, client, store, progress).run(specs)
        finally:
            self.scheduler.close(client)


@dataclass(frozen=True)
class _Job:
    specs: list[Spec]
    future: Future


class _Sweep:
    def __init__(self, engine: DaskEngine, client: Client, store: Store, progress: Progress) -> None:
        self.engine, self.client, self.store, self.progress = engine, client, store, progress
        self.jobs: deque[list[Spec]] = deque()
        #: Runs that may have brought a worker down. Each goes to a worker that has nothing else.
        self.suspects: deque[Spec] = deque()
        self.deaths: Counter[str] = Counter()
        #: What each worker has, by its address; what it is at comes first.
        self.given: dict[str, deque[_Job]] = {}
        self.workers: list[str] = []
        self.last_usable = time.monotonic()
        self.something_ended = threading.Event()
        self.watcher = _Watcher(client)

    def run(self, specs: Sequence[Spec]) -> None:
        self.watcher.start()
        self._wait_for_workers()
        self.jobs.extend(jobs(specs, len(self.workers)))
        while self.jobs or self.suspects or self.given:
            for address in self.workers:
                while specs := self._next(address):
                    self._give(address, specs)
            self.something_ended.wait(_LOOK_SECONDS)
            self.something_ended.clear()
            # After a scheduler is lost all futures seem done: they are looked at only while it answers.
            self._wait_for_workers()
            for address in list(self.given):
                self._collect(address)

    def _next(self, address: str) -> list[Spec] | None:
        """What to give to a worker now, if anything."""
        has = self.given.get(address, ())
        if self.suspects:
            return None if has else [self.suspects.popleft()]
        enough = not has or len(self.jobs) >= len(self.workers)
        return self.jobs.popleft() if self.jobs and enough and self._may_have_another(has) else None

    def _may_have_another(self, has: Sequence[_Job]) -> bool:
        suspected = any(self.deaths[spec.key] for job in has for spec in job.specs)
        return not has or (len(has) < 2 and not suspected and _seconds(has[0].specs) < _SHORT_SECONDS)

    def _give(self, address: str, specs: list[Spec]) -> None:
        identities = json.dumps([spec.identity() for spec in specs])
        needs = {self.engine.resource: 1} if self.engine.resource else None
        future = self.client.submit(
            run_job, identities, str(self.store.folder.absolute()), self.engine.budget,
            workers=[address], resources=needs, pure=False,
        )  # fmt: skip
        future.add_done_callback(lambda _: self.something_ended.set())
        self.given.setdefault(address, deque()).append(_Job(specs, future))
        self.progress.at(address, self.given[address][0].specs)

    def _collect(self, address: str) -> None:
        """Settle the jobs that a worker has done; if it is gone, have the others done by somebody else."""
        given = self.given[address]
        while given and given[0].future.done():
            self._settle(given.popleft())
        if given and address not in self.watcher.workers:
            at, *later = self.given.pop(address)
            self._again(at, _DIED)
            self.jobs.extendleft(job.specs for job in reversed(later))
            for job in (at, *later):
                job.future.release()
        elif not given:
            del self.given[address]
        if address in self.given:
            self.progress.at(address, given[0].specs)
        else:
            self.progress.current.pop(address, None)

    def _settle(self, job: _Job) -> None:
        """A job that ended: see what came of it."""
        if job.future.status == "error":
            error = job.future.exception()
            if isinstance(error, OSError):
                raise SweepError(f"the store {self.store.folder} cannot be written by a worker: {sentence(error)}.")
            return self._again(job, _DIED if isinstance(error, KilledWorker) else sentence(error))
        reports = _reports(job.future)
        if not reports:  # the scheduler forgot it, or its worker died with the answer
            self.jobs.appendleft(self._missing(job.specs))
        for spec in job.specs if reports else ():
            status, why = reports[spec.key]
            if status is not None and self._found(spec) is None:
                raise SweepError(
                    f"a worker says that it recorded {spec}, but its record is not in {self.store.folder.absolute()}: "
                    "the workers must see the same folder."
                )
            self.progress.tell(spec, status, why)

    def _again(self, job: _Job, why: str) -> None:
        """What a job left undone is to be done, each run with nothing beside it. One that was alone may be to blame."""
        for spec in self._missing(job.specs):
            self.deaths[spec.key] += len(job.specs) == 1
            if self.deaths[spec.key] < _ATTEMPTS:
                self.suspects.append(spec)
            else:
                self.progress.fail(spec, why)

    def _missing(self, specs: Sequence[Spec]) -> list[Spec]:
        """Those that have no record; of the others it is told that they are done."""
        missing = []
        for spec in specs:
            if record := recorded(spec, self.store):
                self.progress.finished(spec, str(record.result.get("status")))
            else:
                missing.append(spec)
        return missing

    def _found(self, spec: Spec) -> Record | None:
        """Network file systems remember for a while that a file was not there; listing its folder helps."""
        for _ in range(_NETWORK_LOOKS):
            if found := recorded(spec, self.store):
                return found
            time.sleep(1)
            self.store.missing([spec.key])
        return recorded(spec, self.store)

    def _wait_for_workers(self) -> None:
        """Return when there is a usable worker; give up when there was none for long, or the scheduler is gone."""
        while not self._usable():
            now = time.monotonic()
            if now - self.watcher.answered > _GONE_SECONDS:
                raise SweepError(f"the scheduler at {self.client.scheduler.address} is gone.")
            if now - self.last_usable > self.engine.patience:
                what = f"no worker with the resource {self.engine.resource}" if self.engine.resource else "no worker"
                raise SweepError(f"{what} was there for {self.engine.patience:.0f} seconds: start one, then run again.")
            time.sleep(_LOOK_SECONDS)

    def _usable(self) -> bool:
        there, resource = self.watcher.workers, self.engine.resource
        if self.client.status != "running" or time.monotonic() - self.watcher.answered > _GONE_SECONDS:
            return False
        self.engine.scheduler.look_after(bool(there))
        self.progress.lost_workers = self.watcher.lost
        self.workers = [
            address for address, one in there.items()
            if resource is None or one.get("resources", {}).get(resource, 0) >= 1
        ]  # fmt: skip
        self.progress.workers = max(1, len(self.workers))
        self.progress.watch(self.progress)
        if self.workers:
            self.last_usable = time.monotonic()
        return bool(self.workers)


class _Watcher(threading.Thread):
    """Asks the scheduler again and again who is there: one that hangs must not make the driver hang."""

    def __init__(self, client: Client) -> None:
        super().__init__(daemon=True)
        self.client, self.workers, self.lost = client, {}, 0
        self.answered = time.monotonic()

    def run(self) -> None:
        while self.client.status in ("running", "connecting"):
            with contextlib.suppress(OSError, TimeoutError, RuntimeError):  # gone for now, or for good: time will tell
                there = self.client.scheduler_info(n_workers=-1).get("workers", {})
                self.lost += len(self.workers.keys() - there.keys())
                self.workers, self.answered = there, time.monotonic()
            time.sleep(_ASK_SECONDS)


def _seconds(specs: Sequence[Spec]) -> float:
    return sum(cost(spec, "cpu") for spec in specs)


def _reports(future: Future) -> dict[str, tuple[str | None, str]]:
    """What the job said, if that can still be had."""
    with contextlib.suppress(OSError, TimeoutError, CancelledError):
        if future.status == "finished":
            return {key: (status, why) for key, status, why in future.result(timeout=_RESULT_SECONDS)}
    return {}
