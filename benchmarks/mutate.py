"""How many small mistakes in the package would its tests notice?

    python benchmarks/mutate.py [--sample 200] [--seed 0] [--only theory --only records/pack.py] [--out FILE.json]

A seeded random sample of small changes (operators, bounds, constants, and/or, not, min/max, True/False, slices, dropped
statements) is made one at a time in a copy of the tree, and the tests that belong to the changed module are run there:
those in the same room that are named after it, and those that import it or one of its public names. A failing test, a
crash or a time-out means that the change was noticed. Changes that survive are listed with their diff. Messages,
docstrings, annotations, decorators, `__all__` and logging are not changed, and neither are the sizes and places of what
a figure shows: numbers given as `fontsize`, `lw`, `pad` and the like (COSMETIC), which no test can call wrong. Kernels
that only a GPU can run (NEED_A_GPU) are left out: `make test` has none.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import functools
import itertools
import json
import math
import os
import queue
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

#: Each operator, by its name in the syntax tree: how it is written, and what is written instead.
OPERATORS = {
    "Lt": "<,<=,>=", "LtE": "<=,<,>", "Gt": ">,>=,<=", "GtE": ">=,>,<", "Eq": "==,!=", "NotEq": "!=,==",
    "Is": "is,is not", "IsNot": "is not,is", "In": "in,not in", "NotIn": "not in,in", "And": "and,or", "Or": "or,and",
    "Add": "+,-", "Sub": "-,+", "Mult": "*,/", "Div": "/,*", "FloorDiv": "//,/", "Mod": "%,*", "Pow": "**,*",
    "LShift": "<<,>>", "RShift": ">>,<<", "BitAnd": "&,|", "BitOr": "|,&", "Not": "not,", "USub": "-,", "Invert": "~,",
}  # fmt: skip
EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
LOGGING = {"debug", "info", "warning", "error", "log", "warn", "say", "print"}
COSMETIC = set("alpha bottom capsize figsize fontsize frameon lw ms ncols pad rect rotation y zorder".split())
NEED_A_GPU = {f"problems/passes/{name}_hopper.py" for name in ("shared", "halves", "weights")}
DROPPED = (ast.Expr, ast.AugAssign, ast.Raise, ast.Assert, ast.Delete, ast.Continue, ast.Break)
NOT_COPIED = shutil.ignore_patterns(".git", ".venv", "out", "build", "dist", "__pycache__", ".*_cache", ".hypothesis")
#: Tests that exercise a module, or a folder of modules, without importing it.
FURTHER_TESTS = {"cli": ["cli"], "files.py": ["records/test_pack.py"], "compiling.py": ["problems", "solvers"],
                 "arguments.py": ["theory", "cli"], "problems/exact.py": ["solvers/test_newton.py"],
                 "cli/status.py": ["experiments/test_one_machine.py"],
                 "experiments/run.py": ["cli/test_commands.py"], "figures": ["figures/test_gallery.py"],
                 "theory/caveats.py": ["theory/test_alone.py"]}  # fmt: skip
#: A mutation may fill the memory instead of failing.
MOST_MEMORY = 12 * 2**30
#: A test file that takes longer without any mutation, or that fails, is left out.
MOST_SECONDS = 600


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
    yield node
    if not isinstance(node, ast.Raise):  # a `raise` can be dropped, but its message is not changed
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        yield from _nodes(child)


def tests_of(module: str, root: Path, package: str) -> list[str]:
    """The test files that belong to a module, as paths inside the root; the module is a path inside the package."""
    path, tests = Path(module), root / "tests"
    dotted = ".".join([package, *path.with_suffix("").parts]).removesuffix(".__init__")
    body = ast.parse((root / "src" / package / module).read_bytes()).body
    names = {dotted} | {f"{package}.{name}" for part in body if (name := getattr(part, "name", "_"))[0] != "_"}
    found = {file for file in tests.rglob("test_*.py") if names & _imported(file, package)}
    for folder in path.parents:
        found |= set((tests / folder).glob(f"test_{path.stem}*.py"))
    for part in (path, *path.parents):
        for name in FURTHER_TESTS.get(str(part), ()):
            found |= set((tests / name).rglob("test_*.py")) or {tests / name}
    for folder in path.parents:  # all tests of the room, if there is nothing better
        found = found or set((tests / folder).rglob("test_*.py"))
    return sorted(str(file.relative_to(root)) for file in found if file.exists())


@functools.cache
def _imported(file: Path, package: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        match node:
            case ast.ImportFrom(str(module), names):
                found |= {module} | {f"{module}.{alias.name}" for alias in names}
            case ast.Import(names):
                found |= {alias.name for alias in names}
            case ast.Attribute(ast.Name(name), attribute) if name == package:
                found.add(f"{package}.{attribute}")
    return found


def run_tests(tree: Path, files: list[str], seconds: float) -> bool:
    """Whether all tests in some files of a tree pass in time."""
    environment = os.environ | {
        "PYTHONPATH": str(tree / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",  # Python would reuse the bytecode of a mutation of the same size and second
        "XDG_CACHE_HOME": str(tree.parent / "cache"),
        "JAX_COMPILATION_CACHE_DIR": str(tree.parent / "programs"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"]
    command += ["-m", "not soak"]  # what `make test` leaves out must not count
    quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    process = subprocess.Popen([*command, *files], cwd=tree, env=environment, start_new_session=True, **quiet)
    try:
        if hasattr(resource, "prlimit"):
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
        return process.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:  # end the tests with all processes that they started
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


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


def survivors(root: Path, package: str, chosen: list[Mutation], jobs: int, seconds: float) -> list[Mutation]:
    """Those of the mutations that no test notices."""
    belong = {path: tests_of(str(path), root, package) for path in {mutation.path for mutation in chosen}}
    trees: queue.SimpleQueue[Path] = queue.SimpleQueue()

    def takes(file: str) -> float:
        """How long a test file takes while nothing is changed."""
        tree, began = trees.get(), time.monotonic()
        passed = run_tests(tree, [file], MOST_SECONDS)
        trees.put(tree)
        if not passed:
            print(f"{file} is left out, because it fails without a mutation.", file=sys.stderr)
        return time.monotonic() - began if passed else math.inf

    def noticed(mutation: Mutation) -> bool:
        files = sorted((file for file in belong[mutation.path] if times[file] < math.inf), key=times.get)
        tree = trees.get()
        path = tree / "src" / package / mutation.path
        source = path.read_bytes()
        path.write_bytes(mutation.apply(source))
        seen = bool(files) and not run_tests(tree, files, seconds + 4 * sum(map(times.get, files)))
        path.write_bytes(source)
        trees.put(tree)
        print(".", end="", file=sys.stderr, flush=True)
        if not seen:  # shown at once, since the whole run takes long
            print(f"\n{diff(mutation, source)}", flush=True)
        return seen

    with tempfile.TemporaryDirectory(prefix="mutate-") as folder, ThreadPoolExecutor(jobs) as pool:
        for number in range(jobs):
            trees.put(Path(shutil.copytree(root, Path(folder) / str(number), ignore=NOT_COPIED)))
        files = sorted({file for found in belong.values() for file in found})
        times = dict(zip(files, pool.map(takes, files)))
        return [mutation for mutation, seen in zip(chosen, pool.map(noticed, chosen)) if not seen]


def diff(mutation: Mutation, source: bytes) -> str:
    before, after = (text.decode().splitlines() for text in (source, mutation.apply(source)))
    return "\n".join(difflib.unified_diff(before, after, str(mutation.path), str(mutation.path), n=1, lineterm=""))


def main() -> None:
    parser = argparse.ArgumentParser(description="How many small mistakes in the package would its tests notice?")
    parser.add_argument("--sample", type=int, default=200, help="how many mutations")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--only", action="append", default=[], help="a module or folder inside the package")
    parser.add_argument("--out", default="out/mutations.json", help="where the report is written")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--seconds", type=float, default=30, help="a mutation that adds more to its tests' time hangs")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the checkout")
    parser.add_argument("--package", default="loadstone")
    asked = parser.parse_args()
    home = asked.root / "src" / asked.package
    chosen = choose(home, asked.only, asked.sample, asked.seed)
    survived = survivors(asked.root, asked.package, chosen, asked.jobs, asked.seconds)
    made, left = (Counter(str(mutation.path) for mutation in some) for some in (chosen, survived))
    diffs = [diff(one, (home / one.path).read_bytes()) for one in survived]
    rows = [(path, made[path] - left[path], left[path]) for path in sorted(made)]
    rows.append(("all", len(chosen) - len(survived), len(survived)))
    print(
        f"\n{'module':<44} noticed survived",
        *(f"{path:<44} {seen:>7} {unseen:>8}" for path, seen, unseen in rows),
        sep="\n",
    )
    Path(asked.out).parent.mkdir(parents=True, exist_ok=True)
    modules = {path: {"noticed": seen, "survived": unseen} for path, seen, unseen in rows}
    report = {"seed": asked.seed, "sample": len(chosen), "modules": modules, "survivors": diffs}
    Path(asked.out).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
