"""Problems of many sizes for one compiled program: arrays are padded, and only the pass knows of the padding.

An accelerator would take longer to compile a program for every p than to run it. A padded problem is a longer problem
together with the number of its true associations. Everything that it reports is about these alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from loadstone.arguments import instance_of, refuse, whole
from loadstone.kernels.recall import Recall, Slope, without_padding
from loadstone.problems.arrays import Arrays
from loadstone.problems.decoupled import Regenerated, Stored
from loadstone.problems.facts import Facts
from loadstone.problems.prepared import prepared
from loadstone.problems.problem import Problem
from loadstone.problems.wrapper import Wrapper
from loadstone.trees import tree


@tree(data=["longer", "count"])
@dataclass(frozen=True)
class Padded(Wrapper):
    """The first `count` associations of a longer problem, with their first `count` outputs.

    longer: the problem with padding; its inputs and targets from `count` on are zero.
    count: the number of true associations.
    """

    longer: Facts | Regenerated | Stored
    count: Int[Array, ""]

    @property
    def _wrapped(self) -> Facts | Regenerated | Stored:
        return self.longer

    @property
    def associations(self) -> Int[Array, ""]:
        return self.count

    @property
    def competitors(self) -> int:
        return int(self.count)

    def slopes(self, queries: Float[Array, "rows d"], precision: str = "float32") -> tuple[Recall, Slope]:
        recall, slope = self.longer.slopes(queries, precision, self.count)
        return without_padding(recall, slope, self.count, self.target_outputs)

    def prepared(self, precision: str) -> Problem:
        return prepared(self, self.longer, self.count, precision) if isinstance(self.longer, Facts) else self

    def scores(self, queries: Float[Array, "b d"], rows: Int[Array, "b"]) -> Float[Array, "b rows"]:
        """Outputs that are padding score minus infinity, so they come last for every query."""
        scores = self.longer.scores(queries, rows)
        return jnp.where(jnp.arange(scores.shape[1])[None, :] < self.count, scores, -jnp.inf)

    def part(self, rows: Int[Array, "b"], counted: Bool[Array, "b"]) -> Padded | None:
        """Some associations, at most as many as the true ones: rows beyond these would be taken for padding."""
        return Padded(self.longer.part(rows, counted), self.count) if isinstance(self.longer, Facts) else None

    def arrays(self) -> Arrays:
        return self.unpadded().arrays()

    def in_float16(self) -> Padded:
        return replace(self, longer=self.longer.in_float16()) if isinstance(self.longer, Stored) else self

    def in_float32(self) -> Padded:
        return Padded(self.longer.in_float32(), self.count)

    def in_float64(self) -> Padded:
        return Padded(self.longer.in_float64(), self.count)

    def unpadded(self) -> Facts | Regenerated | Stored:
        """The same instance without padding."""
        longer, p = self.longer, int(self.count)
        shares = None if self.shares is None else self.shares[:p]
        if isinstance(longer, Facts):
            inputs, outputs, targets = (part[:p] for part in (longer.inputs, longer.outputs, longer.targets))
            whole = longer.given
            given = whole and Arrays(whole.inputs[:p], whole.outputs[:p], whole.targets[:p])
            changes: dict[str, Any] = {"inputs": inputs, "outputs": outputs, "targets": targets, "shares": shares}
            return replace(longer, **changes, given=given)
        changes = {"inputs": longer.inputs[:p], "target_outputs": longer.target_outputs[:p], "shares": shares}
        if isinstance(longer, Stored) and longer.parts is longer.rounded:
            longer = longer.source
        if isinstance(longer, Stored):
            before = np.cumsum([0, *(part.shape[0] for part in longer.parts)])
            cut = (part[: p - first, :, :p] for part, first in zip(longer.parts, before) if first < p)
            changes |= {"parts": tuple(cut), "source": replace(longer.source, **changes)}
        return replace(longer, **changes)


def padded(longer: Facts | Regenerated | Stored, p: int) -> Padded:
    """The first p associations of a problem in which association mu has output mu as its target.

    Example:
        >>> from loadstone.problems.padded import padded
        >>> problem = padded(loadstone.original(loadstone.Stream(0, 4), 8), 6)
        >>> problem.inputs.shape, problem.arrays().inputs.shape
        ((8, 4), (6, 4))
    """
    instance_of("longer", longer, (Facts, Regenerated, Stored), "facts, or an original or decoupled problem")
    rows = longer.inputs.shape[0]
    p = whole("p", p, 2, rows)
    # Under `jax.eval_shape` there are only shapes, and no numbers to compare.
    shapes_only = isinstance(longer.targets, jax.core.Tracer)
    if longer.competitors != rows or not (shapes_only or np.array_equal(longer.targets, np.arange(rows))):
        raise refuse("problem", "one with other targets", "one in which association mu has output mu as its target")
    inside = jnp.arange(rows) < p
    cut = lambda part: jnp.where(inside[:, None], part, 0)  # noqa: E731
    changes: dict[str, Any]
    inputs = cut(longer.inputs)
    shares = None if longer.shares is None else jnp.where(inside, longer.shares, 0)
    if isinstance(longer, Facts):
        changes = {"inputs": inputs, "outputs": cut(longer.outputs), "shares": shares}
        if longer.given is not None:
            arrays, kept = longer.arrays(), np.arange(rows)[:, None] < p
            changes["given"] = Arrays(arrays.inputs * kept, arrays.outputs * kept, arrays.targets)
        return Padded(replace(longer, **changes), jnp.int32(p))
    changes = {"inputs": inputs, "target_outputs": cut(longer.target_outputs), "shares": shares}
    if isinstance(longer, Stored):
        changes["source"] = replace(longer.source, **changes)
    return Padded(replace(longer, **changes), jnp.int32(p))
