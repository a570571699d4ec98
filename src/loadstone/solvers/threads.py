"""Threads of NumPy's matrix products. Many small products run on one: waking others costs more than they save, and on a
busy machine far more. Few large ones run on all.

The number of threads belongs to the whole process, while several searches may run at once. So those are counted: the
number is one as long as someone asks for one and nobody for all, and as it was before when the last has left."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import Any

import numpy as np

#: Dimension from which the d^2 x d^2 matrix and what goes into it count as large.
_LARGE = 60


def one_thread() -> AbstractContextManager:
    """Products within run on one thread, except within `all_threads`."""
    return _blas.used(limited=1)


def all_threads(d: int, xp: ModuleType) -> AbstractContextManager:
    """All threads within `one_thread`, where products of this dimension are large and NumPy (`xp`) makes them."""
    return _blas.used(unlimited=1) if xp is np and d >= _LARGE else nullcontext()


class _Blas:
    """The libraries behind NumPy's products, and how many users want them limited or not."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._limited = self._unlimited = 0
        self._controller = None
        self._limit: Any = None  # remembers the numbers of threads from before

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
        """Let any thread change the number next: in recent versions of threadpoolctl only the thread that was first to
        change it can, but the last to leave, which restores it, may be another."""
        import threadpoolctl

        clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
        if clear is not None:
            clear()


_blas = _Blas()
