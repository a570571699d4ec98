"""What a memory must have: queries. It is a pytree, and solvers train its arrays of real numbers."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Array, Float

from loadstone.arguments import refuse


class Memory(abc.ABC):
    """A map from inputs to queries. Memories are frozen dataclasses that are registered as pytrees; arrays of real
    numbers are trained, other arrays (a mask of booleans, indices) stay as they are.

    Only `queries` is needed. A linear memory also has `matrix`, which spectra are computed from. Pytrees of other
    classes are memories, too: foreign.py.
    """

    #: Fields with real numbers that are not trained.
    fixed: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **more: Any) -> None:
        """A class with queries of its own is dense only if it says so itself: what it inherits speaks of others."""
        super().__init_subclass__(**more)
        if "queries" in vars(cls) and "is_dense" not in vars(cls):
            cls.is_dense = Memory.is_dense  # type: ignore[method-assign]

    @abc.abstractmethod
    def queries(self, inputs: Float[Array, "n d"], precision: str = "float32") -> Float[Array, "n d"]:
        """The query of each input. Multiply with `times(..., precision)` (kernels/products.py): such products and
        their derivatives are as fast as those of the pass."""

    @classmethod
    def initial(cls, d: int, seed: int) -> Memory:
        """A memory before training. A family whose rank can be chosen also takes `kappa`."""
        raise NotImplementedError(f"{cls.__name__} does not say how it starts: give a memory.")

    def matrix(self) -> Float[Array | np.ndarray, "d d"]:
        """W, if the query of every input e is W e."""
        raise NotImplementedError(f"{type(self).__name__} is not a linear map, or does not say its matrix.")

    def carried(self, left: Float[np.ndarray, "d d"], right: Float[np.ndarray, "d d"]) -> Memory | None:
        """The memory left W right, in float64; None if the family does not hold it."""
        return None

    @property
    def rank(self) -> int:
        """The largest rank that W can have."""
        return self.matrix().shape[-1]

    def is_dense(self, precision: str) -> bool:
        """Whether a pass in this precision should have `matrix()` rather than the queries: some passes then compute the
        queries themselves."""
        return False


@contextmanager
def in_digits_of(memory: Any) -> Iterator[bool]:
    """Switch on float64, without which JAX rounds to float32, if the memory has such numbers; says whether it has."""
    doubles = any(getattr(leaf, "dtype", None) == np.float64 for leaf in jax.tree.leaves(memory))
    with jax.enable_x64(True) if doubles else nullcontext():
        yield doubles


def check_dimension(memory: Memory, inputs: Float[Array, "n d"], d: int) -> None:
    """Refuse inputs whose dimension is not that of the memory."""
    if inputs.shape[-1] != d:
        name = type(memory).__name__
        raise refuse("inputs.shape", inputs.shape, f"(n, {d}), because the memory ({name}) has d = {d}")
