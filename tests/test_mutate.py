"""The script that mutates the package: it notices what is tested, lists what is not, and leaves words alone."""

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "mutate.py"
sys.path.insert(0, str(SCRIPT.parent))
import mutate  # noqa: E402
import mutations  # noqa: E402

sys.path.remove(str(SCRIPT.parent))


def changed(source):
    """The line of each mutation of a line of source, as it is then."""
    return {one.apply(source.encode()).decode() for one in mutations.mutations(Path("m.py"), source.encode())}


def test_what_is_changed():
    assert changed("a < b") == {"a <= b", "a >= b", "pass"}
    assert changed("x = a is not b") == {"x = a is b"}
    assert changed("x = (a) + (  # not -\n b)") == {"x = (a) - (  # not -\n b)"}
    assert changed("x = not (a and b)") == {"x =  (a and b)", "x = not (a or b)"}
    assert changed("x = a[1:-b]") == {"x = a[:-b]", "x = a[1:]", "x = a[2:-b]", "x = a[0:-b]", "x = a[1:b]"}
    assert changed("x = np.maximum(True, 0.5)") == {
        "x = np.minimum(True, 0.5)", "x = np.maximum(False, 0.5)", "x = np.maximum(True, 1.5)",
        "x = np.maximum(True, -0.5)"}  # fmt: skip
    assert changed("a.b += c") == {"a.b -= c", "pass"}
    assert changed("é.b = (\n a)") == {"pass\n"}  # the number of lines stays


def test_what_is_left_alone():
    for words in ['"""Add 1 + 1."""', '__all__ = ["a"][:1]', "def f(a: A[1] = None) -> B[2]: return a",
                  "import a", "@cached(2)\ndef f(): return a", "log.info(1 + 1)", "if TYPE_CHECKING:\n a < b",
                  'x = f"{1 + 1}"', "assert a", "figure.tight_layout()", "x = field(repr=False)"]:  # fmt: skip
        assert changed(words) == set(), words
    assert changed('raise Error("1" + 1)') == {"pass"}


def test_looks_are_left_alone_but_not_what_is_drawn():
    assert changed("x = f(fontsize=9, lw=0.5 * a, rect=(0, 1), alpha=-1)") == set()
    assert changed("x = f(1, lw=2)") == {"x = f(2, lw=2)", "x = f(0, lw=2)"}
    assert changed("x = f(xlim=1, **{'lw': a})") == {"x = f(xlim=2, **{'lw': a})", "x = f(xlim=0, **{'lw': a})"}
    assert changed("x = f(arrow={'lw': 2, 'at': 1})") == {f"x = f(arrow={{'lw': 2, 'at': {n}}})" for n in (0, 2)}
    assert changed("lw = 1") == {"lw = 2", "lw = 0"}  # only where it is given to a call


def test_large_amounts_that_are_private_are_not_changed_by_one():
    assert changed("_STEPS = 100") == set() and changed("_ROWS, _COLUMNS = 512, 3e4") == {"pass"}
    assert changed("_STEPS = 99") == {"_STEPS = 100", "_STEPS = 98"}
    assert len(changed("STEPS = 100")) == len(changed("x = f(100)")) == len(changed("_STEPS = -100")) - 1 == 2
    assert len(changed("_MOST = 10**7")) == 5
    assert changed("_A, _B = 100, 2") == {"_A, _B = 100, 3", "_A, _B = 100, 1", "pass"}


SUMS = """
def difference(a, b):
    return a - b


def product(a, b):
    return a * b


def wait():
    done = None
    while not done:
        done = True
    return done
"""
TESTS = """
from toy.sums import difference, wait


def test_sums():
    assert difference(3, 2) == 1 and wait()
"""


def toy(folder):
    """A package of which one function is not tested, and one module only by a test that fails."""
    (folder / "src" / "toy").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "src" / "toy" / "sums.py").write_text(SUMS)
    (folder / "src" / "toy" / "other.py").write_text("NUMBER = 1\n")
    (folder / "tests" / "test_sums.py").write_text(TESTS)
    (folder / "tests" / "test_other.py").write_text("def test_it():\n    assert False\n")


def test_it_notices_a_tested_line_and_lists_an_untested_one(tmp_path):
    toy(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    options = ["--root", tmp_path, "--package", "toy", "--out", tmp_path / "found.json", "--seconds", 2]
    options += ["--covering", tmp_path / "covering"]
    command = [sys.executable, SCRIPT, *map(str, options)]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # for speed: a toy needs no plugins
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    # Noticed: a + b, a loop that is skipped, and one that never ends.
    assert found["modules"]["sums.py"] == {"noticed": 3, "survived": 1}
    (survivor,) = [text for text in found["survivors"] if "sums.py" in text]
    assert "-    return a * b\n+    return a / b" in survivor and survivor in done.stdout
    # A module whose tests fail anyway has nothing that could notice.
    assert found["modules"]["other.py"] == {"noticed": 0, "survived": 2}
    assert "tests/test_other.py::test_it is left out, because it fails without a mutation." in done.stderr
    assert {path: path.read_bytes() for path in before} == before


def test_the_same_seed_gives_the_same_sample():
    home = SCRIPT.parents[1] / "src" / "loadstone"
    chosen = mutations.choose(home, ["theory", "files.py"], 9, 1)
    assert chosen == mutations.choose(home, ["theory/", "files.py"], 9, 1) != mutations.choose(home, ["theory"], 9, 2)
    assert len(chosen) == 9 and {str(one.path).split("/")[0] for one in chosen} <= {"theory", "files.py"}


def test_tests_belong_to_the_modules_that_they_name_or_import():
    root = SCRIPT.parents[1]
    found = mutate.tests_of("runs/pack.py", root, "loadstone")
    assert {"tests/cli/test_stores.py", "tests/runs/test_pack.py", "tests/test_security.py"} <= set(found)
    assert "tests/theory/test_capacity.py" not in found
    assert "tests/theory/test_capacity.py" in mutate.tests_of("theory/checks.py", root, "loadstone")
    assert "tests/solvers/test_newton.py" in mutate.tests_of("problems/numpy_pass.py", root, "loadstone")
    # Through a helper that imports it.
    assert "tests/theory/test_values.py" in mutate.tests_of("theory/skew.py", root, "loadstone")
