"""Problems of a stream over several devices: each device makes its part, with the bits that this part has in the whole,
and nothing is gathered first."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float, UInt32

from loadstone.arguments import choice, true_or_false, whole
from loadstone.frequencies import Frequencies, check_answers
from loadstone.kernels.decoupled_xla import ROWS_AT_A_TIME
from loadstone.problems.budget import MOST_FACTS, Budget, budget_of
from loadstone.problems.decoupled import STORED_DTYPES, WAYS_TO_HOLD, Regenerated, check_stored_answers
from loadstone.problems.facts import Facts, block_rows
from loadstone.problems.mesh import ROWS, WHOLE, made_on_devices, mesh_of, numbers_here, placed, rows_each
from loadstone.problems.original import original_bytes
from loadstone.problems.separate import Separate
from loadstone.problems.spread import Spread, stored_on_devices
from loadstone.streams.counters import Key, stream_key
from loadstone.streams.embeddings import decoupled_targets, decoupled_vectors, vectors
from loadstone.streams.stream import Stream, stream_of


def spread_original(
    stream: Stream,
    p: int,
    *,
    devices: int,
    budget: Budget | None = None,
    answers: int | None = None,
    frequencies: Frequencies = "uniform",
    ring: bool | None = None,
) -> Spread:
    """The first p associations of a stream (see `original`), each made by the device that works with it.

    budget: of each device.
    ring: whether outputs are cut and passed round; default: only if a device cannot hold all of them.

    Example:
        >>> from loadstone.problems.spread_streams import spread_original
        >>> spread_original(loadstone.Stream(0, 4), 6, devices=1).description
        'original, outputs shared, over 1 device'
    """
    stream, p, mesh = stream_of(stream), whole("p", p, 2, MOST_FACTS), mesh_of(devices)
    answers, frequencies = check_answers(answers, frequencies)
    m, budget = p if answers is None else answers, budget_of(budget)
    each = rows_each(p, mesh)
    block = block_rows(each, m)
    if ring is not None:
        ring = true_or_false("ring", ring)
    else:
        ring = not budget.allows(original_bytes(each, stream.d, block, m))
    needed = ring_bytes(each, stream.d, block, rows_each(m, mesh)) if ring else original_bytes(each, stream.d, block, m)
    budget.require(needed, f"each device's part of the original problem over {mesh.size} devices")
    inputs = _rows_of_stream("inputs", stream, p, mesh)
    if ring:
        outputs = _rows_of_stream("outputs", stream, m, mesh)
    else:
        all_of_them = lambda key: vectors(key, jnp.arange(m, dtype=jnp.uint32), stream.d, stream.law).T  # noqa: E731
        outputs = made_on_devices(all_of_them, mesh, WHOLE, stream_key(stream.seed, "outputs", stream.d))
    drawn = np.arange(p, dtype=np.int32) if answers is None else stream.targets(p, m, frequencies)
    targets = placed(drawn, mesh, WHOLE, each * mesh.size)
    words = "original, outputs shared" + ("" if answers is None else f", {m} answers")
    pieces = Facts(inputs, outputs, targets, block, words, isotropic=stream.isotropic)
    return Spread(pieces, mesh, p, m, ring)


def spread_decoupled(
    stream: Stream,
    p: int,
    *,
    devices: int,
    budget: Budget | None = None,
    hold: str = "auto",
    dtype: str = "float32",
    answers: int | None = None,
    frequencies: Frequencies = "uniform",
) -> Spread:
    """The first p associations of a stream, each with separate outputs (see `decoupled`), made where they are needed.

    budget: of each device.

    Example:
        >>> from loadstone.problems.spread_streams import spread_decoupled
        >>> spread_decoupled(loadstone.Stream(0, 4), 6, devices=1, hold="regenerated").description
        'decoupled, outputs regenerated, over 1 device'
    """
    p, d, mesh = whole("p", p, 2, MOST_FACTS), stream_of(stream).d, mesh_of(devices)
    hold, dtype = choice("hold", hold, WAYS_TO_HOLD), choice("dtype", dtype, STORED_DTYPES)
    answers, frequencies = check_answers(answers, frequencies)
    budget, m, each = budget_of(budget), answers or p, rows_each(p, mesh)
    if answers is not None:
        check_stored_answers(hold, dtype)
    size = jnp.dtype(dtype).itemsize
    working = 4 * d * (6 * each + 4 * ROWS_AT_A_TIME * m)
    stored = working + size * each * m * d
    is_stored = hold == "stored" or answers is not None or (hold == "auto" and budget.allows(stored))
    mode = "stored" if is_stored else "regenerated"
    what = f"each device's part of the decoupled problem with outputs {mode} over {mesh.size} devices"
    budget.require(stored if is_stored else working, what)
    inputs, key = _rows_of_stream("inputs", stream, p, mesh), stream.decoupled_key
    if answers is not None:
        own_set = lambda key: decoupled_vectors(key, numbers_here(each), m, d, stream.law)  # noqa: E731
        outputs = made_on_devices(own_set, mesh, ROWS, key)
        targets = placed(stream.targets(p, answers, frequencies), mesh, ROWS, each * mesh.size)
        words = f"decoupled, {answers} answers each, outputs stored in float32"
        return Spread(Separate(inputs, outputs, targets, words), mesh, p, m)

    def own(key: Key) -> Float[Array, "each d"]:
        return _first(p, numbers_here(each), decoupled_targets(key, numbers_here(each), d, stream.law))

    target_outputs = made_on_devices(own, mesh, ROWS, key)
    pieces = Regenerated(inputs, target_outputs, placed(key, mesh, WHOLE), stream.law, outputs_each=p)
    return Spread(stored_on_devices(pieces, mesh, dtype) if is_stored else pieces, mesh, p, p)


def ring_bytes(each: int, d: int, block: int, part: int) -> int:
    """Bytes that a device needs: inputs, queries, pull, targets and two more arrays of that size; three parts of the
    outputs (one that it works with, with a row of ones, and one that arrives); scores and weights of one block."""
    return 4 * (6 * each * d + 3 * part * d + 3 * block * part)


def _first(p: int, numbers: UInt32[Array, "rows"], rows: Float[Array, "rows d"]) -> Float[Array, "rows d"]:
    """The rows of the first p of a stream; the others, which are padding, are zero."""
    return jnp.where(numbers[:, None] < p, rows, 0)


def _rows_of_stream(purpose: str, stream: Stream, count: int, mesh: Mesh) -> Float[Array, "rows d"]:
    """The first inputs, or shared outputs, of a stream, each on the device that works with it."""
    numbers = lambda: numbers_here(rows_each(count, mesh))  # noqa: E731
    make = lambda key: _first(count, numbers(), vectors(key, numbers(), stream.d, stream.law).T)  # noqa: E731
    return made_on_devices(make, mesh, ROWS, stream_key(stream.seed, purpose, stream.d))
