"""The engine for one worker: runs are done in this process. It needs no other package, and it is the engine for a GPU.

A GPU has nothing to do while the host makes a problem, reads a result or compiles. So there several programs run at a
time, each in a thread, and while one waits for the host another computes. Large problems have the GPU to themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from threading import Event, Lock

import jax
from threadpoolctl import threadpool_limits

from loadstone.experiments.ahead import compile_ahead
from loadstone.experiments.engines.job import Runner
from loadstone.experiments.plan import by_program, has_the_device_alone
from loadstone.experiments.spec import Spec
from loadstone.experiments.sweep import Progress, SweepError
from loadstone.records.store import Store
from loadstone.solvers.loop import Abandoned, is_abandoned

#: So many programs run at a time on a GPU, and so many are compiled ahead at a time. Python works on a program for one
#: or two seconds before XLA takes over, and holds up the threads that run programs: more compilers would be a burden.
_LANES, _COMPILERS = 5, 3

_log = logging.getLogger("loadstone")

#: The specs of a program, and what compiles it ahead.
Program = tuple[list[Spec], Future | None]


@dataclass
class InProcess:
    """Run specs in this process.

    budget: bytes that each problem may take; None: half of the free memory.
    """

    budget: int | None = None

    def __call__(self, specs: Sequence[Spec], store: Store, progress: Progress) -> None:
        platform = jax.default_backend()
        progress.runs_on(platform)
        alone, together = _divided(by_program(specs, platform), self.budget is not None or platform == "cpu")
        # With a GPU, several records are finished at a time on the CPU, each by one thread.
        threads = nullcontext() if platform == "cpu" else threadpool_limits(1, "blas")
        compiler = ThreadPoolExecutor(_COMPILERS)
        # Compiled in the order in which they run. On a CPU nothing is compiled ahead: its cores are busy with the runs.
        programs = list[Program]()
        for alike in alone + together:
            later = programs and platform != "cpu"
            early = compiler.submit(compile_ahead, alike, platform, self.budget) if later else None
            programs.append((alike, early))
        try:
            with threads:
                self._run(programs[: len(alone)], store, progress, 1)
                self._run(programs[len(alone) :], store, progress, _LANES)
        except OSError as error:
            raise SweepError(f"the store {store.folder} cannot be written: {error}.") from error
        finally:
            compiler.shutdown(wait=False, cancel_futures=True)

    def _run(self, programs: list[Program], store: Store, progress: Progress, lanes: int) -> None:
        """Run programs in as many threads as there are lanes, one of which is this one: Ctrl-C is heard there. Once a
        lane fails, the others abandon what they are doing."""
        queue, one_at_a_time, over = iter(programs), Lock(), Event()

        def next_one() -> Program | None:
            with one_at_a_time:
                return next(queue, None)

        def tell(spec: Spec, status: str | None, why: str) -> None:
            with one_at_a_time:
                progress.tell(spec, status, why)

        @contextmanager
        def ending_the_others() -> Iterator[None]:
            try:
                yield
            except BaseException:
                over.set()
                for _, early in programs:
                    if early:
                        early.cancel()
                raise

        def lane(name: str) -> None:
            with Runner(store, self.budget, tell, over.is_set) as runner:
                for alike, early in iter(next_one, None):
                    progress.at(name, alike)
                    with suppress(CancelledError):
                        if early and (error := early.exception()):
                            _log.info("%s was not compiled ahead: %s", alike[0], error)  # the run will report it
                    if over.is_set():
                        return
                    runner.run(alike)

        def beside(name: str) -> None:
            is_abandoned.set(over.is_set)
            with suppress(Abandoned), ending_the_others():
                lane(name)

        with ThreadPoolExecutor(max(1, lanes - 1)) as pool, ending_the_others():
            others = [pool.submit(beside, f"thread {number}") for number in range(2, min(lanes, len(programs)) + 1)]
            lane("this process" if not others else "thread 1")
            for other in others:
                other.result()


def _divided(programs: list[list[Spec]], each_alone: bool) -> tuple[list[list[Spec]], list[list[Spec]]]:
    """Those that have the device to themselves, and those that run beside each other."""
    alone, together = list[list[Spec]](), list[list[Spec]]()
    for alike in programs:
        (alone if each_alone or has_the_device_alone(alike[0]) else together).append(alike)
    return alone, together
