"""What an embedding law must have."""

from __future__ import annotations

import abc
from typing import ClassVar

from jaxtyping import Array, Float32, UInt32


class Law(abc.ABC):
    """How random words become vectors. Laws are frozen dataclasses whose fields are their parameters.

    Every law should have E|x|^2 = d, so that one learning rate fits them all, and must give the same bits on every
    device: use `normals` (streams/normals.py) and operations that round the same way everywhere.
    """

    #: Whether no direction is special: then no coordinates are better than these for a solver.
    isotropic: ClassVar[bool] = False

    @abc.abstractmethod
    def vectors(self, words: UInt32[Array, "words n"]) -> Float32[Array, "d n"]:
        """n vectors as columns, the j-th one from the j-th column of `self.words(d)` independent 32-bit words."""

    def words(self, d: int) -> int:
        """How many words a vector of d components takes."""
        return d
