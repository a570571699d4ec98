"""Whether runs will go to a GPU, for those who have to know it before there is a worker."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

_PLUGINS = ("jax_cuda12_plugin", "jax_cuda13_plugin")


def gpu_expected() -> bool:
    """Looked up without JAX, which would take most of the GPU's memory for the process that asks."""
    wanted = os.environ.get("JAX_PLATFORMS", "cuda").split(",")[0] in ("cuda", "gpu", "")
    return wanted and Path("/dev/nvidia0").exists() and any(importlib.util.find_spec(name) for name in _PLUGINS)
