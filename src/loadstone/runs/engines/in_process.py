"""The engine for one worker: runs are done in this process. It needs no other package, and it is the engine for a GPU.

A GPU has nothing to do while the host makes a problem, reads a result or compiles. So there several programs run at a
time, each in a thread, and while one waits for the host another computes. Large problems have the GPU to themselves.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import islice
from threading import Event, Lock

import jax
from threadpoolctl import threadpool_limits

from loadstone.runs.compile_ahead import compile_ahead
from loadstone.runs.plan import by_program, has_the_device_alone
from loadstone.runs.spec import Spec
from loadstone.runs.store import Store
from loadstone.runs.sweep import Progress, SweepError
from loadstone.runs.worker import Runner
from loadstone.solvers.segments import Abandoned, is_abandoned

#: This many programs run at a time on a GPU, and this many functions are compiled at a time. Python works on each for
#: two or three seconds before XLA takes over, and holds up the threads that run programs: more compilers, or programs
#: compiled long before they run, would slow them down.
_LANES, _COMPILERS, _AHEAD = 5, 3, 6

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
        one_by_one = self.budget is not None or platform == "cpu"
        is_alone = lambda alike: one_by_one or has_the_device_alone(alike[0])  # noqa: E731
        programs = sorted(by_program(specs, platform), key=is_alone, reverse=True)
        alone = sum(map(is_alone, programs))
        # With a GPU, several records are finished at a time on the CPU, each by one thread.
        threads = nullcontext() if platform == "cpu" else threadpool_limits(1, "blas")
        waiting = _Waiting(programs, platform, self.budget)
        try:
            with threads:
                self._run(waiting, alone, store, progress, 1)
                self._run(waiting, len(programs) - alone, store, progress, _LANES)
        except OSError as error:
            raise SweepError(f"the store {store.folder} cannot be written: {error}.") from error
        finally:
            waiting.end()

    def _run(self, waiting: _Waiting, programs: int, store: Store, progress: Progress, lanes: int) -> None:
        """Run this many programs in `lanes` threads, one of which is this one, where Ctrl-C arrives. Once a lane fails,
        the others abandon what they are doing."""
        lanes = min(lanes, programs)
        reporting, over = Lock(), Event()

        def report(spec: Spec, status: str | None, why: str) -> None:
            with reporting:
                progress.ended(spec, status, why)

        @contextmanager
        def ending_the_others() -> Iterator[None]:
            try:
                yield
            except BaseException:
                over.set()
                waiting.end()
                raise

        def lane(name: str, shortest_first: bool) -> None:
            with Runner(store, self.budget, report, over.is_set) as runner:
                for _ in range(programs):
                    if not (alike := waiting.take(shortest_first)):
                        return
                    progress.at(name, alike)
                    with suppress(CancelledError):
                        if error := waiting.error_of_compiling(alike):
                            _log.info("%s was not compiled ahead: %s", alike[0], error)  # the run will report it
                    if over.is_set():
                        return
                    runner.run(alike)

        def other_lane(number: int) -> None:
            is_abandoned.set(over.is_set)
            with suppress(Abandoned), ending_the_others():
                # Short runs keep the host busy and long ones the GPU. One lane takes the short ones first, so that both
                # are busy all the time.
                lane(f"thread {number}", shortest_first=number == lanes)

        with ThreadPoolExecutor(max(1, lanes - 1)) as pool, ending_the_others():
            # The last comes first, so that the GPU has a short run to do while the others are compiled.
            threads = [pool.submit(other_lane, number) for number in range(lanes, 1, -1)]
            lane("this process" if not threads else "thread 1", shortest_first=False)
            for thread in threads:
                thread.result()


class _Waiting:
    """Programs that wait for a lane, the longest first.

    Beside an accelerator, other threads compile the one that is taken and those that come next from either end. One
    thread lists the functions of one program after another, so that all compilers work on the first program first.
    """

    def __init__(self, programs: list[list[Spec]], platform: str, budget: int | None) -> None:
        self._programs, self._one_at_a_time = deque(programs), Lock()
        # On a CPU nothing is compiled ahead: its cores are busy with the runs.
        self._compiles_ahead, self._begun = platform != "cpu", dict[Spec, Future[list[Future]]]()
        self._lister, self._compilers = ThreadPoolExecutor(1), ThreadPoolExecutor(_COMPILERS)
        self._given = platform, budget, self._compilers

    def take(self, shortest_first: bool) -> list[Spec] | None:
        """The runs of the next program from one end, or None if there is none left."""
        with self._one_at_a_time:
            if not self._programs:
                return None
            taken = self._programs.pop() if shortest_first else self._programs.popleft()
            next_ones = [taken, *islice(self._programs, _AHEAD), *islice(reversed(self._programs), 1)]
            for alike in next_ones if self._compiles_ahead else ():
                if alike[0] not in self._begun:
                    self._begun[alike[0]] = self._lister.submit(compile_ahead, alike, *self._given)
            return taken

    def error_of_compiling(self, alike: list[Spec]) -> BaseException | None:
        """Wait until a program is compiled, and return the error if this failed."""
        if not self._compiles_ahead:
            return None
        listed = self._begun[alike[0]]
        return listed.exception() or next(filter(None, (done.exception() for done in listed.result())), None)

    def end(self) -> None:
        """Take and compile nothing more."""
        with self._one_at_a_time:
            self._programs.clear()
            for threads in (self._lister, self._compilers):
                threads.shutdown(wait=False, cancel_futures=True)
