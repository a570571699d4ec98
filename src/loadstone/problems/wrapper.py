"""A problem that wraps another one: whatever it does not change is passed on here."""

from __future__ import annotations

import abc
from operator import attrgetter
from typing import TYPE_CHECKING, Self

from jaxtyping import Array, Float, Int
from numpy.typing import ArrayLike

from loadstone.arguments import refuse
from loadstone.problems.problem import PassWithSlopes, Problem


class Wrapper(PassWithSlopes):
    """A problem with the rows of another one.

    Some of these rows may be padding. So whatever depends on how many of them count, or on which outputs compete, is
    not passed on: a wrapper has to define it, or it cannot be made.
    """

    @property
    @abc.abstractmethod
    def _wrapped(self) -> Problem:
        """The other problem."""

    if not TYPE_CHECKING:  # Problem declares their types
        inputs, target_outputs, targets, shares, description = (
            property(attrgetter(f"_wrapped.{name}"))
            for name in ("inputs", "target_outputs", "targets", "shares", "description")
        )

    def weighted(self, shares: ArrayLike) -> Self:
        raise refuse("problem", type(self).__name__, "weighted before it is padded, spread or given lists of rivals")

    def gains_from_split(self) -> bool:
        return self._wrapped.gains_from_split()

    # Problem has both of these, but of a wrapper it would count the padding, and keep outputs that are rounded.
    @property
    @abc.abstractmethod
    def associations(self) -> Int[Array, ""] | int: ...

    @abc.abstractmethod
    def in_float32(self) -> Problem: ...


class SameOutputs(Wrapper):
    """A problem with the associations of another one, each against the same outputs."""

    @property
    def associations(self) -> Int[Array, ""] | int:
        return self._wrapped.associations

    @property
    def competitors(self) -> int:
        return self._wrapped.competitors

    def scores(self, queries: Float[Array, "b d"], rows: Int[Array, "b"]) -> Float[Array, "b m"]:
        return self._wrapped.scores(queries, rows)
