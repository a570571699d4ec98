"""The base class of memories. A memory is a pytree with queries, and solvers train its arrays of real numbers."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import fields
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from loadstone.arguments import refuse
from loadstone.kernels.products import mapped
from loadstone.memories.subspaces.subspace import Subspace


class Memory(abc.ABC):
    """A map from inputs to queries. Memories are frozen dataclasses that are registered as pytrees; arrays of real
    numbers are trained, other arrays (a mask of booleans, indices) stay as they are.

    Only `queries` is needed. A linear memory also has `matrix`, which spectra are computed from. Pytrees of other
    classes are memories, too: foreign.py.
    """

    #: Fields with real numbers that are not trained.
    fixed: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **more: Any) -> None:
        """A class with its own `queries` does not inherit `is_dense`, which is about the queries of its parent."""
        super().__init_subclass__(**more)
        if "queries" in vars(cls) and "is_dense" not in vars(cls):
            cls.is_dense = Memory.is_dense  # type: ignore[method-assign]

    @abc.abstractmethod
    def queries(self, inputs: Float[Array, "n d"], precision: str = "float32") -> Float[Array, "n d"]:
        """The query of each input. Multiply with `times(..., precision)` (kernels/products.py): such products and
        their derivatives are as fast as those of the pass."""

    @classmethod
    def initial(cls, d: int, seed: int) -> Memory:
        """A memory before training. A family with parameters takes them after d and seed: `initial(d, seed, factor)`
        makes a memory of 'kronecker:4'. A rank that can be chosen is called `m`."""
        raise NotImplementedError(f"{cls.__name__} does not say how it starts: give a memory.")

    @classmethod  # noqa: B027
    def check(cls, d: int, **parameters: Any) -> None:
        """Refuse parameters, those of `initial`, with which there is no such family of d x d memories."""

    @classmethod
    def subspace_of_family(cls, d: int, seed: int | None, **parameters: Any) -> Subspace | None:
        """All members of the family with these parameters, if they are a subspace; None if they are not."""
        return None

    @classmethod
    def statistical_dimension(cls, d: int, directions: int, **parameters: Any) -> float | None:
        """The statistical dimension of the family with these parameters, or an upper bound, if only this many
        directions of the queries count (theory/families.py). None: it is not known."""
        return None

    def in_file(self) -> tuple[str | None, Mapping[str, Any]]:
        """The text of the memory's family, and the arrays to save. None: the text is the name of its class in
        families.py."""
        return None, {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def loaded(cls, family: str, arrays: Mapping[str, np.ndarray]) -> Memory:
        """The memory with these saved arrays, or a refusal of arrays that make no memory of this family."""
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        if set(names) != arrays.keys():
            raise refuse("arrays", ", ".join(arrays), f"those of the family {family!r}: {', '.join(names)}")
        memory = cls(**{name: kept(array) for name, array in arrays.items()})
        check_square(memory, arrays)
        return memory

    def matrix(self) -> Float[Array | np.ndarray, "d d"]:
        """W, if the query of every input e is W e."""
        raise NotImplementedError(f"{type(self).__name__} is not a linear map, or does not say its matrix.")

    def transformed(self, left: Float[np.ndarray, "d d"], right: Float[np.ndarray, "d d"]) -> Memory | None:
        """The memory left W right, in float64; None if the family does not contain it."""
        return None

    @property
    def rank(self) -> int:
        """The largest rank that W can have."""
        return self.matrix().shape[-1]

    def is_dense(self, precision: str) -> bool:
        """Whether a pass in this precision should be given `matrix()` rather than the queries, which some passes then
        compute themselves."""
        return False


class Dense(Memory):
    """A linear memory that is trained as a d x d array: its queries are W e, and passes may take W itself."""

    @abc.abstractmethod
    def matrix(self) -> Float[Array | np.ndarray, "d d"]:
        """W."""

    def queries(self, inputs: Float[Array, "n d"], precision: str = "float32") -> Float[Array, "n d"]:
        check_dimension(self, inputs, self.rank)
        return mapped(inputs, self.matrix(), precision)

    @property
    def rank(self) -> int:
        return jax.tree.leaves(self)[0].shape[-1]

    def is_dense(self, precision: str) -> bool:
        return True


def kept(array: np.ndarray) -> np.ndarray | Array:
    """An array from a file as an array of JAX, or of NumPy where JAX would round or cut its numbers."""
    return array if array.dtype != jax.dtypes.canonicalize_dtype(array.dtype) else jnp.asarray(array)


def check_square(memory: Memory, arrays: Mapping[str, Any]) -> None:
    """Refuse arrays that do not make a d x d memory."""
    shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
    bad = refuse("file", f"one with {shapes}", "one whose arrays make a d x d memory")
    try:
        d, columns = memory.matrix().shape
    except NotImplementedError:  # it is not linear, or does not say so
        return
    except (TypeError, ValueError) as error:
        raise bad from error
    if d != columns or d == 0:
        raise bad


@contextmanager
def in_digits_of(memory: Any) -> Iterator[bool]:
    """Switch on JAX's float64 if the memory has numbers that would be rounded or cut; yield whether it has."""
    doubles = any(map(_needs_64_bits, jax.tree.leaves(memory)))
    with jax.enable_x64(True) if doubles else nullcontext():
        yield doubles


def _needs_64_bits(leaf: Any) -> bool:
    """Whether an array has float64 numbers, or whole numbers beyond 32 bits."""
    dtype = getattr(leaf, "dtype", None)
    if dtype in (np.int64, np.uint64) and not isinstance(leaf, jax.core.Tracer):
        return bool((np.abs(np.asarray(leaf, np.float64)) >= 2.0**31).any())
    return dtype == np.float64


def check_dimension(memory: Memory, inputs: Float[Array, "n d"], d: int) -> None:
    """Refuse inputs whose dimension is not that of the memory."""
    if inputs.shape[-1] != d:
        name = type(memory).__name__
        raise refuse("inputs.shape", inputs.shape, f"(n, {d}), because the memory ({name}) has d = {d}")
