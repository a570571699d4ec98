"""One seed is one infinite sequence of associations: its first p are the instance of p associations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float32, Int32, UInt32

from loadstone.arguments import instance_of, set_as, whole
from loadstone.compiling import Call
from loadstone.forks import check_not_forked
from loadstone.frequencies import Frequencies, check_answers
from loadstone.readable import readable
from loadstone.streams.counters import KEY_SHAPE, Key, stream_key
from loadstone.streams.embeddings import decoupled_targets, decoupled_vectors, vectors
from loadstone.streams.laws.registry import check_law, law_of
from loadstone.streams.targets import draw_targets


@dataclass(frozen=True)
class Stream:
    """The associations of one seed in dimension d, with embeddings drawn from `law`.

    Every law has E|x|^2 = d: 'gaussian' is N(0, I_d), 'sphere' uniform at radius sqrt(d), 'rademacher' random signs
    (streams/laws has them all). Original and decoupled problems of one seed share their inputs.

    seed: which stream, in 0..2^64 - 1.
    d: dimension of inputs and outputs.
    law: name of the embedding law, with its parameters, if any, after a colon.
    """

    seed: int
    d: int
    _: KW_ONLY
    law: str = "gaussian"

    __repr__ = readable

    def __post_init__(self) -> None:
        whole("seed", self.seed, 0, 2**64 - 1)
        whole("d", self.d, 1)
        set_as(self, "law", check_law(self.law))

    @property
    def isotropic(self) -> bool:
        """Whether no direction of the embeddings is special."""
        return law_of(self.law).isotropic

    def inputs(self, p: int) -> Float32[Array, "p d"]:
        return self._shared("inputs", p)

    def outputs(self, p: int) -> Float32[Array, "p d"]:
        """Outputs that all inputs share (original problem)."""
        return self._shared("outputs", p)

    def targets(self, n: int, answers: int, frequencies: Frequencies = "uniform") -> Int32[np.ndarray, "n"]:
        """For each of the first n inputs, which of M answers is its target: see frequencies.py."""
        _, frequencies = check_answers(whole("answers", answers, 2), frequencies)
        return draw_targets(self.seed, self.d, whole("n", n, 1, 2**31 - 1), answers, frequencies)

    @property
    def decoupled_key(self) -> Key:
        """The key from which each association derives the stream of its outputs (decoupled problem)."""
        return stream_key(self.seed, "decoupled outputs", self.d)

    def decoupled_outputs(self, first: int, rows: int, p: int) -> Float32[Array, "rows d p"]:
        """The p outputs of each of the associations first, ..., first + rows - 1 (decoupled problem), as columns."""
        count, key = _rounded_up(_count(p)), self.decoupled_key
        at_a_time = _ROWS if jax.default_backend() == "cpu" else rows
        last = first + rows
        return _joined([
            _first(_decoupled_block(key, jnp.uint32(start), at_a_time, count, self.d, self.law), last - start, p)
            for start in range(first, last, at_a_time)
        ])  # fmt: skip

    def grouped_outputs(self, p: int, groups: int, m: int) -> Float32[Array, "p d m"]:
        """The m outputs of each of the first p associations, as columns: those of its group (problems/kinds.py)."""
        if groups == 1:
            return jnp.broadcast_to(self.outputs(m).T, (p, self.d, m))
        # Group k has the outputs of association k in the decoupled problem.
        array = self.decoupled_outputs(0, min(groups, p), m)
        if groups >= p:
            return array
        group = np.arange(p) % groups
        return jax.device_put(np.asarray(array)[group]) if _on_the_host(array) else array[group]

    def decoupled_targets(self, p: int) -> Float32[Array, "p d"]:
        """u_mu^(mu): output mu of association mu."""
        return _first(_decoupled_targets(self.decoupled_key, _rounded_up(_count(p)), self.d, self.law), p)

    def shared_programs(self, p: int) -> Iterator[Call]:
        """The compiled functions that `inputs` and `outputs` call for p vectors."""
        yield _shared_rows, (KEY_SHAPE, _rounded_up(p), self.d, self.law)

    def decoupled_programs(self, rows: int, p: int) -> Iterator[Call]:
        """The compiled functions that `decoupled_outputs` calls for `rows` associations with p outputs each."""
        at_a_time = _ROWS if jax.default_backend() == "cpu" else rows
        first = jax.ShapeDtypeStruct((), jnp.uint32)
        yield _decoupled_block, (KEY_SHAPE, first, at_a_time, _rounded_up(p), self.d, self.law)

    def target_programs(self, p: int) -> Iterator[Call]:
        """The compiled functions that `decoupled_targets` calls."""
        yield _decoupled_targets, (KEY_SHAPE, _rounded_up(p), self.d, self.law)

    def _shared(self, purpose: str, p: int) -> Float32[Array, "p d"]:
        key = stream_key(self.seed, purpose, self.d)
        return _first(_shared_rows(key, _rounded_up(_count(p)), self.d, self.law), p)


# Each shape needs a compiled program. Because streams are nested, a few vectors more than needed may be made: with the
# number rounded up, many values of p share one program. An accelerator makes all rows at once.
_ROWS, _COLUMNS = 8, 128


def stream_of(stream: Stream) -> Stream:
    """`stream`, or a refusal of what is none."""
    return instance_of("stream", stream, Stream, "a Stream, such as Stream(0, 20)")


def _rounded_up(count: int) -> int:
    return -(-count // _COLUMNS) * _COLUMNS


def _count(p: int) -> int:
    check_not_forked()
    return whole("p", p, 2, 2**31 - 1)


def _first(array: Float32[Array, "..."], rows: int, columns: int | None = None) -> Float32[Array, "..."]:
    """The first rows, and of each the first entries along the last axis."""
    if _on_the_host(array):
        return jax.device_put(np.asarray(array)[:rows, ..., :columns])
    return array[:rows, ..., :columns]


def _joined(pieces: list[Float32[Array, "..."]]) -> Float32[Array, "..."]:
    if len(pieces) == 1:
        return pieces[0]
    if not _on_the_host(pieces[0]):
        return jnp.concatenate(pieces)
    joined = np.concatenate(pieces)
    pieces.clear()  # or there would be three copies
    return jax.device_put(joined)


def _on_the_host(array: Array) -> bool:
    """Whether NumPy can cut and join this: JAX would compile a program for each shape."""
    return jax.default_backend() == "cpu" and not isinstance(array, jax.core.Tracer)


@partial(jax.jit, static_argnums=(1, 2, 3))
def _shared_rows(key: Key, p: int, d: int, law: str) -> Float32[Array, "p d"]:
    return vectors(key, jnp.arange(p, dtype=jnp.uint32), d, law).T


@partial(jax.jit, static_argnums=(2, 3, 4, 5))
def _decoupled_block(
    key: Key, first: UInt32[Array, ""], rows: int, p: int, d: int, law: str
) -> Float32[Array, "rows d p"]:
    return decoupled_vectors(key, first + jnp.arange(rows, dtype=jnp.uint32), p, d, law)


@partial(jax.jit, static_argnums=(1, 2, 3))
def _decoupled_targets(key: Key, p: int, d: int, law: str) -> Float32[Array, "p d"]:
    return decoupled_targets(key, jnp.arange(p, dtype=jnp.uint32), d, law)
