"""The options --devices, --coordinator, --processes and --process: over which devices a problem is spread."""

from __future__ import annotations

from loadstone.arguments import refuse


def devices_of(
    devices: int | None, coordinator: str | None, processes: int | None, process: int | None
) -> int | None:
    """How many devices to use; None: the one that JAX takes by itself. Joins other processes if there are any."""
    if coordinator is None:
        for name, value in (("processes", processes), ("process", process)):
            if value is not None:
                raise refuse(name, value, "left out without --coordinator, the address of the first process")
    else:
        from loadstone.hosts import join

        join(coordinator, processes, process)
    if devices is None and coordinator is None:
        return None
    import jax

    from loadstone.problems.spreading import mesh_of

    return mesh_of(len(jax.devices()) if devices is None else devices).size
