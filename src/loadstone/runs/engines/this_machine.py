"""Dask on this machine: we start the scheduler and the worker processes, and they end when we do."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing import active_children, resource_tracker

import dask
from distributed import Client, LocalCluster, Status

from loadstone.leftovers import temporary_folder
from loadstone.runs.engines.machine import deaf_to_interrupts, gpu_expected
from loadstone.runs.engines.standstill import Standstill
from loadstone.runs.sweep import SweepError

#: These settings switch off some habits of a LocalCluster: it gives up on a worker that was away for 15 s, restarts one
#: that has not answered for 5 minutes (a long run may be why), profiles every running function a hundred times a
#: second, looks at every process fifty times a second, makes the memory allocator return every free page, and shows the
#: state of the scheduler and of every worker to anyone on this machine who asks by HTTP.
_SETTINGS: dict[str, object] = {
    "distributed.deploy.lost-worker-timeout": "520 weeks",
    "distributed.scheduler.worker-ttl": None,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.nanny.pre-spawn-environ": {},
}
#: The sweep ends if this many workers fail to start.
_ATTEMPTS = 3


@dataclass
class ThisMachine:
    """Worker processes, each with its share of the cores. One that dies is restarted, and all end with this process,
    however it ends.

    They talk over the loopback, with a certificate made for this one sweep: anyone who can talk to a scheduler can run
    code on its workers, and this machine may have other users.

    workers: how many.
    standstill: a worker that does nothing at all for so many seconds, because it was stopped, is ended and replaced.
    """

    workers: int
    standstill: float = 60.0

    def __post_init__(self) -> None:
        self._still = Standstill(self.standstill)

    def connect(self, most: int) -> Client:
        """Start the scheduler and at most `most` workers, which will be ready a little later."""
        with ExitStack() as started:
            outer = dict(os.environ)
            started.callback(os.environ.update, outer)
            started.callback(os.environ.clear)
            folder = started.enter_context(temporary_folder())
            os.environ |= environment(self.workers, folder, outer)
            started.enter_context(dask.config.set(_SETTINGS))
            self._others = {child.pid for child in active_children()}
            # Otherwise Python starts this helper with the first worker, which unblocks Ctrl-C in that thread.
            resource_tracker.ensure_running()
            with deaf_to_interrupts():
                self._cluster = LocalCluster(
                    n_workers=0, threads_per_worker=1, memory_limit=0, security=True, dashboard_address=None,
                    local_directory=folder, preload="loadstone.runs.worker",
                    # Any free port: another sweep may already use Dask's default one.
                    scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                )  # fmt: skip
                started.callback(self._end)
                client = Client(self._cluster, set_as_default=False)
                started.callback(_close, client)
            self._cluster.scale(min(self.workers, most))
            self._started, self._failed = started.pop_all(), 0
        return client

    def look_after(self, anyone_there: bool) -> None:
        """Replace workers that failed to start; Dask itself restarts only those that had been ready. End those that
        stand still: Dask then restarts them."""
        workers, ended = self._cluster.workers, (Status.closed, Status.failed)
        for process in self._still.among(filter(None, (nanny.pid for nanny in list(workers.values())))):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        gone = [name for name, nanny in list(workers.items()) if nanny.status in ended]
        self._failed = 0 if anyone_there else self._failed + len(gone)
        if self._failed >= _ATTEMPTS:
            raise SweepError("no worker starts on this machine.")
        for name in gone:
            workers.pop(name)
        if gone:
            self._cluster.scale(len(self._cluster.worker_spec))

    def close(self, client: Client) -> None:
        self._started.close()

    def _end(self) -> None:
        """End the workers at once, even in the middle of a run: the store stays intact."""
        for nanny in list(self._cluster.workers.values()):
            nanny.close_gracefully()  # this only tells the nanny not to restart its worker
        for child in active_children():
            if child.pid not in self._others:
                child.kill()
        with suppress(Exception):  # we need nothing more from it
            self._cluster.close(timeout=5)


def _close(client: Client) -> None:
    with suppress(Exception):  # what ended the sweep must not be hidden behind a client that is slow to close
        client.close(timeout=2)


def environment(workers: int, folder: str, outer: Mapping[str, str]) -> dict[str, str]:
    """Environment of the worker processes: their share of the machine, and the folder of their compiled programs."""
    cores = max(1, len(os.sched_getaffinity(0)) // workers)
    settings = {"JAX_COMPILATION_CACHE_DIR": f"{folder}/programs", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    if workers > 1 and "XLA_CLIENT_MEM_FRACTION" not in outer:
        # Each would take three quarters of a GPU's memory. JAX has two names for the setting and accepts only one.
        settings["XLA_PYTHON_CLIENT_MEM_FRACTION"] = f"{0.75 / workers:.4f}"
    # Values that the user has set take precedence.
    settings = {name: outer.get(name, value) for name, value in settings.items()}
    return settings | {
        "NPROC": str(cores),  # how XLA learns the size of its pool of threads
        # With a GPU, several records are finished at a time, each on one core; one core stays free to launch kernels.
        "OPENBLAS_NUM_THREADS": "1" if gpu_expected() else str(cores),
        "PYTHONSAFEPATH": "1",  # files in the current folder must not be imported as modules
        "DASK_LOGGING__DISTRIBUTED": "critical",
    }
