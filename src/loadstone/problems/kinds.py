"""The kinds of problems that a stream gives, by name: which of its inputs share their outputs.

In 'original' all inputs share one set of outputs, in 'decoupled' each has its own. 'groups:g' lies between: input mu
belongs to group mu mod g, and each group shares one set. 'groups:1' is 'original', and with g >= p groups of p inputs
every input has the outputs that it has in 'decoupled'.
"""

from __future__ import annotations

import re

from loadstone.arguments import refuse

ORIGINAL, DECOUPLED = "original", "decoupled"
_GROUPS = "groups:"
#: A stream has at most as many groups as associations.
_MOST_GROUPS = 2**31 - 1


def check_kind(kind: object, name: str = "problem") -> str:
    """The kind in plain form, or a refusal."""
    if isinstance(kind, str) and kind in (ORIGINAL, DECOUPLED):
        return kind
    groups = _groups(kind)
    if groups is None:
        raise refuse(name, kind, f"one of original, decoupled, groups:g with g in 1..{_MOST_GROUPS}")
    return ORIGINAL if groups == 1 else f"{_GROUPS}{groups}"


def is_grouped(kind: str) -> bool:
    """Whether a checked kind is one of groups."""
    return kind.startswith(_GROUPS)


def sets_of_outputs(kind: str, p: int) -> int:
    """How many sets of outputs the first p inputs have in a problem of a checked kind."""
    if is_grouped(kind):
        return min(int(kind.removeprefix(_GROUPS)), p)
    return 1 if kind == ORIGINAL else p


def _groups(kind: object) -> int | None:
    number = re.fullmatch(f"{_GROUPS}([0-9]{{1,10}})", kind) if isinstance(kind, str) else None
    return int(number[1]) if number and 1 <= int(number[1]) <= _MOST_GROUPS else None
