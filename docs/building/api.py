"""The API reference, from the signatures and docstrings of the public names.

Docstrings are plain text with formulas such as |W|_F, which neither reStructuredText nor Markdown would leave alone, so
they are not handed to Sphinx's own reader.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any

import loadstone
from loadstone.former_names import FORMER

ROOMS = (
    "theory", "streams", "kernels", "problems", "memories", "solvers", "proofs", "measurements", "tasks",
    "space", "books",
)  # fmt: skip
#: A field of a class as its docstring explains it: 'inputs, outputs: what they are', with lines that go on indented.
_FIELD = re.compile(r"^(\w+(?:, \w+)*): (.+(?:\n {4,}\S.*)*)", re.MULTILINE)


@cache
def homes() -> dict[str, str]:
    """The names of the page, as they are imported, and where each is defined: those at the top of the package, then
    those that are imported from their modules."""
    at_the_top = {f"loadstone.{name}": ".".join(home) for name, home in loadstone._HOMES.items()}
    return at_the_top | {home: home for home in FORMER.values() if home not in at_the_top.values()}


def names_of(room: str) -> list[str]:
    """The names whose home is in a room, those at the top first."""
    names = [name for name, home in homes().items() if home.split(".")[1] == room]
    return sorted(names, key=lambda name: (name.count(".") > 1, name))


def markdown(room: str) -> str:
    """The entries of a room's public names."""
    return "\n\n".join(entry(name) for name in names_of(room))


def entry(name: str) -> str:
    """One public name: signature, what it is, and for a class its fields, properties and methods."""
    module, _, original = homes()[name].rpartition(".")
    value = getattr(import_module(module), original)
    if inspect.isclass(value):
        body = [_text(_without_fields(value)), _fields_table(value), *_members(value)]
        return _directive("class", name, body)
    if callable(value):
        return _directive("function", f"{name}{_signature(_definition(value))}", [_text(value.__doc__ or "")])
    return _directive("data", name, [f"The number {value!r}. " + _escaped(_comment(name))])


def fields(kind: type) -> dict[str, tuple[str, str]]:
    """The fields of a class, each with its annotation and its meaning ('' if nothing says what it means)."""
    found: dict[str, tuple[str, str]] = {}
    meanings: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        if one.__module__.startswith("loadstone"):
            # 'see Problem' says less than what Problem says.
            own = {name: text for name, text in _field_meanings(one).items() if not text.startswith("see ")}
            meanings |= own
            found |= _own_fields(one, meanings)
    return found


def _own_fields(kind: type, meanings: dict[str, str]) -> dict[str, tuple[str, str]]:
    lines, _ = inspect.getsourcelines(kind)
    found = {}
    known = {one.name for one in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else None
    for node in _class_node(kind).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
            if not name.startswith("_") and (known is None or name in known):
                above = _comment_above(lines, node.lineno - 1)
                found[name] = ast.unparse(node.annotation).strip("'"), above or meanings.get(name, "")
    return found


def _field_meanings(kind: type) -> dict[str, str]:
    meanings = {}
    for names, meaning in _FIELD.findall(inspect.cleandoc(kind.__doc__ or "")):
        meanings |= dict.fromkeys(names.split(", "), " ".join(meaning.split()))
    return meanings


def _without_fields(kind: type) -> str:
    known = {*_own_fields(kind, {}), *getattr(kind, "__members__", {})}
    text = inspect.cleandoc(kind.__doc__ or "")
    # What a class only asks of those that extend it is no field of its own, and stays a list.
    kept = _FIELD.sub(lambda match: "" if set(match[1].split(", ")) <= known else f"- {match[0]}", text)
    return kept.strip()


def _fields_table(kind: type) -> str:
    if values := getattr(kind, "__members__", {}):
        meanings = _field_meanings(kind)
        rows = [f"| `{one.value}` | {_escaped(meanings.get(name, ''))} |" for name, one in values.items()]
        return "\n".join(["| value | meaning |", "|---|---|", *rows])
    # A bar between alternatives would end the cell.
    types = {name: annotation.replace(" | ", " or ") for name, (annotation, _) in fields(kind).items()}
    rows = [f"| `{name}` | `{types[name]}` | {_escaped(meaning)} |" for name, (_, meaning) in fields(kind).items()]
    return "\n".join(["| field | type | meaning |", "|---|---|---|", *rows]) if rows else ""


def _members(kind: type) -> list[str]:
    """The documented properties and methods, its own and those of the classes that it extends."""
    shown = []
    for name, raw in inspect.getmembers_static(kind):
        inside = raw.fget if isinstance(raw, property) else getattr(raw, "__func__", raw)
        inside = getattr(inside, "func", inside)  # a cached property
        meaning = _inherited_doc(kind, name)
        if name.startswith("_") or not inspect.isfunction(inside) or not meaning:
            continue
        if isinstance(raw, property) or not inspect.isroutine(raw):
            shown.append(_directive("property", name, [_text(meaning)], depth=3))
        else:
            kind_of = "classmethod" if isinstance(raw, classmethod) else "method"
            signature = _signature(_definition(inside), bound=not isinstance(raw, staticmethod))
            shown.append(_directive(kind_of, name + signature, [_text(meaning)], depth=3))
    return shown


def _inherited_doc(kind: type, name: str) -> str:
    """The docstring of a member, or of the one that it overrides; of ours only, not of int or str."""
    ours = [one for one in kind.__mro__ if one.__module__.startswith("loadstone") and name in vars(one)]
    docs = (getattr(vars(one)[name], "__doc__", None) for one in ours)
    return next((doc for doc in docs if doc), "")


def _directive(kind: str, name: str, body: list[str], depth: int = 4) -> str:
    fence = "`" * depth
    return "\n".join([f"{fence}{{py:{kind}}} {name}", "", *(part + "\n" for part in body if part), fence])


def _signature(node: ast.FunctionDef, bound: bool = False) -> str:
    arguments = node.args
    if bound:
        arguments.args = arguments.args[1:]
    for one in ast.walk(arguments):  # shapes are long: the array alone says enough in a signature
        if isinstance(one, ast.arg) and one.annotation is not None:
            one.annotation = ast.Name(_brief(one.annotation))
    result = f" -> {_brief(node.returns)}" if node.returns is not None else ""
    return f"({ast.unparse(arguments)}){result}"


def _brief(annotation: ast.expr) -> str:
    return ast.unparse(annotation).strip("'")


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(Path(import_module(module).__file__).read_text())


def _definition(function: Any) -> ast.FunctionDef:
    function = inspect.unwrap(function)
    return ast.parse(inspect.cleandoc("\n" + inspect.getsource(function))).body[0]  # a fresh copy


def _class_node(kind: type) -> ast.ClassDef:
    source = inspect.getsource(kind)
    return next(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef))


def _comment_above(lines: list[str], index: int) -> str:
    """The comment with '#:' that ends in the line above."""
    found: list[str] = []
    while index > 0 and lines[index - 1].strip().startswith("#:"):
        index -= 1
        found.insert(0, lines[index].strip()[2:].strip())
    return " ".join(found)


def _comment(name: str) -> str:
    lines = Path(import_module(homes()[name].rpartition(".")[0]).__file__).read_text().splitlines()
    index = next(number for number, line in enumerate(lines) if line.startswith(name.rpartition(".")[2]))
    return _comment_above(lines, index)


def _text(docstring: str) -> str:
    """A docstring in Markdown, its arguments as a list and its example as code."""
    text, _, example = inspect.cleandoc(docstring).partition("Example:\n")
    words = _escaped(_FIELD.sub(lambda match: f"- {match[0]}", text.rstrip()))
    # Tildes, because the entry itself stands between backquotes.
    return f"{words}\n\n~~~pycon\n{dedent(example)}\n~~~" if example else words


def _escaped(text: str) -> str:
    """Plain text with nothing that Markdown would read as markup; single backquotes are code in both."""
    pieces = text.split("`")
    for index in range(0, len(pieces), 2):
        for mark in "\\*_[]<>|$#~":
            pieces[index] = pieces[index].replace(mark, "\\" + mark)
    return "`".join(pieces)
