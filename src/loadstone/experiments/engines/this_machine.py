"""Dask on this machine: a scheduler of our own, and worker processes that end when we do."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing import active_children, resource_tracker

import dask
from distributed import Client, LocalCluster, Status

from loadstone.experiments.engines.machine import deaf_to_interrupts, gpu_expected
from loadstone.experiments.sweep import SweepError

#: By itself a LocalCluster gives up on a worker that was away for 15 s, looks at every running function a hundred times
#: and at every process fifty times a second, and has the memory allocator give back every free page.
_SETTINGS = {
    "distributed.deploy.lost-worker-timeout": "520 weeks",
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.nanny.pre-spawn-environ": {},
}
#: So many workers that never got ready end the sweep.
_ATTEMPTS = 3


@dataclass
class ThisMachine:
    """Worker processes, each with its share of the cores. One that dies is started anew, and all end with this process,
    however that ends.

    They talk over the loopback, with a certificate that is made for this one sweep: whoever can talk to a scheduler can
    run code on its workers, and there may be other people on this machine.
    """

    workers: int

    def connect(self, most: int) -> Client:
        """Start the scheduler, and no more than `most` workers, which will be there a little later."""
        with ExitStack() as started:
            outer = dict(os.environ)
            started.callback(os.environ.update, outer)
            started.callback(os.environ.clear)
            folder = started.enter_context(tempfile.TemporaryDirectory(prefix="loadstone-", ignore_cleanup_errors=True))
            os.environ |= environment(self.workers, folder, outer)
            started.enter_context(dask.config.set(_SETTINGS))
            self._others = {child.pid for child in active_children()}
            # Python starts this helper with the first worker otherwise, and unblocks Ctrl-C in that thread as it does.
            resource_tracker.ensure_running()
            with deaf_to_interrupts():
                self._cluster = LocalCluster(
                    n_workers=0, threads_per_worker=1, memory_limit=0, security=True, dashboard_address=None,
                    local_directory=folder, preload="loadstone.experiments.engines.job",
                    # Any free port: another sweep may have the one that Dask would take.
                    scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
                )  # fmt: skip
                started.callback(self._end)
                client = Client(self._cluster, set_as_default=False)
                started.callback(client.close, timeout=2)
            self._cluster.scale(min(self.workers, most))
            self._started, self._failed = started.pop_all(), 0
        return client

    def look_after(self, anyone_there: bool) -> None:
        """Dask starts a worker anew that had been there, but not one that never got ready."""
        workers, ended = self._cluster.workers, (Status.closed, Status.failed)
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
        """End the workers at once, in the middle of a run if need be: the store is safe against that."""
        for nanny in list(self._cluster.workers.values()):
            nanny.close_gracefully()  # which only says that its worker is not to be started anew
        for child in active_children():
            if child.pid not in self._others:
                child.kill()
        with suppress(Exception):  # nothing of it is needed any more
            self._cluster.close(timeout=5)


def environment(workers: int, folder: str, outer: Mapping[str, str]) -> dict[str, str]:
    """What worker processes are told: their share of the machine, and where they share their compiled programs."""
    cores = max(1, len(os.sched_getaffinity(0)) // workers)
    told = {"JAX_COMPILATION_CACHE_DIR": f"{folder}/programs", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    if workers > 1 and "XLA_CLIENT_MEM_FRACTION" not in outer:
        # Each would take three quarters of a GPU's memory. JAX knows the setting by two names and wants only one.
        told["XLA_PYTHON_CLIENT_MEM_FRACTION"] = f"{0.75 / workers:.4f}"
    # What the user has set for these comes first.
    told = {name: outer.get(name, value) for name, value in told.items()}
    return told | {
        "NPROC": str(cores),  # how XLA learns the size of its pool of threads
        # Beside a GPU several records are finished at a time: a core each, and one is left for whoever launches.
        "OPENBLAS_NUM_THREADS": "1" if gpu_expected() else str(cores),
        "PYTHONSAFEPATH": "1",  # files in the current folder must not pass for modules
        "DASK_LOGGING__DISTRIBUTED": "critical",
    }
