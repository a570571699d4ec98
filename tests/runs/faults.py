"""Real processes for the tests of faults: commands, their workers, a Dask cluster on the loopback, certificates."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

from loadstone.runs.grid import read_grid
from loadstone.runs.result import perform

BIN = Path(sys.executable).parent
LOADSTONE = BIN / "loadstone"
#: One shape of each problem; a run takes a tenth of a second after it is compiled.
GRID = """
[[grid]]
problem = ["original", "decoupled"]
d = 12
load = 0.8
seeds = {seeds}
steps = 200
stop = "none"
"""


def grid_file(folder, seeds=6, text=GRID):
    path = Path(folder) / "grid.toml"
    path.write_text(text.format(seeds=seeds))
    return path


def serial(grid):
    """The results of a grid, run one after the other in this process, by key."""
    return {spec.key: perform([spec])[0].result for spec in read_grid(grid)}


def results(store):
    return {key: store.get(key).result for key in store.keys()}


def start(*arguments, **options):
    command = [str(LOADSTONE), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def finish(process, timeout=200):
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def run(*arguments, timeout=200, **options):
    return finish(start(*arguments, **options), timeout)


def workers_of(process):
    """The worker processes that a driver, or a nanny of Dask, has started. (Python starts a helper with each.)"""
    found = []
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process.pid).children():
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                if "spawn_main" in " ".join(child.cmdline()):
                    found.append(child)
    return found


def past_its_start(process, seconds=4):
    """Whether a worker has used so many seconds of processor time: more than it takes to start."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return sum(process.cpu_times()[:2]) > seconds
    return False


def wait_until(condition, seconds=60, step=0.02):
    """Wait until a condition holds and return its value; fail if it never does."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(step)
    return found


class Cluster:
    """A Dask scheduler and workers as separate processes."""

    def __init__(self, folder, options=(), name="scheduler"):
        self.folder, self.options = Path(folder), list(map(str, options))
        self.file = self.folder / f"{name}.json"
        self.processes = []
        self.log = open(self.folder / f"{name}.log", "w")
        self.scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", self.file)
        wait_until(lambda: self.file.exists() and self.file.stat().st_size > 0)

    def worker(self, *options):
        """Start a worker with its nanny, which starts it anew when it is killed."""
        return self._start("worker", "--scheduler-file", self.file, "--nthreads", "1", *options)

    def worker_processes(self):
        """What does the work: the children of nannies."""
        return [worker for process in self.processes[1:] for worker in workers_of(process)]

    def _start(self, what, *options):
        command = [str(BIN / "dask"), what, "--host", "127.0.0.1", "--no-dashboard", *map(str, options), *self.options]
        environment = os.environ | {"NPROC": "1", "OPENBLAS_NUM_THREADS": "1"}
        process = subprocess.Popen(
            command, stdout=self.log, stderr=self.log, cwd=self.folder, env=environment, start_new_session=True
        )
        self.processes.append(process)
        return process

    def close(self):
        for process in reversed(self.processes):
            tree = []
            with contextlib.suppress(psutil.NoSuchProcess):
                tree = psutil.Process(process.pid).children(recursive=True)
            process.kill()
            process.wait()
            for one in tree:
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill()
        self.log.close()
