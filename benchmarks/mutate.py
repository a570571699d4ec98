"""How many small mistakes in the package would its tests notice?

    python benchmarks/mutate.py [--sample 200] [--seed 0] [--only theory --only runs/pack.py] [--out FILE.json]

A seeded random sample of small changes (`mutations.py`) is made one at a time in a copy of the tree, and tests are run
there: first those that run the changed line, the quickest first, then the files that belong to the module: those in the
same room that are named after it, and those that import it or one of its public names, or a helper of tests that does.
A failing test, a crash or a time-out means that the change was noticed. Those that survive are listed with their diff.

Which tests run a line, and how long they take, is measured without any change (`covering.py`) and kept in `--covering`;
a test file is measured again if it or the package has changed. That needs coverage.py: without it every change meets
all files of its module, which takes several times as long. The report is written again after each change, so a run
that is stopped has told what it found.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import importlib.util
import json
import os
import queue
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutations import Mutation, choose, diff, statement

HERE = Path(__file__).parent
NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", "out", "build", "dist", "__pycache__", ".*_cache", ".hypothesis")
#: Tests that exercise a module, or a folder of modules, without importing it.
FURTHER_TESTS = {"cli": ["cli"], "files.py": ["runs/test_pack.py"], "compiling.py": ["problems", "solvers"],
                 "arguments.py": ["theory", "cli"], "problems/numpy_pass.py": ["solvers/test_newton.py"],
                 "cli/status.py": ["runs/test_one_machine.py"],
                 "solvers/segments.py": ["solvers/test_checkpoint.py"],
                 "kernels/shared_ring.py": ["problems/test_spread.py"],
                 "studies/kit/runs.py": ["studies/test_sweeps.py"],
                 "tasks/train.py": ["cli/test_commands.py"],
                 "studies": ["studies/test_registry.py", "studies/test_plotted.py"],
                 "theory/caveats.py": ["theory/test_alone.py", "theory/test_prediction.py"]}  # fmt: skip
#: Asks every public function, of whatever module, what it allows.
FOR_ALL = "test_arguments.py"
#: A mutation may fill the memory instead of failing.
MOST_MEMORY = 12 * 2**30
#: A test file that takes longer without any mutation is left out.
MOST_SECONDS = 900
#: For so long, tests that run the changed line are tried before the files of its module.
FIRST_SECONDS = 60


def tests_of(module: str, root: Path, package: str) -> list[str]:
    """The test files that belong to a module, as paths inside the root; the module is a path inside the package."""
    path, tests = Path(module), root / "tests"
    dotted = ".".join([package, *path.with_suffix("").parts]).removesuffix(".__init__")
    body = ast.parse((root / "src" / package / module).read_bytes()).body
    names = {dotted} | {f"{package}.{name}" for part in body if (name := getattr(part, "name", "_"))[0] != "_"}
    found = {file for file in tests.rglob("test_*.py") if names & _imported(file, package, root)}
    for folder in path.parents:
        found |= set((tests / folder).glob(f"test_{path.stem}*.py"))
    for part in (path, *path.parents):
        for name in FURTHER_TESTS.get(str(part), ()):
            found |= set((tests / name).rglob("test_*.py")) or {tests / name}
    for folder in path.parents:  # all tests of the room, if there is nothing better
        found = found or set((tests / folder).rglob("test_*.py"))
    found.add(tests / FOR_ALL)
    return sorted(str(file.relative_to(root)) for file in found if file.exists())


@functools.cache
def _imported(file: Path, package: str, root: Path) -> set[str]:
    """What a test file imports, by itself and through helpers in `tests`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        match node:
            case ast.ImportFrom(str(module), names):
                found |= {module} | {f"{module}.{alias.name}" for alias in names}
                helper = root / f"{module.replace('.', '/')}.py"
                if module.startswith("tests.") and not helper.name.startswith("test_") and helper.exists():
                    found |= _imported(helper, package, root)
            case ast.Import(names):
                found |= {alias.name for alias in names}
            case ast.Attribute(ast.Name(name), attribute) if name == package:
                found.add(f"{package}.{attribute}")
    return found


class Tree:
    """A copy of the checkout, in which one thing at a time is changed and tested."""

    def __init__(self, root: Path, place: Path, package: str):
        self.root, self.package = Path(shutil.copytree(root, place, ignore=NOT_COPIED)), package

    def fails(self, tests: list[str], seconds: float, *options: str, **settings: str) -> str:
        """How some tests fail: '' if they pass, the first that fails, or that they take too long."""
        environment = os.environ | settings | {
            "PYTHONPATH": os.pathsep.join([f"{self.root}/src", str(HERE), os.environ.get("PYTHONPATH", "")]),
            "PYTHONDONTWRITEBYTECODE": "1",  # Python would reuse the bytecode of a mutation of the same size and second
            "XDG_CACHE_HOME": str(self.root.parent / "cache"),
            "JAX_COMPILATION_CACHE_DIR": os.environ.get("JAX_COMPILATION_CACHE_DIR", f"{self.root.parent}/programs"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "OPENBLAS_NUM_THREADS": "1",
            "XLA_FLAGS": _compiler_flags(self.root),
        }  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-o", "addopts=--import-mode=importlib"]
        command += ["-m", "not soak", "-q", "--tb=no", "-rfE", *options]  # what `make test` leaves out must not count
        with tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(
                [*command, *tests], cwd=self.root, env=environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            try:
                if hasattr(resource, "prlimit"):
                    resource.prlimit(process.pid, resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
                if process.wait(seconds) == 0:
                    return ""
            except subprocess.TimeoutExpired:
                return f"more than {seconds:.0f} s"
            finally:  # end the tests with all processes that they started
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            said.seek(0)
            return next((line.strip() for line in said if line.startswith(("FAILED", "ERROR"))), "crash")

    @contextlib.contextmanager
    def changed(self, mutation: Mutation) -> Iterator[None]:
        path = self.root / "src" / self.package / mutation.path
        source = path.read_bytes()
        path.write_bytes(mutation.apply(source))
        try:
            yield
        finally:
            path.write_bytes(source)


@functools.cache
def _compiler_flags(root: Path) -> str:
    """Tests are compiled as quickly as in `make test`."""
    script = root / "tests" / "compiler.py"
    return subprocess.check_output([sys.executable, script], text=True).strip() if script.exists() else ""


class Tests:
    """The tests of a package: what each runs, and how long it takes."""

    def __init__(self, root: Path, package: str, covering: Path):
        self.root, self.package, self.covering = root, package, covering
        self.newest = max(path.stat().st_mtime for path in (root / "src").rglob("*.py"))
        self.known: dict[str, dict] = {}

    def measure(self, file: str, tree: Tree) -> None:
        """Run a test file without any change, unless that has been done since it or the package was changed."""
        kept = self.covering / (file.replace("/", "--") + ".json")
        since = max(self.newest, (self.root / file).stat().st_mtime)
        if not kept.exists() or kept.stat().st_mtime < since:
            kept.unlink(missing_ok=True)
            settings = {"COVERED_PACKAGE": f"{tree.root}/src/{self.package}", "COVERING": str(kept.resolve())}
            tree.fails([file], MOST_SECONDS, "-p", "covering", **settings)
        if not kept.exists():
            print(f"{file} is left out, because it crashes or hangs without a mutation.", file=sys.stderr)
            return
        self.known[file] = json.loads(kept.read_text())
        for test, ran in self.known[file].items():
            if not ran["passed"]:
                print(f"{test} is left out, because it fails without a mutation.", file=sys.stderr)

    def of_lines(self, module: str, lines: range, own: list[str]) -> list[str]:
        """Tests that run some lines of a module: its own files first, then quick ones, and not too many."""
        chosen, total = [], 0.0
        whole = {file: sum(ran["seconds"] for ran in tests.values()) for file, tests in self.known.items()}
        for file in sorted(whole, key=lambda file: (file not in own, whole[file])):
            for test, ran in self.known[file].items():
                if ran["passed"] and not set(lines).isdisjoint(ran["lines"].get(module, ())):
                    total += ran["seconds"]
                    if total > FIRST_SECONDS and chosen:
                        return chosen
                    chosen.append(test)
        return chosen

    def of_files(self, files: list[str]) -> list[str]:
        """The tests of some files that pass without a change."""
        return [test for file in files for test, ran in self.known.get(file, {}).items() if ran["passed"]]

    def take(self, chosen: list[str]) -> float:
        """At most so many seconds: any test may be the first of its file, which makes what they share."""
        files = {test.partition("::")[0] for test in chosen}
        first = sum(max(ran["seconds"] for ran in self.known[file].values()) for file in files)
        return first + sum(self.known[test.partition("::")[0]][test]["seconds"] for test in chosen)


def verdicts(
    root: Path, package: str, chosen: list[Mutation], jobs: int, seconds: float, covering: Path
) -> Iterator[str]:
    """How each mutation is noticed; '' if no test notices it."""
    belong = {path: tests_of(str(path), root, package) for path in {mutation.path for mutation in chosen}}
    files = sorted({file for found in belong.values() for file in found})
    if importlib.util.find_spec("coverage"):
        files = sorted(str(file.relative_to(root)) for file in (root / "tests").rglob("test_*.py"))
    else:
        print("Without coverage.py each change meets all tests of its module, which takes long.", file=sys.stderr)
    covering.mkdir(parents=True, exist_ok=True)
    tests, trees = Tests(root, package, covering), queue.SimpleQueue()

    @contextlib.contextmanager
    def a_tree() -> Iterator[Tree]:
        tree = trees.get()
        yield tree
        trees.put(tree)

    def measure(file: str) -> None:
        with a_tree() as tree:
            tests.measure(file, tree)

    def noticed(mutation: Mutation) -> str:
        lines = statement(mutation, (root / "src" / package / mutation.path).read_bytes())
        own = belong[mutation.path]
        with a_tree() as tree, tree.changed(mutation):
            first = tests.of_lines(str(mutation.path), lines, own)
            for some in (first, [test for test in tests.of_files(own) if test not in first]):
                if some and (how := tree.fails(some, seconds + 3 * tests.take(some), "-x")):
                    return how
        return ""

    with tempfile.TemporaryDirectory(prefix="mutate-") as folder, ThreadPoolExecutor(jobs) as pool:
        for number in range(jobs):
            trees.put(Tree(root, Path(folder) / str(number), package))
        list(pool.map(measure, files))
        yield from pool.map(noticed, chosen)


def main() -> None:
    parser = argparse.ArgumentParser(description="How many small mistakes in the package would its tests notice?")
    parser.add_argument("--sample", type=int, default=200, help="how many mutations")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--only", action="append", default=[], help="a module or folder inside the package")
    parser.add_argument("--out", type=Path, default=Path("out/mutations.json"), help="where the report is written")
    parser.add_argument("--covering", type=Path, default=Path("out/covering"), help="where it is kept what tests run")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--seconds", type=float, default=30, help="a mutation that adds more to its tests' time hangs")
    parser.add_argument("--root", type=Path, default=HERE.parent, help="the checkout")
    parser.add_argument("--package", default="loadstone")
    asked = parser.parse_args()
    home = asked.root / "src" / asked.package
    chosen = choose(home, asked.only, asked.sample, asked.seed)
    made, left, survivors = Counter(), Counter(), []
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    found = verdicts(asked.root, asked.package, chosen, asked.jobs, asked.seconds, asked.covering)
    for number, (mutation, how) in enumerate(zip(chosen, found), 1):
        made[str(mutation.path)] += 1
        if not how:
            left[str(mutation.path)] += 1
            survivors.append(diff(mutation, (home / mutation.path).read_bytes()))
        print(f"{number:4} {mutation.path}: {how or 'SURVIVED'}", *survivors[-1:] * (not how), sep="\n", flush=True)
        modules = {path: {"noticed": made[path] - left[path], "survived": left[path]} for path in sorted(made)}
        report = {"seed": asked.seed, "sample": len(chosen), "tried": number, "survived": len(survivors)}
        asked.out.write_text(json.dumps(report | {"modules": modules, "survivors": survivors}, indent=1) + "\n")
    print(f"\nOf {len(chosen)} changes the tests noticed {len(chosen) - len(survivors)}.")


if __name__ == "__main__":
    main()
