"""The options --devices, --coordinator, --processes and --process: over which devices a problem is spread."""

from __future__ import annotations

import os
import sys

from loadstone.arguments import refuse
from loadstone.cli.streams import keep_output_for_answers


def missing_platform() -> str | None:
    """The sentence to print if JAX cannot start on JAX_PLATFORMS, else None; its own error does not say why."""
    wanted = os.environ.get("JAX_PLATFORMS")
    if not wanted or "jax" not in sys.modules:
        return None
    import jax

    try:
        jax.devices()
    except (AssertionError, RuntimeError):
        allowed = "a platform that JAX has here, such as cpu; for cuda, install jax[cuda13] or jax[cuda12]"
        return str(refuse("JAX_PLATFORMS", wanted, allowed))
    return None


def devices_of(devices: int | None, coordinator: str | None, processes: int | None, process: int | None) -> int | None:
    """How many devices to use; None: the default device of JAX. Joins the other processes if there are any."""
    if coordinator is None:
        for name, value in (("processes", processes), ("process", process)):
            if value is not None:
                raise refuse(name, value, "left out without --coordinator, the address of the first process")
    else:
        from loadstone.hosts import join

        join(coordinator, processes, process)
        keep_output_for_answers()
    if devices is None and coordinator is None:
        return None
    import jax

    from loadstone.problems.mesh import mesh_of

    return mesh_of(len(jax.devices()) if devices is None else devices).size
