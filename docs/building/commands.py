"""The command reference, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from loadstone.cli.app import COMMANDS, app_of

_TAKES = {int: "a whole number", float: "a number"}


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its full name, such as 'loadstone facts store', those that have no commands below them."""
    yield from _below("loadstone", typer.main.get_command(app_of(COMMANDS)))


def _below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    inside = getattr(command, "commands", None)
    if inside is None:
        yield name, command
    else:
        for word, one in inside.items():
            yield from _below(f"{name} {word}", one)


def markdown() -> str:
    """A section for each command: what it does, its arguments, its options with their defaults."""
    return "\n\n".join(_section(name, command) for name, command in commands())


def _section(name: str, command: Any) -> str:
    parameters = [one for one in command.params if one.name != "help"]
    arguments = [one for one in parameters if not one.opts[0].startswith("-")]
    usage = " ".join([name, *(_shown(one) for one in arguments), "[options]"])
    rows = [_row(one) for one in parameters]
    table = ["| argument or option | takes | what it says |", "|---|---|---|", *rows] if rows else []
    what = " ".join((command.help or "").split())
    return "\n".join([f"## {name}", "", _plain(what), "", "```", usage, "```", "", *table])


def _shown(argument: Any) -> str:
    many = "..." if argument.nargs == -1 else ""
    return f"{argument.name}{many}" if argument.required else f"[{argument.name}{many}]"


def _row(one: Any) -> str:
    names = " ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))
    switch = getattr(one, "is_flag", False)
    takes = "nothing" if switch else _TAKES.get(one.type_descriptor.annotation, "text")
    notes = "required" if one.required else "" if one.default in (None, False, ()) else f"default: `{one.default}`"
    what = _plain(one.help or "")
    return f"| {names} | {takes} | {what}{' ' if what and notes else ''}{'(' + notes + ')' if notes else ''} |"


def _plain(text: str) -> str:
    """Text of a help page with nothing that Markdown would read as markup."""
    for mark in "\\`*_[]<>|$":
        text = text.replace(mark, "\\" + mark)
    return text
