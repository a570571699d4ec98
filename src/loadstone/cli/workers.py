"""How many workers a command has when nobody says, and which engine runs them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from loadstone.experiments.engines.machine import gpu_expected, has_dask

if TYPE_CHECKING:
    from loadstone.experiments.sweep import Engine


def default_workers() -> int:
    """One for each core. A single one where runs go to a GPU, since several would only take turns on it, and where Dask
    is not installed, which several need."""
    return 1 if gpu_expected() or not has_dask() else len(os.sched_getaffinity(0))


def engine_here(workers: int, budget: int | None = None) -> Engine:
    """The engine for so many workers on this machine: in this process if it is one, else processes through Dask."""
    if workers == 1:
        from loadstone.experiments.engines.in_process import InProcess

        return InProcess(budget)
    from loadstone.experiments.engines.dask import DaskEngine, ThisMachine

    return DaskEngine(ThisMachine(workers), budget=budget)
