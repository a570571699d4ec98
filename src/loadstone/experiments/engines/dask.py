"""The Dask engine: the workers of a scheduler, on this machine or elsewhere. They must see the store's folder.

A worker has one job at a time, and it is we who say which worker gets it: so it is known what a worker was at when it
died. Dask is not believed: a run is done when its record is in the store. What Dask leaves silent (no worker, none with
the resource, a dead scheduler) ends the sweep with a sentence.
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
from loadstone.experiments.plan import jobs
from loadstone.experiments.spec import Spec
from loadstone.experiments.store import Store
from loadstone.experiments.sweep import Progress, SweepError, recorded

try:
    import cryptography  # noqa: F401  with which Dask makes certificates
    from distributed import Client, Future, KilledWorker

    from loadstone.experiments.engines.elsewhere import Elsewhere
    from loadstone.experiments.engines.this_machine import ThisMachine
except ImportError as error:
    raise ValueError(f"several workers need Dask: pip install 'loadstone[cluster]' ({error}).") from error

#: A run whose worker died this often, with no other run beside it, counts as failed.
_ATTEMPTS = 3
#: How long to wait for a job to end before looking after the workers, and for an answer of the scheduler.
_LOOK_SECONDS, _ANSWER_SECONDS = 0.5, 2.0
#: A scheduler that does not answer for so long is gone. So long a record may take to be seen through a network.
_GONE_SECONDS = _NETWORK_SECONDS = 10.0


@dataclass
class DaskEngine:
    """Run specs on the workers of a scheduler, each run taking one of `resource` (such as 'GPU') if given. The sweep
    ends if there is no such worker for `patience` seconds."""

    scheduler: ThisMachine | Elsewhere
    resource: str | None = None
    patience: float = 60.0
    budget: int | None = None

    def __call__(self, specs: Sequence[Spec], store: Store, progress: Progress) -> None:
        # What there is to say we say ourselves, in a sentence.
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
        #: Who is there, and who of them has the resource.
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
            # Whoever is free gets a job before we look at what came of the last one.
            ended = [one for one, (_, future) in self.given.items() if future.done() or one not in self.known]
            settled = [self.given.pop(address) for address in ended]
            for address in self.usable:
                if self.jobs and address not in self.given:
                    self._give(address, self.jobs.popleft())
            for specs, future in settled:
                self._settle(specs, future)
            # After a scheduler is lost all jobs seem done: here the sweep ends then.
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
        """See what came of a job that ended, or whose worker did."""
        reports = {}
        with contextlib.suppress(OSError, TimeoutError, CancelledError):  # its worker may have died with the answer
            if future.status == "finished":
                reports = {key: report for key, *report in future.result(timeout=_GONE_SECONDS)}
        error = future.exception() if future.status == "error" else None
        if reports:
            done = [spec for spec in specs if reports[spec.key][0] is not None]
            self._see(done[-1:])  # all are read at the end of the sweep
            for spec in specs:
                self.progress.tell(spec, *reports[spec.key])
        elif future.cancelled():  # by a scheduler that was started anew
            self.jobs.appendleft(specs)
        elif isinstance(error, OSError):
            raise SweepError(f"the store {self.store.folder} cannot be written by a worker: {sentence(error)}.")
        else:
            died = f"{_ATTEMPTS} workers died on it"
            self._again(specs, died if error is None or isinstance(error, KilledWorker) else sentence(error))
        future.release()

    def _see(self, specs: list[Spec]) -> None:
        """Refuse to go on if records that were made are not seen from here."""
        end = time.monotonic() + _NETWORK_SECONDS
        for spec in specs:
            while recorded(spec, self.store) is None:
                if time.monotonic() > end:
                    folder = self.store.folder.absolute()
                    raise SweepError(f"the record of {spec} is not in {folder}: the workers must see the same folder.")
                # Network file systems remember for a while that a file was not there; listing its folder helps.
                time.sleep(1)
                self.store.missing([spec.key])

    def _again(self, specs: list[Spec], why: str) -> None:
        """What a job left undone is to be done, each run by itself. One that was by itself already may be to blame."""
        for spec in specs:
            if record := recorded(spec, self.store):
                self.progress.tell(spec, str(record.result.get("status")))
                continue
            self.deaths[spec.key] += len(specs) == 1
            if self.deaths[spec.key] < _ATTEMPTS:
                self.jobs.appendleft([spec])
            else:
                self.progress.tell(spec, None, why)

    def _wait_for_workers(self) -> None:
        """Return when there is a usable worker; give up when there was none for long, or the scheduler is gone."""
        while not self._look():
            now = time.monotonic()
            if now - self.answered > _GONE_SECONDS:
                raise SweepError(f"the scheduler at {self.address} is gone.")
            if now - self.last_usable > self.engine.patience:
                what = f"no worker with the resource {self.engine.resource}" if self.engine.resource else "no worker"
                raise SweepError(f"{what} was there for {self.engine.patience:.0f} seconds: start one, then run again.")
            time.sleep(_LOOK_SECONDS)

    def _look(self) -> bool:
        """Ask the scheduler who is there. It may hang, so it is not waited for."""
        scheduler = self.client.scheduler
        if scheduler is None:  # the client could not reach it again and has given up
            return False
        self.address = str(scheduler.address)
        try:
            answer = self.client.sync(scheduler.identity, n_workers=-1, callback_timeout=_ANSWER_SECONDS)
        except (OSError, TimeoutError):
            return False
        there, resource = answer["workers"], self.engine.resource
        self.engine.scheduler.look_after(bool(there))
        self.progress.lost_workers += len(self.known - there.keys())
        self.known, self.answered = set(there), time.monotonic()
        for address in list(self.progress.current.keys() - self.given.keys()):
            del self.progress.current[address]
        self.usable = [one for one in there if resource is None or there[one]["resources"].get(resource, 0) >= 1]
        self.progress.watch(self.progress)
        if self.usable:
            self.last_usable = self.answered
        return bool(self.usable)
