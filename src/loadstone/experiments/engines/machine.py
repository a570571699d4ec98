"""What this machine has, found without importing JAX or Dask: that takes seconds, and JAX takes most of a GPU's memory
for whoever asks. And its signals."""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: What asks a command to end.
ENDS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_GPU_PLUGINS = ("jax_cuda12_plugin", "jax_cuda13_plugin")


def gpu_expected() -> bool:
    """Whether runs will go to a GPU."""
    wanted = os.environ.get("JAX_PLATFORMS", "cuda").split(",")[0] in ("cuda", "gpu", "")
    return wanted and Path("/dev/nvidia0").exists() and any(importlib.util.find_spec(name) for name in _GPU_PLUGINS)


def has_dask() -> bool:
    """Whether several workers can be had: Dask, and what makes the certificates that they show each other."""
    return all(importlib.util.find_spec(name) for name in ("distributed", "cryptography"))


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """What asks us to end is heard afterwards: a client of Dask that is half made could not be closed. Threads that
    start now, and the processes that they start, do not hear it at all: they are ended by us."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
