"""What people expect of a package: its files agree with each other, and it holds what it should and no more."""

import ast
import inspect
import re
import shutil
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from email import message_from_bytes
from importlib import import_module
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import yaml
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from jaxtyping import Array, Float, TypeCheckError, jaxtyped

import loadstone
from loadstone.arguments import refuse
from loadstone.former_names import FORMER
from loadstone.measurements.spectrum import matrix_singular_values
from loadstone.trees import tree
from tests.array_annotations import checked

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: What lies about in a used checkout and must not be shipped.
LITTER = (
    "results/paper/paper.zip", "results/paper/accuracy.png", "docs/storable.png", "out/report.html",
    "store/record.json", "tests/__pycache__/test_readme.cpython-311.pyc",
    "src/loadstone/theory/__pycache__/load.cpython-311.pyc", "tests/.hypothesis/examples",
    ".mypy_cache/3.11/cache.json", "tests/.pytest_cache/README.md", ".ruff_cache/content",
    "src/.mypy_cache/3.11/cache.json", ".venv/bin/python", "build/lib/loadstone.py", "dist/loadstone-0.1.0.tar.gz",
)  # fmt: skip


@pytest.fixture(scope="module")
def used_checkout(tmp_path_factory):
    """A copy of this checkout with litter in it, but without the ignore file that would keep the litter out of git."""
    copy = tmp_path_factory.mktemp("checkout") / "loadstone"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "results", "out", "build", "dist", "__pycache__"))
    for name in LITTER:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text("litter")
    return copy


@pytest.fixture(scope="module")
def wheel(used_checkout, tmp_path_factory):
    (built,) = WheelBuilder(str(used_checkout)).build(directory=str(tmp_path_factory.mktemp("wheel")))
    with zipfile.ZipFile(built) as file:
        return {name: file.read(name) for name in file.namelist()}


@pytest.fixture(scope="module")
def sdist(used_checkout, tmp_path_factory):
    (built,) = SdistBuilder(str(used_checkout)).build(directory=str(tmp_path_factory.mktemp("sdist")))
    with tarfile.open(built) as file:
        return {name.split("/", 1)[1] for name in file.getnames()}


def package_files() -> set[str]:
    source = ROOT / "src"
    files = (path for path in (source / "loadstone").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(source)) for path in files}


def test_the_wheel_is_the_package_and_its_metadata(wheel):
    code = {name for name in wheel if ".dist-info/" not in name}
    assert code == package_files()
    assert {Path(name).suffix for name in code} >= {".py", ".pyi", ".cc", ".h", ".html", ".css", ".js"}
    assert "loadstone/py.typed" in code
    about = {name.split("/", 1)[1] for name in wheel.keys() - code}
    assert about == {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}


def test_the_sdist_holds_no_records_figures_or_caches(sdist):
    assert {f"src/{name}" for name in package_files()} <= sdist
    assert {"README.md", "LICENSE", "CITATION.cff", "CHANGELOG.md", "CONTRIBUTING.md", "pyproject.toml"} <= sdist
    assert {"Makefile", "constraints.txt", "tests/test_package.py", "docs/tour.md", "examples/grid.toml"} <= sdist
    assert {"docs/conf.py", "docs/theory/skew.md", "docs/notebooks/transition.md"} <= sdist
    assert not sdist & set(LITTER)
    assert not [name for name in sdist if name.endswith((".png", ".zip", ".pyc")) or "cache" in name]
    assert all(name.startswith("tests/") for name in sdist if name.endswith(".json"))  # what tests compare with


def test_metadata(wheel):
    (metadata,) = (message_from_bytes(text) for name, text in wheel.items() if name.endswith("METADATA"))
    assert metadata["Version"] == loadstone.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "associative memory" in metadata["Keywords"]
    assert "Typing :: Typed" in metadata.get_all("Classifier")
    assert "Apache License" in (ROOT / "LICENSE").read_text()


def test_the_citation_names_this_version_and_the_paper():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0" and citation["message"] and citation["title"] and citation["authors"]
    assert (citation["version"], citation["license"]) == (loadstone.__version__, PROJECT["license"])
    (paper,) = citation["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Giorlandino", "Goldt", "Maillard"]
    assert paper["title"] in " ".join((ROOT / "README.md").read_text().replace("*", "").split())


def test_the_newest_entry_of_the_changelog_is_this_version():
    versions = re.findall(r"^## \[?(\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == loadstone.__version__
    assert versions == sorted(versions, key=lambda version: [*map(int, version.split("."))], reverse=True)


def test_hooks_run_what_make_test_runs():
    made = (ROOT / "Makefile").read_text().replace("$(RUN)", ".venv/bin")
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local"  # nothing to download
    assert [hook["id"] for hook in local["hooks"]] == ["lint", "types"]
    for hook in local["hooks"]:
        assert hook["language"] == "system" and not hook["pass_filenames"]
        assert f"\t{hook['entry']}\n" in made


def test_the_public_workflow_runs_what_every_machine_runs():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    commands = {name: [step["run"] for step in job["steps"] if "run" in step] for name, job in jobs.items()}
    assert commands == {"test": [".ci/run"], "docs": ["make docs", "make dist"], "publish": []}
    versions = jobs["test"]["strategy"]["matrix"]["python"]
    assert [f"Programming Language :: Python :: {one}" in PROJECT["classifiers"] for one in versions] == [True] * 3
    for command in ("docs", "dist", "figures"):
        assert re.search(rf"^{command}: ", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_what_is_installed_for_use_and_tests_is_pinned_without_an_address():
    lines = (ROOT / "constraints.txt").read_text().splitlines()[1:]
    pins = [re.fullmatch(r'([\w.-]+)==[\w.]+( ; python_version (<|>=) "3\.12")?', line) for line in lines]
    assert all(pins), [line for line, pin in zip(lines, pins) if not pin]
    extras = PROJECT["optional-dependencies"]
    assert set(extras) == {"test", "cluster", "figures", "parquet", "bench", "docs", "release"}
    wanted = [*PROJECT["dependencies"], *(one for name in extras if name != "bench" for one in extras[name])]
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in wanted}
    assert {name.replace("_", "-") for name in names} <= {pin[1].replace("_", "-") for pin in pins}


def test_the_stub_lists_the_public_names_with_their_homes():
    """As a type checker reads it: what is imported as itself, and what is set."""
    tree = ast.parse((ROOT / "src" / "loadstone" / "__init__.pyi").read_text()).body
    imported = {
        alias.name: (node.module, alias) for node in tree if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    listed = {name: (module, name) for name, (module, alias) in imported.items() if alias.asname == name}
    for node in tree:
        if isinstance(node, ast.Assign):
            listed[node.targets[0].id] = imported[node.value.id][0], node.value.id
    assert sorted(listed) == loadstone.__all__
    for name, (home, original) in listed.items():
        value = getattr(loadstone, name)
        assert value is getattr(import_module(home), original)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__module__ == home  # where it is defined, not where it is imported as well


def test_former_names_work_and_say_where_they_went():
    assert not set(FORMER) & set(loadstone.__all__)
    for name, home in FORMER.items():
        module, _, original = home.rpartition(".")
        with pytest.warns(DeprecationWarning, match=f"loadstone.{name} is {home} now"):
            value = getattr(loadstone, name)
        now = getattr(import_module(module), original)
        assert inspect.unwrap(value) is inspect.unwrap(now) or name == "instance_capacity"


def test_former_names_take_all_arguments_by_position_as_before():
    stream = loadstone.Stream(0, 4)
    with pytest.warns(DeprecationWarning):
        assert loadstone.grouped(stream, 6, 3).associations == 6
    with pytest.warns(DeprecationWarning):
        exact = loadstone.instance_capacity("original", stream, 8)
    assert exact.p_c == loadstone.exact_capacity(loadstone.Instance(stream, 8)).p_c


@jaxtyped(typechecker=checked)
def scaled(vectors: Float[Array, "n d"], factors: Float[Array, "n"], kept: int) -> Float[Array, "n d"]:
    if vectors.ndim > 2:
        raise refuse("vectors.shape", vectors.shape, "(n, d)")
    return (vectors * factors[: len(vectors), None])[:kept]


def test_annotations_of_arrays_are_checked_and_others_are_not():
    vectors, factors = jnp.ones((3, 2)), jnp.ones(3)
    assert scaled(vectors, factors, 3).shape == scaled(vectors, factors, kept=None).shape == (3, 2)
    for wrong in ((vectors, jnp.ones(4), 3), (np.ones((3, 2)), factors, 3), (vectors, factors, 2)):
        with pytest.raises(TypeCheckError, match="scaled"):
            scaled(*wrong)


def test_what_a_function_refuses_is_left_to_its_own_words():
    with pytest.raises(ValueError, match="vectors.shape is"):
        scaled(jnp.ones((3, 2, 2)), jnp.ones(3), 3)


@jaxtyped(typechecker=checked)
@dataclass
class Plain:
    vector: Float[Array, "d"]


@jaxtyped(typechecker=checked)
@tree(data=["vector"])
@dataclass
class Pytree:
    vector: Float[Array, "d"]


def test_fields_of_a_dataclass_are_checked_but_not_what_jax_puts_into_those_of_a_pytree():
    with pytest.raises(TypeCheckError, match="vector"):
        Plain(jnp.ones((2, 3)))
    stacked = jax.tree.map(lambda *vectors: jnp.stack(vectors), Pytree(jnp.zeros(3)), Pytree(jnp.ones(3)))
    assert jax.vmap(lambda one: one.vector.sum())(stacked).tolist() == [0, 3]


def test_the_package_itself_is_checked():
    with pytest.raises(TypeCheckError, match="matrix_singular_values"):
        matrix_singular_values(np.ones((3, 2)), rank=1)
