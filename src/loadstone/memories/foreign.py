"""Any pytree as a memory: a dataclass that JAX registers, an equinox module, a NamedTuple, a dict with a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax.tree_util import default_registry
from jaxtyping import Array, Float

from loadstone.arguments import refuse
from loadstone.memories.memory import Memory
from loadstone.problems.loss import queries_of, takes_precision
from loadstone.trees import is_told_apart, tree

#: What a leaf of a pytree is: an array to train, an array that stays as it is, or anything else.
_TRAINED, _HELD, _CONSTANT = "trained", "held", "constant"

#: From a pytree and inputs to queries; it may take the precision of the products, too.
Queries = Callable[..., Array]


@dataclass(frozen=True)
class Form:
    """Everything but the arrays of a pytree: what programs are compiled for.

    structure: of the pytree, with all leaves.
    classes: of its nodes, because JAX takes the structures of two classes that `jax.tree_util.register_dataclass` has
        registered for equal (trees.py), and of its constants, because 1 and True are equal.
    leaves: what each leaf is.
    constants: the leaves that are no arrays, such as an activation.
    queries: the function that makes queries; None if the pytree has `queries` itself.
    """

    structure: Any
    classes: tuple[type, ...]
    leaves: tuple[str, ...]
    constants: tuple[Any, ...]
    queries: Queries | None


@tree(data=["trained", "held"], meta=["form"])
@dataclass(frozen=True)
class Foreign(Memory):
    """A pytree of a class that is not ours, as a memory; `memory` makes one.

    trained: its arrays of real numbers, but for those that are to stay fixed.
    held: its other arrays.
    form: everything else.
    """

    trained: tuple[Any, ...]
    held: tuple[Any, ...]
    form: Form

    fixed = ("held",)

    @property
    def value(self) -> Any:
        """The pytree, in its own class."""
        leaves = {_TRAINED: iter(self.trained), _HELD: iter(self.held), _CONSTANT: iter(self.form.constants)}
        return jax.tree.unflatten(self.form.structure, [next(leaves[kind]) for kind in self.form.leaves])

    # What a user's function returns is checked where a search begins (problems/loss.py).
    def queries(self, inputs: Float[Array, "n d"], precision: str = "float32") -> Array:
        function = self.form.queries
        if function is None:
            return queries_of(self.value, inputs, precision)
        return function(self.value, inputs, *([precision] if takes_precision(function) else []))

    def transformed(self, left: Float[np.ndarray, "d d"], right: Float[np.ndarray, "d d"]) -> Foreign | None:
        # Numbers that are to stay fixed would have to change, too.
        if _HELD in self.form.leaves or (own := self._own("transformed")) is None:
            return None
        found = own(left, right)
        return None if found is None else replace(self, trained=tuple(_arrays(found)))

    def matrix(self) -> Float[Array | np.ndarray, "d d"]:
        own = self._own("matrix")
        return super().matrix() if own is None else own()

    @property
    def rank(self) -> int:
        own = None if self.form.queries else getattr(self.value, "rank", None)
        return own if isinstance(own, int) else super().rank

    def is_dense(self, precision: str) -> bool:
        own = self._own("is_dense")
        return own is not None and bool(own(precision))

    def _own(self, name: str) -> Callable[..., Any] | None:
        """A method of the pytree; None if it has none, or if a function makes its queries."""
        found = None if self.form.queries else getattr(self.value, name, None)
        return found if callable(found) else None


def memory(pytree: Any, queries: Queries | None = None, *, fixed: Any = ()) -> Foreign:
    """A pytree as a memory, to be trained and measured like any other; `value` is the pytree again.

    pytree: a NamedTuple, a dict, an equinox module, anything that JAX knows as a pytree. Its arrays of real numbers are
        trained. Other arrays, and what is no array (a number of Python, an activation), stay as they are.
    queries: from the pytree and inputs, one a row, to their queries. It may be left out if the pytree has a method
        `queries`. Parameters of flax go with `module.apply`, and a module that maps a single input with
        `lambda module, inputs: jax.vmap(module)(inputs)`. Programs are compiled for the function: make it once.
    fixed: real numbers that stay as they are, too: names of fields or keys, such as 'w0', or a pytree of booleans, True
        for what is fixed. It may be given for whole branches of the pytree.
    """
    if queries is None and not callable(getattr(pytree, "queries", None)):
        allowed = "a memory, which has queries(inputs), or given with a function: loadstone.memory(pytree, queries=...)"
        raise refuse("memory", type(pytree).__name__, allowed)
    if queries is not None and not callable(queries):
        raise refuse("queries", queries, "a function of the pytree and the inputs")
    paths, structure = jax.tree_util.tree_flatten_with_path(pytree)
    values = [leaf for _, leaf in paths]
    if jax.tree_util.treedef_is_leaf(structure) and not _is_array(values[0]):
        raise refuse("memory", type(pytree).__name__, "a pytree: register its class with JAX")
    stays = _stays(pytree, fixed or _fixed_by(type(pytree)), [path for path, _ in paths])
    kinds = [_kind(leaf, fixed_there) for leaf, fixed_there in zip(values, stays)]
    constants = tuple(leaf for leaf, kind in zip(values, kinds) if kind == _CONSTANT)
    form = Form(structure, (*_classes(pytree), *map(type, constants)), tuple(kinds), constants, queries)
    try:
        hash(form)
    except TypeError as error:
        allowed = f"one whose constants can be hashed, because programs are compiled for them ({error})"
        raise refuse("memory", type(pytree).__name__, allowed) from error
    trained, held = (tuple(leaf for leaf, kind in zip(values, kinds) if kind == wanted) for wanted in (_TRAINED, _HELD))
    return Foreign(trained, held, form)


def as_memory(given: Any) -> Any:
    """The memory for programs: what is given, or, if JAX might take its class for another, the same as `Foreign`."""
    return given if is_told_apart(type(given)) and hasattr(given, "queries") else memory(given)


def as_given(found: Any, given: Any) -> Any:
    """A memory that was found from `as_memory(given)`, in the class of what was given."""
    return found.value if isinstance(found, Foreign) and not isinstance(given, Foreign) else found


def class_name(memory: Any) -> str:
    """The class of a memory as it was given, for messages."""
    return type(memory.value if isinstance(memory, Foreign) else memory).__name__


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and hasattr(leaf, "shape")


def _kind(leaf: Any, stays: bool) -> str:
    if not _is_array(leaf):
        return _CONSTANT
    return _TRAINED if jax.numpy.issubdtype(leaf.dtype, jax.numpy.inexact) and not stays else _HELD


def _arrays(pytree: Any) -> list[Any]:
    return [leaf for leaf in jax.tree.leaves(pytree) if _is_array(leaf)]


def _classes(pytree: Any) -> tuple[type, ...]:
    """The classes of all nodes, from the root on."""
    node = default_registry.flatten_one_level(pytree)
    return () if node is None else (type(pytree), *(kind for child in node[0] for kind in _classes(child)))


def _fixed_by(kind: type) -> tuple[str, ...]:
    """The names that a class itself calls fixed, as `Memory` can."""
    names = getattr(kind, "fixed", ())
    return names if _are_names(names) else ()


def _are_names(fixed: Any) -> bool:
    return isinstance(fixed, (tuple, list, set, frozenset)) and all(isinstance(name, str) for name in fixed)


def _stays(pytree: Any, fixed: Any, paths: list[tuple]) -> list[bool]:
    """For each leaf, whether it is to stay fixed."""
    names = {fixed} if isinstance(fixed, str) else fixed
    if _are_names(names):
        there = [_name(path[0]) if path else "" for path in paths]
        for name in names:
            if name not in there:
                raise refuse("fixed", name, "one of " + ", ".join(dict.fromkeys(there)))
        return [name in names for name in there]
    try:
        mask = jax.tree.leaves(jax.tree.broadcast(fixed, pytree))
    except ValueError as error:
        raise refuse("fixed", f"a {type(fixed).__name__}", "names, or booleans in the shape of the memory") from error
    if len(mask) != len(paths) or not all(isinstance(one, (bool, np.bool_)) for one in mask):
        raise refuse("fixed", f"a {type(fixed).__name__}", "names, or booleans in the shape of the memory")
    return [bool(one) for one in mask]


def _name(key: Any) -> str:
    """A step of a path as one writes it: the name of a field, or the key or index of an item."""
    return str(next(getattr(key, name) for name in ("name", "key", "idx") if hasattr(key, name)))
