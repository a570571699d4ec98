"""The local engine: worker processes on this machine, one run at a time each.

Processes, because one run seldom keeps several cores busy, because a run that the system kills for its memory takes
only its worker with it, and because an interrupt can end them at any moment: the store is safe against that.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from loadstone.experiments.engines.gpu import gpu_expected
from loadstone.experiments.plan import Plan, batch_size, is_short, writers
from loadstone.experiments.spec import Spec
from loadstone.experiments.store import Store
from loadstone.experiments.sweep import Progress, SweepError

#: A run whose worker died this often counts as failed; as many workers in a row that never got ready end the sweep.
_ATTEMPTS = 3
#: While a worker is at short runs it has the next job already: it never waits for the driver, and can rehearse.
_JOBS_AHEAD = 2


@dataclass
class LocalEngine:
    """Run specs in `workers` processes, each with its share of the cores. `budget` is in bytes for each."""

    workers: int = 1
    budget: int | None = None

    def __call__(self, specs: Sequence[Spec], store: Store, progress: Progress) -> None:
        progress.workers = self.workers
        with tempfile.TemporaryDirectory(prefix="loadstone-programs-", ignore_cleanup_errors=True) as programs:
            _Sweep(self, Plan(specs, self.workers), store, progress, programs).run()

    def start(self, store: Store, programs: str) -> subprocess.Popen:
        """Start a worker. Workers share their compiled programs in a folder that lives as long as the sweep."""
        # -P: files in the current folder must not pass for modules.
        command = [sys.executable, "-P", "-m", "loadstone.experiments.engines.worker", str(store.folder)]
        cores = max(1, len(os.sched_getaffinity(0)) // self.workers)
        shared = {"JAX_COMPILATION_CACHE_DIR": programs, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        if self.workers > 1 and "XLA_CLIENT_MEM_FRACTION" not in os.environ:
            # Each would take three quarters of a GPU's memory. JAX knows the setting by two names and wants only one.
            shared["XLA_PYTHON_CLIENT_MEM_FRACTION"] = f"{0.75 / self.workers:.4f}"
        # Beside a GPU several records are finished at a time: a core each, and one is left for whoever launches.
        threads = 1 if gpu_expected() else cores
        # NPROC is how XLA learns the size of its pool of threads. What the user has set for the programs comes first.
        environment = shared | os.environ | {"NPROC": str(cores), "OPENBLAS_NUM_THREADS": str(threads)}
        return subprocess.Popen(
            command + ([str(self.budget)] if self.budget else []),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
            text=True, bufsize=1, start_new_session=True,  # an interrupt is for the driver, which then ends them
        )  # fmt: skip


@dataclass
class _Worker:
    process: subprocess.Popen
    platform: str = ""
    shape: Spec | None = None
    #: Jobs that it has, the one that it is at first; each by key, without the runs that it has reported.
    jobs: deque[dict[str, Spec]] = field(default_factory=deque)
    #: Whether its last job was a run that may have brought a worker down.
    suspect: bool = False
    dismissed: bool = False
    last_words: deque[str] = field(default_factory=lambda: deque(maxlen=5))
    listeners: list[threading.Thread] = field(default_factory=list)

    def give(self, specs: Sequence[Spec]) -> None:
        self.jobs.append({spec.key: spec for spec in specs})
        self.shape = specs[0].shape
        with contextlib.suppress(BrokenPipeError):  # if it died just now, its listener says so
            self.process.stdin.write(json.dumps([spec.identity() for spec in specs]) + "\n")

    def close(self) -> int:
        """Wait for its end and for its last words; its exit code."""
        code = self.process.wait()
        for thread in self.listeners:
            thread.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        return code


class _Sweep:
    def __init__(self, engine: LocalEngine, plan: Plan, store: Store, progress: Progress, programs: str) -> None:
        self.engine, self.plan, self.store, self.progress, self.programs = engine, plan, store, progress, programs
        self.events: queue.SimpleQueue[tuple[_Worker, str | None]] = queue.SimpleQueue()
        self.workers: list[_Worker] = []
        self.deaths: Counter[str] = Counter()
        self.stillborn = 0

    def run(self) -> None:
        try:
            for _ in range(min(self.engine.workers, len(self.plan))):
                self._hire()
            while self.workers:
                worker, line = self.events.get()
                if line is None:
                    self._bury(worker)
                else:
                    self._hear(worker, json.loads(line))
        finally:
            for worker in self.workers:
                worker.process.kill()
                worker.close()

    def _hire(self) -> None:
        worker = _Worker(self.engine.start(self.store, self.programs))
        self.workers.append(worker)
        worker.listeners = [
            threading.Thread(target=self._listen, args=(worker,), daemon=True),
            threading.Thread(target=worker.last_words.extend, args=(worker.process.stderr,), daemon=True),
        ]
        for thread in worker.listeners:
            thread.start()

    def _listen(self, worker: _Worker) -> None:
        for line in worker.process.stdout:
            self.events.put((worker, line))
        self.events.put((worker, None))

    def _hear(self, worker: _Worker, report: dict[str, object]) -> None:
        if "stop" in report:
            raise SweepError(str(report["stop"]))
        if "ready" in report:
            worker.platform = str(report["platform"])
            self.progress.runs_on(worker.platform)
            self.stillborn = 0
        if "key" in report:
            spec = worker.jobs[0].pop(str(report["key"]))
            if report["done"]:
                self.progress.finished(spec, str(report["status"]))
            else:
                self.progress.fail(spec, str(report["why"]))
        if "free" in report:
            worker.jobs.popleft()
        if "ready" in report or "free" in report:
            self._employ(worker)

    def _employ(self, worker: _Worker) -> None:
        while not worker.jobs or self._may_look_ahead(worker):
            worker.suspect = self.plan.has_suspects
            specs = self.plan.take(worker.shape, worker.platform)
            if not specs:
                break
            worker.give(specs)
        if worker.jobs:
            first, *others = worker.jobs[0].values()
            self.progress.current[id(worker)] = f"{first}" + (f" and {len(others)} more" if others else "")
        elif not worker.dismissed:
            # With its input closed it ends. What others lose after that is given to those who are left, or to new ones.
            self.progress.current.pop(id(worker), None)
            worker.dismissed = True
            worker.process.stdin.close()

    def _may_look_ahead(self, worker: _Worker) -> bool:
        """While a worker is at short runs. What may have brought one down goes to a worker that has nothing else, not
        even to rehearse."""
        suspected = worker.suspect or self.plan.has_suspects
        enough = len(self.plan) >= self.engine.workers and len(worker.jobs) < _JOBS_AHEAD
        return enough and not suspected and is_short(worker.shape, worker.platform)

    def _bury(self, worker: _Worker) -> None:
        self.workers.remove(worker)
        self.progress.current.pop(id(worker), None)
        self.plan.leave(worker.shape)
        code = worker.close()
        if worker.dismissed:
            return
        self.progress.lost_workers += 1
        how = _how_it_ended(code, worker.last_words)
        if not worker.platform:
            self.stillborn += 1
            if self.stillborn >= _ATTEMPTS:
                raise SweepError(f"no worker starts: {how}.")
        at, later = _begun(worker.jobs, worker.platform or "cpu")
        if len(at) == 1 and worker.platform:
            # It had nothing else: that run may have brought it down. Of several any may have, so each goes out alone.
            self.deaths[at[0].key] += 1
            if self.deaths[at[0].key] >= _ATTEMPTS:
                self.progress.fail(at.pop(), f"{_ATTEMPTS} workers died on it, the last one {how}")
        self.plan.put_back(later)
        self.plan.put_back(at, alone=True)
        if len(self.plan) and len(self.workers) < self.engine.workers:
            self._hire()


def _begun(jobs: Sequence[dict[str, Spec]], platform: str) -> tuple[list[Spec], list[Spec]]:
    """Of the jobs of a dead worker, without what it had reported: what it may have been at, and the rest."""
    first, *others = [list(job.values()) for job in jobs] or [[]]
    # While one batch trains, the records of the one before are written, and of as many runs more as there are writers
    # but one.
    begun = 2 * batch_size(first[0], platform) + writers(platform) - 1 if first else 0
    at, later = first[:begun], first[begun:]
    for job in others:
        # An accelerator rehearses the first batch of the next job meanwhile.
        rehearsed = batch_size(job[0], platform) if job and platform != "cpu" else 0
        at, later = at + job[:rehearsed], later + job[rehearsed:]
    return at, later


def _how_it_ended(code: int, last_words: deque[str]) -> str:
    if code < 0:
        return f"by signal {signal.Signals(-code).name}"
    words = " ".join(" ".join(last_words).split())[-300:]
    return f"with exit code {code}" + (f" ({words})" if words else "")
