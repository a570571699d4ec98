"""Families of memories as text: 'symmetric', 'rank:25', 'blocks:8'. Theory and memories read and write them alike.

A family has one name, and its parameters come after a colon. They are read in order or by name: 'blocks:8' and
'blocks:count=8' are the same family. They are written as 'blocks:8', everywhere but in records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, NamedTuple

from loadstone.arguments import refuse
from loadstone.parameters import changed_parameters, values_in

#: Names that families had, and that records still give them.
_OLD_NAMES = {"low rank": "rank"}


@dataclass(frozen=True)
class FamilyText:
    """A family's name, and the values of its parameters.

    names: the names of all its parameters, in order.
    values: the values of those that are given.
    """

    name: str
    names: tuple[str, ...]
    values: Mapping[str, object]

    def __str__(self) -> str:
        given = [name for name in self.names if name in self.values]
        in_order = given == list(self.names[: len(given)])
        parts = [f"{self.values[name]}" if in_order else f"{name}={self.values[name]}" for name in given]
        return f"{self.name}:{','.join(parts)}" if parts else self.name

    def in_records(self) -> str:
        """As records have always written it: with the names of parameters, and 'low rank' for 'rank'. The keys of
        records depend on this text, so it must never change."""
        parts = [f"{name}={self.values[name]}" for name in self.names if name in self.values]
        if not parts:
            return next((old for old, name in _OLD_NAMES.items() if name == self.name), self.name)
        return f"{self.name}:{','.join(parts)}"


def family_name(text: Any) -> Any:
    """The name in a family's text. What is not a text is returned as it is; it is refused where the name is used."""
    if not isinstance(text, str):
        return text
    name = text.partition(":")[0]
    return _OLD_NAMES.get(name, name)


def family_text(text: str, names_of: Callable[[str], Sequence[str]]) -> FamilyText:
    """Parse a family's text. `names_of` gives the names of a family's parameters, and refuses an unknown family."""
    name = family_name(text)
    names = tuple(names_of(name))
    _, _, rest = text.partition(":")
    values = values_in("family", f"{name}:{rest}", names)
    for parameter in values:
        if parameter not in names:
            allowed = f"a parameter of {name} ({', '.join(names)})" if names else f"left out: {name} has no parameters"
            raise refuse("family parameter", parameter, allowed)
    return FamilyText(name, names, values)


def text_of_family(name: str, value: Any) -> FamilyText:
    """The text of a family given as an instance of a dataclass, whose fields are its parameters."""
    return FamilyText(name, parameter_names(type(value)), changed_parameters(value))


def parameter_names(kind: type) -> tuple[str, ...]:
    """The names of the parameters of a family that is a dataclass."""
    return tuple(field.name for field in fields(kind) if field.init)


class ToldDimension(NamedTuple):
    """The statistical dimension of a family, as its own code computes it.

    family: its text.
    delta: the statistical dimension: that of a subspace, or an upper bound.
    is_linear: whether it is a subspace.
    """

    family: str
    delta: float
    is_linear: bool


def told_dimension(family: str, d: int, directions: int) -> ToldDimension | None:
    """The dimension of a family that theory has no formula for (memories/families.py); None for an unknown family.

    The import is by name and late, so that theory depends on no memory and answers without loading JAX.
    """
    known: ToldDimension | None = import_module("loadstone.memories.families").told_dimension(family, d, directions)
    return known
