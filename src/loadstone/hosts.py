"""Several processes, on one machine or on many, that work on one problem: each has some of the devices.

All of them run the same program and must take the same steps. What depends on a clock is decided by the first process.
"""

from __future__ import annotations

import jax
import numpy as np

from loadstone.arguments import refuse, whole

#: Instead of an address: JAX finds the others by itself, as it can within a job of SLURM or of Open MPI.
AUTO = "auto"


def join(coordinator: str, processes: int | None = None, process: int | None = None) -> None:
    """Become one of several processes, before anything is computed.

    coordinator: 'host:port' of the first process, or 'auto' within a job of SLURM or Open MPI.
    processes, process: how many there are, and which of them this is, counted from 0; not needed with 'auto'.
    """
    if coordinator == AUTO:
        if processes is not None or process is not None:
            raise refuse("coordinator", coordinator, "host:port if processes and process are given")
        try:
            jax.distributed.initialize()
        except (RuntimeError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise refuse("coordinator", coordinator, f"host:port here: JAX found no job to join ({reason})") from error
        return
    host, _, port = coordinator.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 2**16:
        raise refuse("coordinator", coordinator, "host:port of the first process, such as node1:8476, or auto")
    count = whole("processes", processes, 1, 2**20)
    jax.distributed.initialize(coordinator, count, whole("process", process, 0, count - 1))


def is_first() -> bool:
    """Whether this is the first process, which prints and writes files for all."""
    return jax.process_index() == 0


def agreed(number: int) -> int:
    """The value of `number` in the first process, the same in all of them."""
    if jax.process_count() == 1:
        return number
    from jax.experimental.multihost_utils import broadcast_one_to_all  # takes a while to import

    return int(broadcast_one_to_all(np.int32(number)))
