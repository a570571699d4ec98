"""Values given by a name and a few parameters: embedding laws, solvers, families of memories.

Such a value is a frozen dataclass, and its fields are its parameters. As text it reads 'student:3', or 'student:nu=3':
parameters after a colon, in order or by name.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from loadstone.arguments import refuse


def made_from_text(what: str, text: str, known: Mapping[str, type]) -> Any:
    """The value that a text such as 'student:3' describes, or a refusal; `what` names the argument in the message."""
    if not isinstance(text, str):
        raise refuse(what, text, "one of " + ", ".join(known))
    name = text.partition(":")[0]
    kind = named(what, name, known)
    return made(what, name, kind, values_in(what, text, [field.name for field in fields(kind) if field.init]))


def values_in(what: str, text: str, names: Sequence[str]) -> dict[str, object]:
    """A text's parameters by name; those that are given without a name are taken in order."""
    name, _, rest = text.partition(":")
    values: dict[str, object] = {}
    for index, part in enumerate(rest.split(",") if rest else []):
        key, equals, value = part.rpartition("=")
        if not equals and index >= len(names):
            have = f"at most {len(names)} parameters ({', '.join(names)})" if names else "no parameters"
            raise refuse(what, text, f"{name} with {have}")
        values[key.strip() if equals else names[index]] = value_of(value.strip())
    return values


def named(what: str, name: str, known: Mapping[str, type]) -> type:
    """The class registered under a name, or a refusal that suggests the nearest name."""
    if not isinstance(name, str):
        raise refuse(what, name, "one of " + ", ".join(known))
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        suggestion = f" (did you mean {near[0]!r}?)" if near else ""
        raise refuse(what, name, "one of " + ", ".join(known) + suggestion)
    return known[name]


def made(what: str, name: str, kind: type, parameters: Mapping[str, object]) -> Any:
    """An instance of `kind` with these parameters; unknown and missing parameters are refused."""
    known = {field.name: field for field in fields(kind) if field.init}
    for parameter in parameters:
        if parameter not in known:
            have = f"a parameter of {name} ({', '.join(known)})" if known else f"left out: {name} has no parameters"
            raise refuse(f"{what} parameter", parameter, have)
    missing = [
        field.name
        for field in known.values()
        if field.default is MISSING and field.default_factory is MISSING and field.name not in parameters
    ]
    if missing:
        raise refuse(what, name, f"given with {' and '.join(missing)}, which has no default")
    return kind(**parameters)


def changed_parameters(value: Any) -> dict[str, object]:
    """The parameters of a value that differ from their defaults."""
    return {
        field.name: getattr(value, field.name)
        for field in fields(value)
        if field.init and (field.default is MISSING or getattr(value, field.name) != field.default)
    }


def text_of(name: str, value: Any) -> str:
    """The canonical text of a value: its name, and the parameters that differ from their defaults."""
    parameters = ",".join(f"{key}={parameter}" for key, parameter in changed_parameters(value).items())
    return f"{name}:{parameters}" if parameters else name


def value_of(text: str) -> object:
    """The number or the truth value that a text spells, or the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)
