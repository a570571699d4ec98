"""Any pytree as a memory: a dataclass that JAX registers, an equinox module, a NamedTuple, a dict with a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.tree_util import default_registry, keystr
from jaxtyping import Array, Float

from loadstone.arguments import refuse
from loadstone.memories.memory import Memory
from loadstone.problems.loss import queries_of, takes_precision
from loadstone.readable import in_short
from loadstone.trees import is_told_apart, tree

#: At most this many arrays are shown.
_SHOWN = 3

#: A function of a pytree and inputs that returns queries; it may take the precision of products as a third argument.
Queries = Callable[..., Array]


@dataclass(frozen=True)
class Form:
    """Everything but the arrays of a pytree: what programs are compiled for.

    structure: of the pytree, with all leaves.
    classes: of its nodes, because JAX takes the structures of two classes that `jax.tree_util.register_dataclass` has
        registered for equal (trees.py), and of its constants, because 1 and True are equal.
    constants: the leaves that are not arrays, such as an activation, and None in the places of all others.
    queries: the function that makes queries; None if the pytree has a method `queries`.
    """

    structure: Any
    classes: tuple[type, ...]
    constants: tuple[Any, ...]
    queries: Queries | None


@tree(data=["trained", "held"], meta=["form"])
@dataclass(frozen=True, repr=False)
class Foreign(Memory):
    """A pytree of any class, as a memory; `memory` makes one.

    trained: its arrays of real numbers, but for those that are to stay fixed, and None in the places of other leaves.
    held: its other arrays in the same way.
    form: everything else.
    """

    trained: tuple[Any, ...]
    held: tuple[Any, ...]
    form: Form

    fixed = ("held",)

    def __repr__(self) -> str:
        kinds = (("trained", self.trained), ("fixed", self.held))
        words = [f"{in_short(array)} {kind}" for kind, arrays in kinds for array in _present(arrays)]
        more = [f"... {len(words)} arrays"] if len(words) > _SHOWN else []
        return f"Foreign({class_name(self)}: {', '.join([*words[:_SHOWN], *more])})"

    @property
    def value(self) -> Any:
        """The pytree, in its own class."""
        leaves = zip(self.trained, self.held, self.form.constants)
        return jax.tree.unflatten(self.form.structure, [next(_present(each), None) for each in leaves])

    # What a user's function returns is checked where a search begins (problems/loss.py).
    def queries(self, inputs: Float[Array, "n d"], precision: str = "float32") -> Array:
        function = self.form.queries
        if function is None:
            return queries_of(self.value, inputs, precision)
        return function(self.value, inputs, *([precision] if takes_precision(function) else []))

    def transformed(self, left: Float[np.ndarray, "d d"], right: Float[np.ndarray, "d d"]) -> Foreign | None:
        method = self._own("transformed")
        # Fixed numbers would have to change, too.
        moved = method(left, right) if method and not jax.tree.leaves(self.held) else None
        return None if moved is None else memory(moved)

    def matrix(self) -> Float[Array | np.ndarray, "d d"]:
        method = self._own("matrix")
        return super().matrix() if method is None else method()

    @property
    def rank(self) -> int:
        rank = None if self.form.queries else getattr(self.value, "rank", None)
        return rank if isinstance(rank, int) else super().rank

    def is_dense(self, precision: str) -> bool:
        method = self._own("is_dense")
        return method is not None and bool(method(precision))

    def _own(self, name: str) -> Callable[..., Any] | None:
        """A method of the pytree; None if it has none, or if a function makes its queries."""
        method = None if self.form.queries else getattr(self.value, name, None)
        return method if callable(method) else None


def memory(pytree: Any, queries: Queries | None = None, *, fixed: Any = ()) -> Foreign:
    """A pytree as a memory, to be trained and measured like any other; `value` is the pytree again.

    pytree: a NamedTuple, a dict, an equinox module, anything that JAX knows as a pytree. Its arrays of real numbers are
        trained. Other arrays, and leaves that are not arrays (a Python number, an activation), stay as they are.
    queries: a function of the pytree and the inputs, one a row, that returns their queries. It may be left out if the
        pytree has a method `queries`. For parameters of flax it is `module.apply`, for a module that maps a single
        input `lambda module, inputs: jax.vmap(module)(inputs)`. Programs are compiled for the function: define it once.
    fixed: real arrays that are not trained: names of fields or keys, such as 'w0', or a pytree of booleans, True for
        what is fixed. A boolean may stand for a whole branch of the pytree.

    Example:
        >>> import numpy as np
        >>> start = {"w0": np.eye(4), "a": np.zeros((4, 1)), "b": np.ones((4, 1))}
        >>> loadstone.memory(start, lambda it, inputs: inputs @ (it["w0"] + it["a"] @ it["b"].T).T, fixed="w0")
        Foreign(dict: float64[4, 1] trained, float64[4, 1] trained, float64[4, 4] fixed)
    """
    if queries is None and not callable(getattr(pytree, "queries", None)):
        allowed = "a memory, which has queries(inputs), or given with a function: loadstone.memory(pytree, queries=...)"
        raise refuse("memory", type(pytree).__name__, allowed)
    refuse_masked(pytree)
    if queries is not None and not callable(queries):
        raise refuse("queries", queries, "a function of the pytree and the inputs")
    paths, structure = jax.tree_util.tree_flatten_with_path(pytree)
    values = [leaf for _, leaf in paths]
    if not values:
        raise refuse("memory", type(pytree).__name__, "a pytree with arrays")
    if jax.tree_util.treedef_is_leaf(structure) and not _is_array(values[0]):
        raise refuse("memory", type(pytree).__name__, "a pytree: register its class with JAX")
    own_fixed = getattr(type(pytree), "fixed", ())  # as in classes of `Memory`
    if isinstance(fixed, tuple) and not fixed and _are_names(own_fixed):
        fixed = own_fixed
    is_fixed = _fixed_leaves(pytree, fixed, [path for path, _ in paths])
    is_trained = [_is_real(leaf) and not fixed for leaf, fixed in zip(values, is_fixed)]
    trained = tuple(leaf if train else None for leaf, train in zip(values, is_trained))
    held = tuple(leaf if _is_array(leaf) and not train else None for leaf, train in zip(values, is_trained))
    constants = tuple(None if _is_array(leaf) else leaf for leaf in values)
    form = Form(structure, (*_classes(pytree), *map(type, constants)), constants, queries)
    try:
        hash(form)
    except TypeError as error:
        allowed = f"one whose constants can be hashed, because programs are compiled for them ({error})"
        raise refuse("memory", type(pytree).__name__, allowed) from error
    return Foreign(trained, held, form)


def as_memory(given: Any) -> Any:
    """The memory as programs take it: as given, or as `Foreign` if JAX might mistake its class for another."""
    if not (is_told_apart(type(given)) and hasattr(given, "queries")):
        return memory(given)
    refuse_masked(given)
    return given


def refuse_masked(pytree: Any) -> None:
    """Refuse a memory with masked arrays, which JAX does not take."""
    if any(isinstance(leaf, np.ma.MaskedArray) for leaf in jax.tree.leaves(pytree)):
        raise refuse("memory", "one with masked arrays", "a pytree whose arrays are not masked")


def as_given(memory: Any, given: Any) -> Any:
    """A memory made from `as_memory(given)`, in the class of `given`."""
    return memory.value if isinstance(memory, Foreign) and not isinstance(given, Foreign) else memory


def class_name(memory: Any) -> str:
    """The name of the class of a memory as it was given, for messages."""
    return type(memory.value if isinstance(memory, Foreign) else memory).__name__


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and hasattr(leaf, "shape")


def _is_real(leaf: Any) -> bool:
    return _is_array(leaf) and bool(jax.numpy.issubdtype(leaf.dtype, jax.numpy.inexact))


def _present(leaves: Iterable[Any]) -> Iterator[Any]:
    return (leaf for leaf in leaves if leaf is not None)


def _classes(pytree: Any) -> tuple[type, ...]:
    """The classes of all nodes, from the root on."""
    node = default_registry.flatten_one_level(pytree)
    return () if node is None else (type(pytree), *(kind for child in node[0] for kind in _classes(child)))


def _are_names(fixed: Any) -> bool:
    return isinstance(fixed, (tuple, list, set, frozenset)) and all(isinstance(name, str) for name in fixed)


def _fixed_leaves(pytree: Any, fixed: Any, paths: list[tuple]) -> list[bool]:
    """For each leaf, whether it is fixed."""
    names = {fixed} if isinstance(fixed, str) else fixed
    if _are_names(names):
        branches = [keystr(path[:1], simple=True) for path in paths]
        for name in names:
            if name not in branches:
                raise refuse("fixed", name, "one of " + ", ".join(dict.fromkeys(branches)))
        return [branch in names for branch in branches]
    try:
        mask = jax.tree.leaves(jax.tree.broadcast(fixed, pytree))
    except ValueError:
        mask = [None]
    if len(mask) != len(paths) or not all(isinstance(stays, (bool, np.bool_)) for stays in mask):
        raise refuse("fixed", f"a {type(fixed).__name__}", "names, or booleans in the shape of the memory")
    return [bool(stays) for stays in mask]
