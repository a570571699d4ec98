"""Threads of NumPy's matrix products. Many small products run on one: waking others costs more than they save, and on a
busy machine far more. Few large ones run on all."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from types import ModuleType

import numpy as np

#: Dimension from which the d^2 x d^2 matrix and what goes into it count as large.
_LARGE = 60


def one_thread() -> AbstractContextManager:
    return _blas()[0].limit(limits=1, user_api="blas")


def all_threads(d: int, xp: ModuleType) -> AbstractContextManager:
    """All threads within `one_thread`, where products of this dimension are large and NumPy (`xp`) makes them."""
    if xp is not np or d < _LARGE:
        return nullcontext()
    controller, most = _blas()
    return controller.limit(limits=most, user_api="blas")


@cache
def _blas() -> tuple[object, int]:
    from threadpoolctl import ThreadpoolController  # only NumPy needs it

    controller = ThreadpoolController()
    pools = controller.select(user_api="blas").info()
    return controller, max((pool["num_threads"] for pool in pools), default=1)
