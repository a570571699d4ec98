"""Whether JAX was installed for an NVIDIA GPU, without importing it: that takes a second and reserves most of a GPU's
memory."""

from __future__ import annotations

import importlib.util

_PLUGINS = ("jax_cuda12_plugin", "jax_cuda13_plugin")


def has_gpu_plugin() -> bool:
    return any(importlib.util.find_spec(name) for name in _PLUGINS)
