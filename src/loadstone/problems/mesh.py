"""The devices that a problem is spread over, and arrays on them: placed from the host, or made by each device."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Shaped, UInt32

from loadstone.arguments import refuse
from loadstone.streams.counters import Key

#: The axis of the mesh. Arrays are cut along their rows, or are the same on every device.
AXIS = "devices"
ROWS, WHOLE = PartitionSpec(AXIS), PartitionSpec()


def mesh_of(devices: int) -> Mesh:
    """The first devices that JAX sees, on this machine and on all others of the same run."""
    available = jax.devices()
    least = len(available) if jax.process_count() > 1 else 1  # every process needs a part
    if isinstance(devices, bool) or not isinstance(devices, int | np.integer) or not least <= devices <= len(available):
        allowed = f"a whole number in 1..{len(available)}" if least < len(available) else str(least)
        kind = f"{jax.default_backend().upper()} device{'s' if len(available) > 1 else ''}"
        raise refuse("devices", devices, f"{allowed}, because JAX sees {len(available)} {kind}")
    return Mesh(np.asarray(available[:devices]), (AXIS,))


def rows_each(count: int, mesh: Mesh) -> int:
    """How many rows each device has, the padding of the last ones included."""
    return -(-count // mesh.size)


def placed(
    array: Shaped[Array | np.ndarray, "..."], mesh: Mesh, spec: PartitionSpec, rows: int | None = None
) -> Shaped[Array, "..."]:
    """An array of the host over the devices, with zeros up to `rows`. Each process needs only its devices' part."""
    host = np.asarray(array)
    if rows is not None:
        host = np.pad(host, [(0, rows - host.shape[0])] + [(0, 0)] * (host.ndim - 1))
    return jax.make_array_from_callback(host.shape, NamedSharding(mesh, spec), lambda index: host[index])


def made_on_devices(make: Callable, mesh: Mesh, spec: PartitionSpec, key: Key) -> Shaped[Array, "..."]:
    """An array over the devices, each of which makes its own part."""
    program = jax.shard_map(make, mesh=mesh, in_specs=WHOLE, out_specs=spec, check_vma=False)
    return jax.jit(program)(placed(key, mesh, WHOLE))


def numbers_here(rows: int, after: int = 0, each: int | None = None) -> UInt32[Array, "rows"]:
    """The numbers of `rows` associations of a device, beginning with its number `after`; each device has `each`."""
    first = lax.axis_index(AXIS).astype(jnp.uint32) * jnp.uint32(rows if each is None else each)
    return first + jnp.uint32(after) + jnp.arange(rows, dtype=jnp.uint32)
