"""Small changes of a package, each of which its tests should notice: made by `mutate.py`, one at a time.

Operators, bounds, constants, and/or, not, min/max, True/False, slices and dropped statements. Messages, docstrings,
annotations, decorators, `__all__` and logging are not changed. Neither is what no test can call wrong: sizes and places
of what a figure shows (numbers given as `fontsize`, `lw`, `pad` and the like, COSMETIC), one more or less of a large
amount that a private constant holds (MANY), and `assert`, which holds anyway. Kernels that only a GPU can run
(NEED_A_GPU) are left out: `make test` has none.
"""

from __future__ import annotations

import ast
import difflib
import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import UnionType

#: Each operator, by its name in the syntax tree: how it is written, and what is written instead.
OPERATORS = {
    "Lt": "<,<=,>=", "LtE": "<=,<,>", "Gt": ">,>=,<=", "GtE": ">=,>,<", "Eq": "==,!=", "NotEq": "!=,==",
    "Is": "is,is not", "IsNot": "is not,is", "In": "in,not in", "NotIn": "not in,in", "And": "and,or", "Or": "or,and",
    "Add": "+,-", "Sub": "-,+", "Mult": "*,/", "Div": "/,*", "FloorDiv": "//,/", "Mod": "%,*", "Pow": "**,*",
    "LShift": "<<,>>", "RShift": ">>,<<", "BitAnd": "&,|", "BitOr": "|,&", "Not": "not,", "USub": "-,", "Invert": "~,",
}  # fmt: skip
EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
LOGGING = {"debug", "info", "warning", "error", "log", "warn", "say", "print", "tight_layout"}
COSMETIC = set("alpha bottom capsize figsize fontsize frameon lw ms ncols pad rect repr rotation y zorder".split())
NEED_A_GPU = {f"kernels/hopper/{name}.py" for name in ("to_256", "to_512_kernel", "wide_kernel")}
DROPPED = (ast.Expr, ast.AugAssign, ast.Raise, ast.Delete, ast.Continue, ast.Break)
#: One more or less of an amount as large, in a private constant, is no mistake: steps, samples, seconds, rows.
MANY = 100


@dataclass(frozen=True)
class Mutation:
    """The bytes from `start` to `end` of a module are replaced by `new`."""

    path: Path
    start: int
    end: int
    new: str

    def apply(self, source: bytes) -> bytes:
        lines = source[self.start : self.end].count(b"\n")  # kept, so that line numbers stay
        return source[: self.start] + self.new.encode() + b"\n" * lines + source[self.end :]


def mutations(path: Path, source: bytes) -> list[Mutation]:
    """Every mutation of a module that this script knows."""
    begins = [0, *(match.end() for match in re.finditer(b"\n", source))]
    # A comment could contain something that looks like an operator.
    bare = re.sub(rb"#[^\n]*", lambda match: b" " * len(match[0]), source)

    def start(node: ast.AST) -> int:
        return begins[node.lineno - 1] + node.col_offset

    def end(node: ast.AST) -> int:
        return begins[node.end_lineno - 1] + node.end_col_offset

    def operator(kind: ast.AST, first: int, last: int) -> Iterator[tuple[int, int, str]]:
        written, *others = OPERATORS.get(type(kind).__name__, "no such operator").split(",")
        if found := re.search(re.escape(written).replace(r"\ ", r"\s+").encode(), bare[first:last]):
            yield from ((first + found.start(), first + found.end(), other) for other in others)

    def edits(node: ast.AST) -> Iterator[tuple[int, int, str]]:
        match node:
            case ast.Compare(left, kinds, rest):
                for kind, one, other in zip(kinds, [left, *rest], rest):
                    yield from operator(kind, end(one), start(other))
            case ast.BoolOp(kind, values):
                for one, other in zip(values, values[1:]):
                    yield from operator(kind, end(one), start(other))
            case ast.BinOp(left, kind, right) | ast.AugAssign(left, kind, right):
                yield from operator(kind, end(left), start(right))
            case ast.UnaryOp(kind, operand):
                yield from operator(kind, start(node), start(operand))
            case ast.Constant(bool(value)):
                yield start(node), end(node), str(not value)
            case ast.Constant(int(value) | float(value)):
                yield from ((start(node), end(node), repr(value + step)) for step in (1, -1))
            case ast.Slice(lower, upper):
                yield from ((start(bound), end(bound), "") for bound in (lower, upper) if bound)
            case ast.Call(ast.Name(name) | ast.Attribute(_, name) as function) if name in EXTREMES:
                yield end(function) - len(name), end(function), EXTREMES[name]
        if isinstance(node, DROPPED) or isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name):
            yield start(node), end(node), "pass"

    found = {edit for node in _nodes(ast.parse(source)) for edit in edits(node)}
    return [Mutation(path, *edit) for edit in sorted(found)]


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a program that affect what it does."""
    match node:
        case ast.Expr(ast.Constant()) | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return
        case ast.Expr(ast.Call(ast.Name(name) | ast.Attribute(_, name))) if name in LOGGING:
            return
        case ast.Assign([ast.Name("__all__")]) | ast.If(ast.Name("TYPE_CHECKING")):
            return
        case ast.keyword(str(name)) if name in COSMETIC:
            return
        case ast.Dict(keys, values) if any(isinstance(key, ast.Constant) and key.value in COSMETIC for key in keys):
            rest = [one for key, one in zip(keys, values) if getattr(key, "value", None) not in COSMETIC]
            yield from itertools.chain.from_iterable(map(_nodes, rest))
            return
        case ast.Assign([target], value) if ast.unparse(target).lstrip("(").startswith("_"):
            yield node
            parts = value.elts if isinstance(value, ast.Tuple) else [value]
            for part in parts:
                if not (isinstance(part, ast.Constant) and isinstance(part.value, int | float) and part.value >= MANY):
                    yield from _nodes(part)
            return
    yield node
    if not isinstance(node, ast.Raise):  # a `raise` can be dropped, but its message is not changed
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        yield from _nodes(child)


def choose(home: Path, only: list[str], sample: int, seed: int) -> list[Mutation]:
    """A random sample of the mutations of a package that are valid programs and differ from it."""
    asked = {one.strip("/") for one in only} or {"."}  # the parent of all
    paths = [path.relative_to(home) for path in sorted(home.rglob("*.py"))]
    paths = [path for path in paths if asked & {str(path), *map(str, path.parents)} and str(path) not in NEED_A_GPU]
    candidates = [found for path in paths for found in mutations(path, (home / path).read_bytes())]
    random.Random(seed).shuffle(candidates)
    return list(itertools.islice((one for one in candidates if _differs(one, (home / one.path).read_bytes())), sample))


def _differs(mutation: Mutation, source: bytes) -> bool:
    try:
        return ast.dump(ast.parse(mutation.apply(source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def diff(mutation: Mutation, source: bytes) -> str:
    before, after = (text.decode().splitlines() for text in (source, mutation.apply(source)))
    return "\n".join(difflib.unified_diff(before, after, str(mutation.path), str(mutation.path), n=1, lineterm=""))


def statement(mutation: Mutation, source: bytes) -> range:
    """The lines of the smallest statement that a mutation changes; all lines if it is run when the module is imported,
    because what it does shows elsewhere."""
    line, tree = source[: mutation.start].count(b"\n") + 1, ast.parse(source)

    def spans(kinds: type | UnionType) -> list[range]:
        held = [node for node in ast.walk(tree) if isinstance(node, kinds) and node.lineno <= line <= node.end_lineno]
        return [range(node.lineno, node.end_lineno + 1) for node in held]

    if not spans(ast.FunctionDef | ast.Lambda):
        return range(1, source.count(b"\n") + 2)
    return min(spans(ast.stmt), key=len)
