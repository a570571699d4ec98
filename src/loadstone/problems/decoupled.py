"""The decoupled problem: each input has p competing outputs of its own, stored or made anew in every pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, Int

from loadstone.arguments import choice, whole
from loadstone.problems.arrays import Arrays
from loadstone.problems.budget import Budget
from loadstone.problems.counters import Key
from loadstone.problems.embeddings import own_vectors
from loadstone.problems.passes import gpu
from loadstone.problems.passes.own import own_recall, own_scores
from loadstone.problems.passes.shared import over_blocks
from loadstone.problems.problem import Problem
from loadstone.problems.recall import Recall, first_only
from loadstone.problems.stream import Stream

FORMS = ("auto", "stored", "regenerated")
STORED_DTYPES = ("float32", "float16")

#: Stored outputs lie in this many arrays at most, so that no operation ever spans all associations.
_STORED_PARTS = 16
#: A part is at least this large: many small parts would only take longer to compile.
_PART_BYTES = 2**26
#: The fused kernel does a part in one launch, which should fill the device; it counts components in 31 bits, and while
#: a part is made it is there in float32 as well.
_KERNEL_COMPONENTS = 2**30
#: Associations whose outputs are made, or converted to float32, at a time.
_ROWS_AT_A_TIME = 4


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["inputs", "target_outputs", "key", "count"],
    meta_fields=["law", "block", "form"],
)
@dataclass(frozen=True)
class Regenerated(Problem):
    """Outputs are made from their counters, a few associations at a time, and never stored: memory O(p d)."""

    inputs: Float32[Array, "p d"]
    target_outputs: Float32[Array, "p d"]
    key: Key
    law: str
    block: int = _ROWS_AT_A_TIME
    form: str = "decoupled, outputs regenerated"
    count: Int[Array, ""] | None = None

    @property
    def targets(self) -> Int[Array, "p"]:
        return jnp.arange(self.inputs.shape[0], dtype=jnp.int32)

    def recall(self, queries: Float[Array, "p d"], precision: str = "float32") -> Recall:
        p, d = queries.shape
        if gpu.own_kernels() and self.law == "gaussian" and queries.dtype == jnp.float32:
            from loadstone.problems.passes.own_gpu import made_recall

            return self._cut(made_recall(jnp.asarray(self.associations, jnp.int32), self.key, queries))

        def recall_rows(start: int, rows: int) -> Recall:
            places = start + jnp.arange(rows, dtype=jnp.int32)
            outputs = own_vectors(self.key, places.astype(jnp.uint32), p, d, self.law)
            return own_recall(
                jax.lax.dynamic_slice_in_dim(queries, start, rows), outputs, places, precision, self.count
            )

        return self._cut(over_blocks(recall_rows, p, d, queries.dtype, self.block))

    def _cut(self, recall: Recall) -> Recall:
        return recall if self.count is None else first_only(recall, self.count, self.target_outputs)

    def scores(self, queries: Float[Array, "b d"], rows: Int[Array, "b"]) -> Float[Array, "b p"]:
        p, d = self.inputs.shape
        return own_scores(queries, own_vectors(self.key, rows.astype(jnp.uint32), p, d, self.law), "float32")

    def arrays(self) -> Arrays:
        p, d = int(self.associations), self.inputs.shape[1]
        outputs = np.empty((p, p, d), np.float32)
        for first in range(0, p, _ROWS_AT_A_TIME):
            # The last rows are made with a full block of others, so that one compiled program does them all.
            rows = first + np.arange(_ROWS_AT_A_TIME, dtype=np.uint32)
            made = np.asarray(_made(self.key, jnp.asarray(rows), p, d, self.law))
            outputs[first : first + _ROWS_AT_A_TIME] = made.transpose(0, 2, 1)[: p - first]
        return Arrays(np.asarray(self.inputs)[:p], outputs, np.arange(p, dtype=np.int32))

    def in_float32(self) -> "Regenerated":
        return self


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["inputs", "target_outputs", "parts", "source"],
    meta_fields=["form"],
)
@dataclass(frozen=True)
class Stored(Problem):
    """Outputs are kept, as (associations, d, p), in a few parts; `source` can make them anew."""

    inputs: Float32[Array, "p d"]
    target_outputs: Float32[Array, "p d"]
    parts: tuple[Float[Array, "part d p"], ...]
    source: Regenerated
    form: str

    @property
    def targets(self) -> Int[Array, "p"]:
        return self.source.targets

    @property
    def count(self) -> Int[Array, ""] | None:
        return self.source.count

    def recall(self, queries: Float[Array, "p d"], precision: str = "float32") -> Recall:
        recalls, first = [], 0
        for part in self.parts:
            rows = part.shape[0]
            recalls.append(_recall_part(queries[first : first + rows], part, first, precision, self.associations))
            first += rows
        found = Recall(*(jnp.concatenate(field) for field in zip(*recalls)))
        return found if self.count is None else first_only(found, self.count, self.target_outputs)

    def scores(self, queries: Float[Array, "b d"], rows: Int[Array, "b"]) -> Float[Array, "b p"]:
        if len(self.parts) == 1 and self.parts[0].dtype == jnp.float32:
            return own_scores(queries, self.parts[0][rows], "float32")
        return self.source.scores(queries, rows)

    def arrays(self) -> Arrays:
        return self.source.arrays()

    def in_float32(self) -> "Stored | Regenerated":
        return self if self.parts[0].dtype == jnp.float32 else self.source


_made = partial(jax.jit, static_argnums=(2, 3, 4))(own_vectors)


def _recall_part(
    queries: Float[Array, "part d"],
    outputs: Float[Array, "part d p"],
    first: int,
    precision: str,
    count: Int[Array, ""] | int,
) -> Recall:
    rows, d = queries.shape
    if gpu.own_kernels() and queries.dtype == jnp.float32:
        from loadstone.problems.passes.own_gpu import stored_recall

        return stored_recall(jnp.asarray(count, jnp.int32), jnp.int32(first), queries, outputs)
    padded = None if isinstance(count, int) else count
    # A float32 part is read in place. A float16 part that is to be converted is converted in small pieces, because
    # the float32 copy would otherwise be as large as what float16 saves.
    whole_part = outputs.dtype == queries.dtype or precision in ("float16", "bfloat16")

    def recall_rows(start: int, size: int) -> Recall:
        places = first + start + jnp.arange(size, dtype=jnp.int32)
        piece = outputs if size == rows else jax.lax.dynamic_slice_in_dim(outputs, start, size)
        return own_recall(jax.lax.dynamic_slice_in_dim(queries, start, size), piece, places, precision, padded)

    return over_blocks(recall_rows, rows, d, queries.dtype, rows if whole_part else _ROWS_AT_A_TIME)


def decoupled(
    stream: Stream,
    p: int,
    budget: Budget | None = None,
    form: str = "auto",
    dtype: str = "float32",
    rows: int | None = None,
) -> Stored | Regenerated:
    """The first p associations of a stream, each with its own p outputs; filled up to `rows`, so that all p up to there
    share compiled programs.

    `form` 'auto' stores the outputs when they fit into the budget and regenerates them otherwise; the problem's
    `form` says which. `dtype` 'float16' halves the memory of stored outputs, which are then rounded to 11 bits.
    """
    p, d = whole("p", p, 2), stream.d
    n = p if rows is None else whole("rows", rows, p)
    form, dtype = choice("form", form, FORMS), choice("dtype", dtype, STORED_DTYPES)
    budget = budget or Budget()
    stored = decoupled_bytes(n, d, dtype)
    needed = stored if form == "stored" else decoupled_bytes(n, d)
    budget.require(needed, f"the decoupled problem with outputs {_adjective(form)}")
    vectors, count = (stream.inputs(n), stream.own_targets(n)), None
    if rows is not None:
        count = jnp.int32(p)
        vectors = tuple(jnp.where((jnp.arange(n) < count)[:, None], part, 0) for part in vectors)
    regenerated = Regenerated(*vectors, stream.own_outputs_key, stream.law, count=count)
    if form == "regenerated" or not budget.allows(stored):
        return regenerated
    return store(stream, regenerated, dtype)


def decoupled_bytes(n: int, d: int, dtype: str | None = None) -> int:
    """What the problem takes with outputs stored in `dtype`, or else regenerated; its pass included."""
    working = 4 * n * d * (6 + 4 * _ROWS_AT_A_TIME)
    return working + (jnp.dtype(dtype).itemsize * n * n * d if dtype else 0)


def store(stream: Stream, regenerated: Regenerated, dtype: str = "float32") -> Stored:
    """Keep the outputs of a regenerated problem, each float32 value rounded once to `dtype`."""
    p, d = regenerated.inputs.shape
    if gpu.own_kernels():
        wanted = -(-p // max(1, _KERNEL_COMPONENTS // (p * d)))
    else:
        wanted = min(_STORED_PARTS, -(-jnp.dtype(dtype).itemsize * p * p * d // _PART_BYTES), p)
    rows = -(-p // wanted)
    parts = tuple(stream.own_outputs(first, min(rows, p - first), p).astype(dtype) for first in range(0, p, rows))
    form = f"decoupled, outputs stored in {dtype}"
    return Stored(regenerated.inputs, regenerated.target_outputs, parts, regenerated, form)


def _adjective(form: str) -> str:
    return "stored" if form == "stored" else "regenerated"
