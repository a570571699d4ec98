"""How many workers a command has by default, and which engine runs them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from loadstone.runs.engines.machine import gpu_expected, has_dask

if TYPE_CHECKING:
    from loadstone.runs.sweep import Engine


def default_workers() -> int:
    """One for each core; but a single one if runs go to a GPU, since several would only take turns on it, or if Dask,
    which several workers need, is not installed."""
    return 1 if gpu_expected() or not has_dask() else len(os.sched_getaffinity(0))


def engine_here(workers: int, budget: int | None = None) -> Engine:
    """The engine for so many workers on this machine: one runs in this process, several are processes of Dask."""
    if workers == 1:
        from loadstone.runs.engines.in_process import InProcess

        return InProcess(budget)
    from loadstone.runs.engines.dask import DaskEngine, ThisMachine

    return DaskEngine(ThisMachine(workers), budget=budget)
