"""Dataclasses whose arrays compiled programs take as arguments: memories and problems."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

from jax.tree_util import GetAttrKey, default_registry, register_pytree_with_keys

from loadstone.arguments import refuse
from loadstone.readable import readable

Node = TypeVar("Node", bound=type)

#: Classes whose tree structures JAX cannot mistake for those of another class.
_told_apart: WeakSet[type] = WeakSet()


def tree(data: Sequence[str], meta: Sequence[str] = (), apart: Sequence[str] = ()) -> Callable[[Node], Node]:
    """A decorator that registers a dataclass as a pytree.

    `jax.tree_util.register_dataclass` would do, but for one thing: in jaxlib 0.10.2 the structures of two such classes
    are equal whenever they have equally many fields and equal meta data, whatever the classes are. Their hashes differ,
    so it goes unnoticed until two hashes meet in a table of compiled programs; then a memory of one family is trained,
    and returned, as one of another.

    data: fields that hold arrays, or other pytrees.
    meta: static fields, for whose values programs are compiled; they have to be hashable.
    apart: fields that no program sees. What crosses `jit`, or is rebuilt from its arrays, has their defaults again.
    """
    arrays, constants, left_out = tuple(data), tuple(meta), tuple(apart)

    keys = tuple(map(GetAttrKey, arrays))

    def flatten(value: Any) -> tuple[tuple, tuple]:
        return tuple(getattr(value, name) for name in arrays), tuple(getattr(value, name) for name in constants)

    def flatten_with_keys(value: Any) -> tuple[tuple, tuple]:
        children, constant = flatten(value)
        return tuple(zip(keys, children)), constant

    def register(node: Node) -> Node:
        _check_fields(node, arrays, constants, left_out)

        def unflatten(constant: tuple, children: Iterable) -> Any:
            return node(**dict(zip(arrays, children)), **dict(zip(constants, constant)))

        register_pytree_with_keys(node, flatten_with_keys, unflatten, flatten)
        if _is_generated(vars(node).get("__repr__")):  # that of dataclasses prints every number
            node.__repr__ = readable  # type: ignore[method-assign, assignment]
        return told_apart(node)

    return register


def _is_generated(function: Any) -> bool:
    """Whether `dataclass` wrote this function: then its code is in no file, or in one of the standard library."""
    code = getattr(inspect.unwrap(function), "__code__", None) if function else None
    return code is not None and Path(code.co_filename).name in ("<string>", "dataclasses.py", "reprlib.py")


def told_apart(node: Node) -> Node:
    """Mark a class whose tree structures JAX cannot mistake for those of another class."""
    _told_apart.add(node)
    return node


def is_told_apart(kind: type) -> bool:
    """Whether a class is marked by `told_apart`."""
    return kind in _told_apart


def parameters(value: object) -> str:
    """The static fields of a value of a registered class, as text; empty if there are none."""
    _, constants = default_registry.flatten_one_level(value) or ((), None)
    return "" if constants is None or constants == () else str(constants)


def _check_fields(node: type, data: tuple[str, ...], meta: tuple[str, ...], apart: tuple[str, ...]) -> None:
    if not is_dataclass(node):
        raise refuse("node", node.__name__, "a dataclass")
    present, named = [field.name for field in fields(node) if field.init], [*data, *meta, *apart]
    if sorted(present) != sorted(named):
        raise refuse(
            "data and meta" if not apart else "data, meta and apart",
            named,
            f"all fields of {node.__name__}, each once ({', '.join(present)})",
        )
