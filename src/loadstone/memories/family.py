"""What a family of memories can do, once its parameters are known."""

from __future__ import annotations

import abc
from collections.abc import Mapping

import numpy as np

from loadstone.arguments import refuse
from loadstone.memories.memory import Memory
from loadstone.memories.subspaces.subspace import Subspace


class Family(abc.ABC):
    """A set of memories. Families are frozen dataclasses, and their fields are their parameters, as in 'relu:20'.

    Most families need no class of this kind: a class of memories with `initial`, or a `Subspace`, is a family already.
    """

    def check(self, d: int) -> None:  # noqa: B027
        """Refuse a dimension in which there is no such family; as a rule every dimension will do."""

    @abc.abstractmethod
    def initial(self, d: int, seed: int) -> Memory:
        """A memory before training."""

    def subspace(self, d: int, seed: int | None) -> Subspace | None:
        """The subspace of a linear family; None if the family is not linear."""
        return None

    def statistical_dimension(self, d: int, directions: int) -> float | None:
        """See `Memory.statistical_dimension`."""
        return None

    @classmethod
    def loaded(cls, family: str, arrays: Mapping[str, np.ndarray]) -> Memory:
        """See `Memory.loaded`."""
        raise refuse("family", family, "one whose memories are kept in files")
