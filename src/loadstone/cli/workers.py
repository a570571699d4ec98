"""How many workers a command has by default, and which engine runs them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from loadstone.runs.engines.machine import gpu_expected, has_dask

if TYPE_CHECKING:
    from loadstone.runs.sweep import Engine


def default_workers() -> int:
    """One for each core; only one if runs go to a GPU, where several would take turns, or if Dask, which several need,
    is not installed."""
    return 1 if gpu_expected() or not has_dask() else len(os.sched_getaffinity(0))


def engine_here(workers: int, budget: int | None = None) -> Engine:
    """The engine for this many workers here: one runs in this process, several are processes of Dask."""
    if workers == 1:
        from loadstone.runs.engines.in_process import InProcess

        return InProcess(budget)
    from loadstone.runs.engines.dask import DaskEngine, ThisMachine

    return DaskEngine(ThisMachine(workers), budget=budget)
