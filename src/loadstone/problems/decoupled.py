"""The decoupled problem: each input has a separate set of p outputs, stored or regenerated in every pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float16, Int

from loadstone.arguments import choice, refuse, whole
from loadstone.compiling import Call
from loadstone.frequencies import Frequencies, check_answers
from loadstone.kernels.decoupled_xla import ROWS_AT_A_TIME, decoupled_scores
from loadstone.kernels.devices import has_triton_kernels
from loadstone.kernels.outputs import RegeneratedOutputs, StoredOutputs, check_queries
from loadstone.kernels.recall import Recall, Slope
from loadstone.kernels.table import Case, is_faster_in_float16, regenerated_pass, stored_pass
from loadstone.problems.arrays import Arrays
from loadstone.problems.budget import MOST_FACTS, Budget, budget_of
from loadstone.problems.problem import PassWithSlopes, Problem
from loadstone.problems.separate import Separate
from loadstone.streams.counters import Key
from loadstone.streams.embeddings import decoupled_vectors
from loadstone.streams.stream import Stream, stream_of
from loadstone.trees import tree

#: How the outputs are held: stored if they fit ('auto'), stored, or regenerated in every pass.
WAYS_TO_HOLD = ("auto", "stored", "regenerated")
STORED_DTYPES = ("float32", "float16")

#: Stored outputs are split into several arrays, at most this many, so that no operation spans all associations.
_STORED_PARTS = 16
#: Each part has at least this many bytes: many small parts would only take longer to compile.
_PART_BYTES = 2**26
#: The fused kernel does a part in one launch, which should fill the device. It counts components in 31 bits, and while
#: a part is being made, a float32 copy of it exists too.
_KERNEL_COMPONENTS = 2**30
#: The most numbers that are rounded: 16 GB in float32, and another 8 GB in float16.
_MOST_ROUNDED = 4 * 10**9


@tree(data=["inputs", "target_outputs", "key", "shares", "first"], meta=["law", "description", "outputs_each"])
@dataclass(frozen=True)
class Regenerated(PassWithSlopes):
    """Outputs are regenerated from their counters, a few associations at a time, and never stored: memory O(p d).

    key: from which each association derives the stream of its outputs.
    law: the embedding law of the outputs.
    inputs, target_outputs, description, shares: see Problem.
    first: of a part of a problem, the number of its first association; None: 0.
    outputs_each: of a part of a problem, how many outputs each association has; None: as many as there are inputs.
    """

    inputs: Float[Array, "p d"]
    target_outputs: Float[Array, "p d"]
    key: Key
    law: str
    description: str = "decoupled, outputs regenerated"
    shares: Float[Array, "p"] | None = None
    first: Int[Array, ""] | None = None
    outputs_each: int | None = None

    @property
    def targets(self) -> Int[Array, "p"]:
        row = jnp.arange(self.inputs.shape[-2], dtype=jnp.int32)
        return row if self.first is None else self.first + row

    @property
    def competitors(self) -> int:
        return self.inputs.shape[-2] if self.outputs_each is None else self.outputs_each

    def slopes(
        self, queries: Float[Array, "p d"], precision: str = "float32", count: Int[Array, ""] | None = None
    ) -> tuple[Recall, Slope]:
        """Recall and slopes. Of a padded problem only the first `count` associations and outputs count."""
        check_queries(queries, self.inputs)
        first = 0 if self.first is None else self.first
        outputs = RegeneratedOutputs(self.key, self.law, self.competitors, self.target_outputs, first, count)
        return regenerated_pass(queries, outputs, precision)

    def scores(self, queries: Float[Array, "b d"], rows: Int[Array, "b"]) -> Float[Array, "b p"]:
        outputs = decoupled_vectors(self.key, rows.astype(jnp.uint32), self.competitors, self.inputs.shape[1], self.law)
        return decoupled_scores(queries, outputs, "float32")

    def arrays(self) -> Arrays:
        (p, d), m = self.inputs.shape, self.competitors
        outputs = np.empty((p, m, d), np.float32)
        for first in range(0, p, ROWS_AT_A_TIME):
            # The last block is full too and its extra rows are dropped: one compiled program makes all blocks.
            rows = first + np.arange(ROWS_AT_A_TIME, dtype=np.uint32)
            block = np.asarray(_vectors(self.key, jnp.asarray(rows), m, d, self.law))
            outputs[first : first + ROWS_AT_A_TIME] = block.transpose(0, 2, 1)[: p - first]
        return Arrays(np.asarray(self.inputs), outputs, np.arange(p, dtype=np.int32))

    def in_float32(self) -> Regenerated:
        return self

    def in_float64(self) -> Regenerated:
        return _doubled(self)


@tree(data=["inputs", "target_outputs", "parts", "source", "shares"], meta=["description"], apart=["rounded"])
@dataclass(frozen=True)
class Stored(PassWithSlopes):
    """Outputs are stored.

    parts: the outputs as arrays (associations, d, p), a few of them.
    source: the same problem with regenerated outputs.
    inputs, target_outputs, description, shares: see Problem.
    rounded: these very parts, if `source` has more digits of them. Where a problem was changed, its own parts count.
    """

    inputs: Float[Array, "p d"]
    target_outputs: Float[Array, "p d"]
    parts: tuple[Float[Array, "part d p"], ...]
    source: Regenerated
    description: str
    shares: Float[Array, "p"] | None = None
    rounded: tuple[Float[Array, "part d p"], ...] | None = field(default=None, compare=False, repr=False)

    @property
    def targets(self) -> Int[Array, "p"]:
        return self.source.targets

    @property
    def competitors(self) -> int:
        return self.source.competitors

    def slopes(
        self, queries: Float[Array, "p d"], precision: str = "float32", count: Int[Array, ""] | None = None
    ) -> tuple[Recall, Slope]:
        """Recall and slopes. Of a padded problem only the first `count` associations and outputs count."""
        check_queries(queries, self.inputs)
        passes, before, first = [], 0, self.source.first
        for part in self.parts:
            rows = slice(before, before + part.shape[0])
            begin = before if first is None else first + before
            outputs = StoredOutputs(part, begin, self.target_outputs[rows], count)
            passes.append(stored_pass(queries[rows], outputs, precision))
            before = rows.stop
        recalls, slopes = zip(*passes)
        return Recall(*(jnp.concatenate(field) for field in zip(*recalls))), jnp.concatenate(slopes)

    def scores(self, queries: Float[Array, "b d"], rows: Int[Array, "b"]) -> Float[Array, "b p"]:
        if self._exact is not self:
            return self._exact.scores(queries, rows)
        outputs, before = self.parts[0][rows], self.parts[0].shape[0]
        for part in self.parts[1:]:
            outputs = jnp.where((rows < before)[:, None, None], outputs, part[rows - before])
            before += part.shape[0]
        return decoupled_scores(queries, outputs.astype(queries.dtype), "float32")

    def arrays(self) -> Arrays:
        if self._exact is not self:
            return self._exact.arrays()
        outputs = np.concatenate([np.asarray(part).transpose(0, 2, 1) for part in self.parts])
        return Arrays(np.asarray(self.inputs), outputs, np.asarray(self.targets))

    @property
    def _exact(self) -> Stored | Regenerated:
        """The same problem with all digits of its outputs."""
        if self.rounded is None or self.parts is not self.rounded:
            return self
        return replace(self.source, inputs=self.inputs, target_outputs=self.target_outputs, shares=self.shares)

    def in_float16(self) -> Stored:
        """The slow part of a pass is to read the outputs, so half of the bytes take half of the time. They are rounded
        where the fused pass over float16 numbers can be used, and where the copy takes at most half of the free memory
        and not too much of what others might need."""
        part = self.parts[0]
        shape = part.shape[0], self.competitors, self.inputs.shape[1]
        is_faster = is_faster_in_float16(Case("float16", *shape, self.inputs.dtype, held=jnp.float16))
        if part.dtype != jnp.float32 or not is_faster:
            return self
        numbers = sum(part.size for part in self.parts)
        if numbers > _MOST_ROUNDED or not Budget().allows(2 * numbers):
            return self
        parts = tuple(rounded_part(part) for part in self.parts)
        return replace(self, parts=parts, rounded=parts)

    def in_float32(self) -> Stored | Regenerated:
        return self._exact

    def in_float64(self) -> Stored | Regenerated:
        exact = self._exact
        return _doubled(exact) if isinstance(exact, Stored) else _doubled(exact)


Held = TypeVar("Held", Regenerated, Stored)


def _doubled(problem: Held) -> Held:
    """The problem with inputs and targets in float64; a pass converts the outputs that it works on."""
    inputs, target_outputs = (part.astype(jnp.float64) for part in (problem.inputs, problem.target_outputs))
    return replace(problem, inputs=inputs, target_outputs=target_outputs)


_vectors = partial(jax.jit, static_argnums=(2, 3, 4))(decoupled_vectors)


@jax.jit
def rounded_part(outputs: Float[Array, "part d p"]) -> Float16[Array, "part d p"]:
    return outputs.astype(jnp.float16)


def stored_parts(problem: Problem) -> tuple[jax.Array, ...]:
    """The arrays in which a decoupled problem stores its outputs, padded or not; none if it does not."""
    return getattr(getattr(problem, "longer", problem), "parts", ())


def rounding_programs(problem: Problem) -> Iterator[Call]:
    """The compiled functions that `in_float16` calls, given the shapes of a problem."""
    yield from ((rounded_part, (part,)) for part in set(stored_parts(problem)))


def decoupled(
    stream: Stream,
    p: int,
    *,
    budget: Budget | None = None,
    hold: str = "auto",
    dtype: str = "float32",
    answers: int | None = None,
    frequencies: Frequencies = "uniform",
) -> Stored | Regenerated | Separate:
    """The first p associations of a stream, each with a separate set of p outputs, or of as many as `answers` says.

    Of p outputs, output mu is the target of association mu; of `answers` outputs one that is drawn with `frequencies`
    (frequencies.py). These are stored in float32.

    `hold` 'auto' stores the outputs when they fit into the budget and regenerates them otherwise; the problem's
    description says which. `dtype` 'float16' halves the memory of stored outputs, which are then rounded to 11 bits.

    Example:
        >>> problem = loadstone.decoupled(loadstone.Stream(0, 4), 6, hold="regenerated")
        >>> problem.arrays().outputs.shape, problem.description
        ((6, 6, 4), 'decoupled, outputs regenerated')
    """
    p, d = whole("p", p, 2, MOST_FACTS), stream_of(stream).d
    hold, dtype = choice("hold", hold, WAYS_TO_HOLD), choice("dtype", dtype, STORED_DTYPES)
    answers, frequencies = check_answers(answers, frequencies)
    budget = budget_of(budget)
    if answers is not None:
        check_stored_answers(hold, dtype)
        budget.require(4 * p * d * (6 + answers), "the decoupled problem with outputs stored")
        targets = jnp.asarray(stream.targets(p, answers, frequencies))
        words = f"decoupled, {answers} answers each, outputs stored in float32"
        return Separate(stream.inputs(p), stream.decoupled_outputs(0, p, answers), targets, words)
    stored = decoupled_bytes(p, d, dtype)
    needed = stored if hold == "stored" else decoupled_bytes(p, d)
    budget.require(needed, f"the decoupled problem with outputs {'stored' if hold == 'stored' else 'regenerated'}")
    regenerated = Regenerated(stream.inputs(p), stream.decoupled_targets(p), stream.decoupled_key, stream.law)
    if hold == "regenerated" or not budget.allows(stored):
        return regenerated
    return store(stream, regenerated, dtype)


def check_stored_answers(hold: str, dtype: str, where: str = "a number of answers is given") -> None:
    """Refuse ways of holding outputs that exist only where every association has its own p of them."""
    if hold == "regenerated":
        raise refuse("hold", hold, f"auto or stored if {where}")
    if dtype != "float32":
        raise refuse("stored_dtype", dtype, f"float32 if {where}")


def decoupled_bytes(p: int, d: int, dtype: str | None = None) -> int:
    """Bytes that the problem takes, its pass included, with outputs stored in `dtype`, or regenerated if None."""
    working = 4 * p * d * (6 + 4 * ROWS_AT_A_TIME)
    return working + (jnp.dtype(dtype).itemsize * p * p * d if dtype else 0)


def rows_of_a_part(p: int, d: int, itemsize: int, *, fused: bool) -> int:
    """How many associations have their stored outputs in one array, where passes are fused kernels or not."""
    parts = -(-p // max(1, _KERNEL_COMPONENTS // (p * d)))
    if not fused:
        parts = min(_STORED_PARTS, -(-itemsize * p * p * d // _PART_BYTES), p)
    return -(-p // parts)


def store(stream: Stream, regenerated: Regenerated, dtype: str = "float32") -> Stored:
    """Store the outputs of a regenerated problem, each float32 value rounded once to `dtype`."""
    p, d = regenerated.inputs.shape
    rows = rows_of_a_part(p, d, jnp.dtype(dtype).itemsize, fused=has_triton_kernels())
    parts = tuple(stream.decoupled_outputs(first, min(rows, p - first), p).astype(dtype) for first in range(0, p, rows))
    description = f"decoupled, outputs stored in {dtype}"
    kept = None if dtype == "float32" else parts
    return Stored(regenerated.inputs, regenerated.target_outputs, parts, regenerated, description, rounded=kept)
