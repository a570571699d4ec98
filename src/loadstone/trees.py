"""Dataclasses whose arrays compiled programs take as arguments: memories and problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass, make_dataclass
from functools import cache
from typing import Any, TypeVar
from weakref import WeakSet

import jax
from jax.tree_util import GetAttrKey, default_registry, register_dataclass, register_pytree_with_keys

from loadstone.arguments import refuse

Node = TypeVar("Node", bound=type)

#: Classes whose structures are known to differ from those of others.
_told_apart: WeakSet[type] = WeakSet()


def tree(data: Sequence[str], meta: Sequence[str] = ()) -> Callable[[Node], Node]:
    """Registers a dataclass as a pytree.

    `jax.tree_util.register_dataclass` would do, but for one thing: in jaxlib 0.10.2 the structures of two such classes
    are equal whenever they have equally many fields and equal meta data, whatever the classes are. Their hashes differ,
    so it goes unnoticed until two hashes meet in a table of compiled programs; then a memory of one family is trained,
    and returned, as one of another.

    data: fields that hold arrays, or other pytrees.
    meta: fields that programs are compiled for; they have to be hashable.
    """
    arrays, constants = tuple(data), tuple(meta)

    def register(node: Node) -> Node:
        _check_fields(node, arrays, constants)
        array_values, constant_values = _values(arrays), _values(constants)
        keys = tuple(GetAttrKey(name) for name in arrays)

        def flatten_with_keys(value: Any) -> tuple[tuple, tuple]:
            return tuple(zip(keys, array_values(value))), constant_values(value)

        def unflatten(constant: tuple, children: Iterable) -> Any:
            return node(**dict(zip(arrays, children)), **dict(zip(constants, constant)))

        def flatten(value: Any) -> tuple[tuple, tuple]:
            return array_values(value), constant_values(value)

        register_pytree_with_keys(node, flatten_with_keys, unflatten, flatten)
        return node

    return register


def check_told_apart(name: str, value: object) -> None:
    """Refuse a value of a class that JAX might take for another one."""
    kind = type(value)
    if kind in _told_apart:
        return
    found = default_registry.flatten_one_level(value)
    if found is not None and isinstance(found[1], tuple):
        children = tuple(found[0])
        alike = _registered(len(children), len(found[1]))(*children, *found[1])
        structures: list[Any] = [jax.tree.structure(one) for one in (alike, value)]
        if structures[0] == structures[1]:
            why = "because JAX, in this version, confuses classes that register_dataclass has registered"
            raise refuse(name, kind.__name__, f"of a class registered with loadstone.trees.tree, {why}")
    _told_apart.add(kind)


def parameters(value: object) -> str:
    """What programs are compiled for, of a value of a registered class, in words; empty if there is nothing."""
    found = default_registry.flatten_one_level(value)
    return "" if found is None or found[1] is None or found[1] == () else str(found[1])


@cache
def _registered(arrays: int, constants: int) -> type:
    """A class with so many fields of both kinds, registered as `tree` does not register it."""
    first, rest = ([f"{kind}{number}" for number in range(count)] for kind, count in (("a", arrays), ("c", constants)))
    return register_dataclass(make_dataclass("Registered", [*first, *rest]), first, rest)


def _check_fields(node: type, data: tuple[str, ...], meta: tuple[str, ...]) -> None:
    if not is_dataclass(node):
        raise refuse("node", node.__name__, "a dataclass")
    there, named = [field.name for field in fields(node) if field.init], [*data, *meta]
    if sorted(there) != sorted(named):
        raise refuse("data and meta", named, f"all fields of {node.__name__}, each once ({', '.join(there)})")


def _values(names: tuple[str, ...]) -> Callable[[Any], tuple]:
    """What reads these fields."""
    return lambda value: tuple(getattr(value, name) for name in names)
