"""How many processes a command starts when nobody says."""

from __future__ import annotations

import os

from loadstone.experiments.engines.gpu import gpu_expected


def default_workers() -> int:
    """One for each core; a single one where runs go to a GPU, since several would only take turns on it."""
    return 1 if gpu_expected() else len(os.sched_getaffinity(0))
