"""How many processes a command starts when nobody says."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path


def default_workers() -> int:
    """One for each core; a single one where runs go to a GPU, since several would only take turns on it.

    Looked up without JAX, which would take most of the GPU's memory for the process that asks.
    """
    plugins = ("jax_cuda12_plugin", "jax_cuda13_plugin")
    wanted = os.environ.get("JAX_PLATFORMS", "cuda").split(",")[0] in ("cuda", "gpu", "")
    if wanted and Path("/dev/nvidia0").exists() and any(importlib.util.find_spec(name) for name in plugins):
        return 1
    return len(os.sched_getaffinity(0))
