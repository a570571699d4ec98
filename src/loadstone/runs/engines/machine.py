"""What this machine offers (a GPU, Dask), and the signals that end a command.

JAX and Dask are not imported to find out: that takes seconds, and JAX would reserve most of a GPU's memory.
"""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loadstone.plugins import has_gpu_plugin

#: Signals that ask a command to end.
ENDS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def gpu_expected() -> bool:
    """Whether runs will go to a GPU."""
    wanted = os.environ.get("JAX_PLATFORMS", "cuda").split(",")[0] in ("cuda", "gpu", "")
    return wanted and Path("/dev/nvidia0").exists() and has_gpu_plugin()


def has_dask() -> bool:
    """Whether Dask is installed, with cryptography for the certificates of its workers."""
    return all(importlib.util.find_spec(name) for name in ("distributed", "cryptography"))


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Hold back signals that ask us to end until the block is left: a Dask client cannot be closed while it is being
    made. Threads that start in the block, and their processes, never see these signals: we end them ourselves."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)
