"""The engine for one worker: runs are done one after another in this process. It needs no other package, and it is the
engine for a GPU."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass

import jax
from threadpoolctl import threadpool_limits

from loadstone.experiments.ahead import compile_ahead
from loadstone.experiments.engines.job import Runner
from loadstone.experiments.plan import by_program
from loadstone.experiments.spec import Spec
from loadstone.experiments.sweep import Progress, SweepError
from loadstone.records.store import Store

_log = logging.getLogger("loadstone")


@dataclass
class InProcess:
    """Run specs in this process.

    budget: bytes that each problem may take; None: half of the free memory.
    """

    budget: int | None = None

    def __call__(self, specs: Sequence[Spec], store: Store, progress: Progress) -> None:
        platform = jax.default_backend()
        progress.runs_on(platform)
        programs = by_program(specs, platform)
        # With a GPU, several records are finished at a time on the CPU, each by one thread.
        threads = nullcontext() if platform == "cpu" else threadpool_limits(1, "blas")
        compiler = ThreadPoolExecutor(1)
        # On a CPU nothing is compiled ahead: its cores are busy with the runs.
        later = programs[1:] if platform != "cpu" else []
        ahead = [None, *(compiler.submit(compile_ahead, alike, platform, self.budget) for alike in later)]
        try:
            with threads, Runner(store, self.budget, progress.tell) as runner:
                for number, alike in enumerate(programs):
                    progress.at("this process", alike)
                    if ahead[number:] and (early := ahead[number]) and (error := early.exception()):
                        _log.info("%s was not compiled ahead: %s", alike[0], error)  # the run will report it
                    runner.run(alike)
        except OSError as error:
            raise SweepError(f"the store {store.folder} cannot be written: {error}.") from error
        finally:
            compiler.shutdown(wait=False, cancel_futures=True)
