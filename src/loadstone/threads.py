"""Threads of NumPy's matrix products. Many small products run on one thread: waking others costs more than they save,
and on a busy machine far more. A few large ones run on all threads.

The number of threads belongs to the whole process, but several computations may run at once. So we count them:
products run on one thread while some computation asks for one and none asks for all. When the last one ends, the number
is restored.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import Any

import numpy as np

#: From this dimension on, the d^2 x d^2 matrix and the products that form it count as large.
_LARGE = 60


def one_thread() -> AbstractContextManager:
    """Inside this context products run on one thread, except inside `all_threads`."""
    return _blas.used(limited=1)


def all_threads(d: int, xp: ModuleType) -> AbstractContextManager:
    """Inside `one_thread`, use all threads again if products of this dimension are large and `xp` is NumPy."""
    return _blas.used(unlimited=1) if xp is np and d >= _LARGE else nullcontext()


@contextmanager
def shared_out() -> Iterator[Callable[..., Iterable[Any]]]:
    """Yield a `map` that distributes calls over all processors, each with its products on one thread. On a busy machine
    that takes far less time than products on several threads, which wait for each other."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with one_thread():
        if processors == 1:
            yield map
        else:
            with ThreadPoolExecutor(processors) as pool:
                yield pool.map


class _Blas:
    """The libraries behind NumPy's products, and how many computations ask for one thread or for all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._limited = self._unlimited = 0
        self._controller = None
        self._limit: Any = None  # holds the numbers of threads to restore

    @contextmanager
    def used(self, limited: int = 0, unlimited: int = 0) -> Iterator[None]:
        self._count(limited, unlimited)
        try:
            yield
        finally:
            self._count(-limited, -unlimited)

    def _count(self, limited: int, unlimited: int) -> None:
        with self._lock:
            self._limited += limited
            self._unlimited += unlimited
            wanted = self._limited > 0 and self._unlimited == 0
            if wanted == (self._limit is not None):
                return
            if self._limit is None:
                self._limit = self._libraries().limit(limits=1)
            else:
                self._limit.restore_original_limits()
                self._limit = None
            self._let_go()

    def _libraries(self):
        if self._controller is None:
            from threadpoolctl import ThreadpoolController  # only NumPy needs it

            self._controller = ThreadpoolController().select(user_api="blas")
        return self._controller

    @staticmethod
    def _let_go() -> None:
        """Allow any thread to change the number next. In recent versions of threadpoolctl only the thread that changed
        it first can, but the computation that ends last and restores it may be in another thread."""
        import threadpoolctl

        clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
        if clear is not None:
            clear()


_blas = _Blas()
