"""Dataclasses whose arrays compiled programs take as arguments: memories and problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

from jax.tree_util import GetAttrKey, register_pytree_with_keys

Node = TypeVar("Node", bound=type)


def tree(data: Sequence[str], meta: Sequence[str] = ()) -> Callable[[Node], Node]:
    """Registers a dataclass as a pytree.

    `jax.tree_util.register_dataclass` would do, but for one thing: in jaxlib 0.10.2 the structures of two such classes
    are equal if only their numbers of fields and their meta data are. Their hashes differ, so it goes unnoticed until
    two hashes meet in a table of compiled programs; then a memory of one family is trained, and returned, as one of
    another.

    data: fields that hold arrays, or other pytrees.
    meta: fields that programs are compiled for; they have to be hashable.
    """

    def register(node: Node) -> Node:
        arrays, constants = _values(data), _values(meta)
        keys = tuple(GetAttrKey(name) for name in data)

        def flatten_with_keys(value: Any) -> tuple[tuple, tuple]:
            return tuple(zip(keys, arrays(value))), constants(value)

        def unflatten(constant: tuple, children: Iterable) -> Any:
            return node(**dict(zip(data, children)), **dict(zip(meta, constant)))

        def flatten(value: Any) -> tuple[tuple, tuple]:
            return arrays(value), constants(value)

        register_pytree_with_keys(node, flatten_with_keys, unflatten, flatten)
        return node

    return register


def _values(names: Sequence[str]) -> Callable[[Any], tuple]:
    """What reads these fields, as a tuple whatever their number."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)
