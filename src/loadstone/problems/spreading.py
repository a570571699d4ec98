"""Problems are laid out over devices, or made there: each device makes its part of a stream, with the bits that this
part has in the whole, and nothing is brought together first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, Shaped, UInt32

from loadstone.arguments import choice, refuse, whole
from loadstone.frequencies import Frequencies, check_answers
from loadstone.kernels.decoupled_xla import ROWS_AT_A_TIME
from loadstone.problems.budget import Budget
from loadstone.problems.decoupled import STORED_DTYPES, WAYS_TO_HOLD, Regenerated, Stored, check_stored_answers
from loadstone.problems.facts import Facts, block_rows
from loadstone.problems.original import original_bytes
from loadstone.problems.problem import Problem
from loadstone.problems.separate import Separate
from loadstone.problems.spread import AXIS, ROWS, WHOLE, Pieces, Spread
from loadstone.streams.counters import Key, stream_key
from loadstone.streams.embeddings import decoupled_targets, decoupled_vectors, vectors
from loadstone.streams.stream import Stream

#: Stored outputs are split into arrays of at most this many numbers a device: see problems/decoupled.py.
_NUMBERS = 2**30


def mesh_of(devices: int) -> Mesh:
    """The first devices that JAX sees, on this machine and on all others of the same run."""
    there = jax.devices()
    least = len(there) if jax.process_count() > 1 else 1  # every process needs a part
    if isinstance(devices, bool) or not isinstance(devices, int | np.integer) or not least <= devices <= len(there):
        allowed = f"a whole number in 1..{len(there)}" if least < len(there) else str(least)
        kind = f"{jax.default_backend().upper()} device{'s' if len(there) > 1 else ''}"
        raise refuse("devices", devices, f"{allowed}, because JAX sees {len(there)} {kind}")
    return Mesh(np.asarray(there[:devices]), (AXIS,))


def spread(problem: Problem, devices: int, ring: bool = False) -> Spread:
    """A problem over several devices. Any memory and any solver can store it as before.

    devices: how many.
    ring: whether shared outputs are cut, too, and passed round, instead of being held by every device.
    """
    if not isinstance(problem, Facts | Regenerated | Stored | Separate):
        raise refuse("problem", type(problem).__name__, "one that can be cut: facts, original or decoupled, not padded")
    if ring and not isinstance(problem, Facts):
        raise refuse("ring", ring, "False for a decoupled problem, whose outputs are cut with its inputs")
    return laid_out(problem, mesh_of(devices), ring)


def laid_out(problem: Pieces, mesh: Mesh, ring: bool = False) -> Spread:
    """A problem that is here as a whole, over the devices of a mesh."""
    n, m = problem.inputs.shape[0], problem.competitors
    rows = rows_each(n, mesh) * mesh.size
    cut = lambda array: None if array is None else placed(_filled(array, rows), mesh, ROWS)  # noqa: E731
    changes: dict[str, Any] = {"inputs": cut(problem.inputs), "shares": cut(problem.shares)}
    if isinstance(problem, Facts):
        outputs = _filled(problem.outputs, rows_each(m, mesh) * mesh.size) if ring else problem.outputs
        changes["outputs"] = placed(outputs, mesh, ROWS if ring else WHOLE)
        changes["targets"] = placed(_filled(problem.targets, rows), mesh, WHOLE)
        changes["block"] = block_rows(rows // mesh.size, m)
    elif isinstance(problem, Separate):
        changes |= {"outputs": cut(problem.outputs), "targets": cut(problem.targets)}
    else:
        changes["target_outputs"] = cut(problem.target_outputs)
        source = problem.source if isinstance(problem, Stored) else problem
        key = placed(source.key, mesh, WHOLE)
        made = replace(source, **changes, key=key, outputs_each=m)
        stored = _stored(made, mesh, str(problem.parts[0].dtype)) if isinstance(problem, Stored) else None
        return Spread(stored or made, mesh, n, m)
    return Spread(replace(problem, **changes), mesh, n, m, ring)


def spread_original(
    stream: Stream,
    p: int,
    devices: int,
    budget: Budget | None = None,
    answers: int | None = None,
    frequencies: Frequencies = "uniform",
    ring: bool | None = None,
) -> Spread:
    """The first p associations of a stream (see `original`), each made by the device that works with it.

    budget: of each device.
    ring: whether outputs are cut and passed round; default: only if a device cannot hold all of them.
    """
    p, mesh = whole("p", p, 2), mesh_of(devices)
    answers, frequencies = check_answers(answers, frequencies)
    m, budget = p if answers is None else answers, budget or Budget()
    each = rows_each(p, mesh)
    block = block_rows(each, m)
    if ring is None:
        ring = not budget.allows(original_bytes(each, stream.d, block, m))
    needed = ring_bytes(each, stream.d, block, rows_each(m, mesh)) if ring else original_bytes(each, stream.d, block, m)
    budget.require(needed, f"each device's part of the original problem over {mesh.size} devices")
    of = lambda purpose: stream_key(stream.seed, purpose, stream.d)  # noqa: E731
    inputs = _rows_of_stream(of("inputs"), stream, p, mesh)
    if ring:
        outputs = _rows_of_stream(of("outputs"), stream, m, mesh)
    else:
        all_of_them = lambda key: vectors(key, jnp.arange(m, dtype=jnp.uint32), stream.d, stream.law).T  # noqa: E731
        outputs = _made(all_of_them, mesh, WHOLE, of("outputs"))
    drawn = np.arange(p, dtype=np.int32) if answers is None else stream.targets(p, m, frequencies)
    targets = placed(_filled(drawn, each * mesh.size), mesh, WHOLE)
    words = "original, outputs shared" + ("" if answers is None else f", {m} answers")
    pieces = Facts(inputs, outputs, targets, block, words, isotropic=stream.isotropic)
    return Spread(pieces, mesh, p, m, ring)


def spread_decoupled(
    stream: Stream,
    p: int,
    devices: int,
    budget: Budget | None = None,
    hold: str = "auto",
    dtype: str = "float32",
    answers: int | None = None,
    frequencies: Frequencies = "uniform",
) -> Spread:
    """The first p associations of a stream, each with separate outputs (see `decoupled`), made where they are needed.

    budget: of each device.
    """
    p, d, mesh = whole("p", p, 2), stream.d, mesh_of(devices)
    hold, dtype = choice("hold", hold, WAYS_TO_HOLD), choice("dtype", dtype, STORED_DTYPES)
    answers, frequencies = check_answers(answers, frequencies)
    budget, m, each = budget or Budget(), answers or p, rows_each(p, mesh)
    if answers is not None:
        check_stored_answers(hold, dtype)
    size = jnp.dtype(dtype).itemsize
    working = 4 * d * (6 * each + 4 * ROWS_AT_A_TIME * m)
    stored = working + size * each * m * d
    is_stored = hold == "stored" or answers is not None or (hold == "auto" and budget.allows(stored))
    how = "stored" if is_stored else "regenerated"
    what = f"each device's part of the decoupled problem with outputs {how} over {mesh.size} devices"
    budget.require(stored if is_stored else working, what)
    inputs, key = _rows_of_stream(stream_key(stream.seed, "inputs", d), stream, p, mesh), stream.decoupled_key
    if answers is not None:
        outputs = _made(lambda key: decoupled_vectors(key, _numbers(each), m, d, stream.law), mesh, ROWS, key)
        targets = placed(_filled(stream.targets(p, answers, frequencies), each * mesh.size), mesh, ROWS)
        words = f"decoupled, {answers} answers each, outputs stored in float32"
        return Spread(Separate(inputs, outputs, targets, words), mesh, p, m)

    def own(key: Key) -> Float[Array, "each d"]:
        return _first(p, _numbers(each), decoupled_targets(key, _numbers(each), d, stream.law))

    target_outputs = _made(own, mesh, ROWS, key)
    pieces = Regenerated(inputs, target_outputs, placed(key, mesh, WHOLE), stream.law, outputs_each=p)
    return Spread(_stored(pieces, mesh, dtype) if is_stored else pieces, mesh, p, p)


def ring_bytes(each: int, d: int, block: int, part: int) -> int:
    """Bytes that a device needs: inputs, queries, pull, targets and two more arrays of that size; three parts of the
    outputs (one that it works with, with a row of ones, and one that arrives); scores and weights of one block."""
    return 4 * (6 * each * d + 3 * part * d + 3 * block * part)


def rows_each(count: int, mesh: Mesh) -> int:
    return -(-count // mesh.size)


def placed(array: Shaped[Array | np.ndarray, "..."], mesh: Mesh, spec: PartitionSpec) -> Shaped[Array, "..."]:
    """An array of the host over the devices. Each process needs only the part of its own devices."""
    host = np.asarray(array)
    return jax.make_array_from_callback(host.shape, NamedSharding(mesh, spec), lambda index: host[index])


def _filled(array: Shaped[Array | np.ndarray, "..."], rows: int) -> Shaped[np.ndarray, "..."]:
    """An array with zeros after its last row."""
    host = np.asarray(array)
    return np.pad(host, [(0, rows - host.shape[0])] + [(0, 0)] * (host.ndim - 1))


def _made(make: Callable, mesh: Mesh, spec: PartitionSpec, key: Key) -> Shaped[Array, "..."]:
    """An array that every device makes for itself."""
    program = jax.shard_map(make, mesh=mesh, in_specs=WHOLE, out_specs=spec, check_vma=False)
    return jax.jit(program)(placed(key, mesh, WHOLE))


def _numbers(rows: int, after: int = 0, each: int | None = None) -> UInt32[Array, "rows"]:
    """The numbers of `rows` associations of a device, beginning with its number `after`; each device has `each`."""
    first = lax.axis_index(AXIS).astype(jnp.uint32) * jnp.uint32(rows if each is None else each)
    return first + jnp.uint32(after) + jnp.arange(rows, dtype=jnp.uint32)


def _first(p: int, numbers: UInt32[Array, "rows"], made: Float[Array, "rows d"]) -> Float[Array, "rows d"]:
    """Only the first p of a stream; the others are padding."""
    return jnp.where(numbers[:, None] < p, made, 0)


def _rows_of_stream(key: Key, stream: Stream, count: int, mesh: Mesh) -> Float[Array, "rows d"]:
    """The first vectors of a stream, each on the device that works with it."""
    numbers = lambda: _numbers(rows_each(count, mesh))  # noqa: E731
    make = lambda key: _first(count, numbers(), vectors(key, numbers(), stream.d, stream.law).T)  # noqa: E731
    return _made(make, mesh, ROWS, key)


def _stored(source: Regenerated, mesh: Mesh, dtype: str) -> Stored:
    """The outputs of a problem that is spread, stored where they are needed."""
    m, d = source.competitors, source.inputs.shape[1]
    each = source.inputs.shape[0] // mesh.size
    rows = -(-each // -(-each // max(1, _NUMBERS // (m * d))))

    def part(after: int, count: int) -> Float[Array, "count d m"]:
        numbers = lambda: _numbers(count, after, each)  # noqa: E731
        make = lambda key: decoupled_vectors(key, numbers(), m, d, source.law).astype(dtype)  # noqa: E731
        return _made(make, mesh, ROWS, source.key)

    parts = tuple(part(after, min(rows, each - after)) for after in range(0, each, rows))
    description = f"decoupled, outputs stored in {dtype}"
    return Stored(source.inputs, source.target_outputs, parts, source, description, source.shares)
