"""A search that was interrupted, or killed, goes on bit for bit; a file of another search is refused."""

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from functools import partial

import jax
import numpy as np
import optax
import pytest

import loadstone
from loadstone.problems.original import original
from loadstone.solvers.checkpoint import Checkpoint
from loadstone.solvers.solution import Status
from loadstone.solvers.solve import solve, solve_batch
from loadstone.solvers.stop import Limits
from loadstone.streams.stream import Stream

PASSES = Limits(passes=40)
CHAIN = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.5, momentum=0.9))
# Above capacity, so that no search ends early.
HARD = original(Stream(0, 6), 40)


def search(file=None, solver="lbfgs:20,1e-30", limits=PASSES, **options):
    return solve(HARD, solver=solver, stop="none", limits=limits, checkpoint=file, **options)


def interrupt(passes, words):
    """So slow to listen that a search of a few milliseconds reports often."""
    time.sleep(0.05)
    if passes > 1:
        raise KeyboardInterrupt


def assert_same(one, other):
    for left, right in zip(jax.tree.leaves(one.memory), jax.tree.leaves(other.memory), strict=True):
        np.testing.assert_array_equal(left, right)
    assert (one.status, one.passes) == (other.status, other.passes) and one.passes > 20
    np.testing.assert_array_equal(one.loss, other.loss)
    np.testing.assert_array_equal(one.accuracy, other.accuracy)


@pytest.fixture(scope="module")
def whole():
    return search()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"solver": "paper"},
        {"solver": CHAIN},
        pytest.param({"precision": "float64"}, marks=pytest.mark.soak),
        pytest.param({"solver": "minibatch"}, marks=pytest.mark.soak),
    ],
    ids=["lbfgs", "paper", "optax chain", "float64", "minibatch"],
)
def test_an_interrupted_search_goes_on_bit_for_bit(tmp_path, options):
    file = tmp_path / "search.npz"
    with pytest.raises(KeyboardInterrupt):
        search(file, progress=interrupt, **options)
    done, seen = _manifest(file)["arrays"][".loss"][2][0], []
    continued = search(file, progress=lambda passes, *_: seen.append(passes), **options)
    assert 1 < done < seen[0]  # the passes before were not done again
    assert_same(continued, search(**options))


KILLED = """
import os, signal, sys
from loadstone.solvers import checkpoint, segments
from tests.solvers.test_checkpoint import search

checkpoint._SECONDS = checkpoint._PARTS = 0  # after every segment, so that the test need not wait a minute
segments._SHORTEST = 0
kill = lambda passes, *_: passes >= 20 and os.kill(os.getpid(), signal.SIGKILL)
search(sys.argv[1], progress=kill)
"""


def test_a_search_that_was_killed_goes_on_bit_for_bit(tmp_path, whole):
    file = tmp_path / "search.npz"
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run([sys.executable, "-c", KILLED, file], env={**os.environ, "PYTHONPATH": paths}, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert [path.name for path in tmp_path.iterdir()] == ["search.npz"]  # nothing half-written
    assert 12 <= _manifest(file)["arrays"][".loss"][2][0] < 20
    assert_same(search(file), whole)


def test_more_passes_may_be_allowed_later(tmp_path, whole):
    file = tmp_path / "search.npz"
    first = search(file, limits=Limits(passes=21))
    assert first.status == Status.OUT_OF_PASSES and first.passes == 21
    assert_same(search(file), whole)
    # Here the search has ended: what it found is read, and no pass is done again.
    written = file.stat().st_mtime_ns, file.read_bytes()
    assert_same(search(file, progress=lambda *_: pytest.fail("a pass was done")), whole)
    assert search(file).seconds > 0 and written[0] < file.stat().st_mtime_ns
    with pytest.raises(ValueError, match="passes is 39, but must be more than the 40 that are done in .*search.npz"):
        search(file, limits=Limits(passes=39))


@pytest.fixture(scope="module")
def written(tmp_path_factory, whole):
    file = tmp_path_factory.mktemp("written") / "search.npz"
    search(file)
    return file


OTHER = {
    "its solver is LBFGS.*, not Paper": lambda file: search(file, "paper"),
    "its solver is .*tolerance=1e-30.*, not .*tolerance=1e-05": lambda file: search(file, "lbfgs"),
    "its stop rule is none, not exact": lambda file: solve(HARD, solver="lbfgs:20,1e-30", checkpoint=file),
    "its precision is float32, float64, not float32": lambda file: search(file, precision="float32"),
    "its problem is original, outputs shared .*, not original": lambda file: solve(
        original(Stream(1, 6), 40), solver="lbfgs:20,1e-30", stop="none", checkpoint=file
    ),
    "its start is Full .*, not Full": lambda file: search(file, memory=loadstone.initial_memory(6, 1.0, seed=1)),
    "its start is Full .*, not LowRank": lambda file: search(file, memory=loadstone.initial_memory(6, 0.5, seed=0)),
}


@pytest.mark.parametrize("sentence", OTHER)
def test_a_checkpoint_of_another_search_is_refused(written, sentence):
    with pytest.raises(ValueError, match=f"checkpoint is .*search.npz', but must be one of this search: {sentence}"):
        OTHER[sentence](written)


@pytest.mark.parametrize("one, other", [("relu:4", "gelu:4"), ("rounded:2", "rounded:6"), ("blocks:2", "blocks:3")])
def test_a_checkpoint_of_another_family_with_the_same_arrays_is_refused(one, other, tmp_path):
    first, second = (loadstone.initial_memory(6, seed=0, family=name) for name in (one, other))
    if one == "blocks:2":
        second = replace(second, weights=first.weights)
    for mine, theirs in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    going_on = partial(solve, HARD, solver="adam:0.1", limits=Limits(3), checkpoint=tmp_path / "search.npz")
    going_on(first)
    with pytest.raises(ValueError, match="but must be one of this search: its start is .*, not "):
        going_on(second)


def test_a_checkpoint_of_another_version_is_refused(written, monkeypatch):
    monkeypatch.setattr(loadstone, "__version__", "99.0")
    with pytest.raises(ValueError, match=r"its version of loadstone is .*, not 99.0\.$"):
        search(written)


def test_a_chain_with_another_state_is_refused(tmp_path):
    file = tmp_path / "search.npz"
    with pytest.raises(KeyboardInterrupt):
        search(file, CHAIN, progress=interrupt)
    with pytest.raises(ValueError, match=r"one of this search \(.* is .* there and .* here\)"):
        search(file, optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.5)))


def _flipped(content):
    """One bit of W is another."""
    half = len(content) // 2
    return content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :]


DAMAGE = {
    "it is a damaged archive": lambda content: content[: len(content) // 2],
    "in it is damaged": _flipped,
    "it is not an archive": lambda content: b"",
    "it is text, not an archive": lambda content: b"words",
}


@pytest.mark.parametrize("sentence", DAMAGE)
def test_a_damaged_checkpoint_is_refused(tmp_path, written, sentence):
    file = tmp_path / "search.npz"
    file.write_bytes(DAMAGE[sentence](written.read_bytes()))
    with pytest.raises(ValueError, match=f"search.npz', but must be an undamaged checkpoint .*{sentence}"):
        search(file)


CHANGES = [
    {"format": "loadstone checkpoint 9"}, {"identity": {}}, {"precisions": 3}, {"precisions": []},
    {"precisions": ["float99"]}, {"seconds": "NaN"}, {"arrays": {".loss": ["0", "O", [1]]}}, {"arrays": {"a": "b"}},
    {"arrays": {".loss": ["0", "f4,(", [1]]}}, {"arrays": {".loss": ["77", "float32", [40]]}},
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_manifest_that_makes_no_sense_is_refused(tmp_path, written, change):
    file = changed(written, tmp_path / "search.npz", manifest=json.dumps(_manifest(written) | change))
    with pytest.raises(ValueError, match="search.npz', but must be an undamaged checkpoint"):
        search(file)


def test_a_manifest_that_is_nested_deep_is_refused(tmp_path, written):
    file = changed(written, tmp_path / "search.npz", manifest="[" * 100_000)
    with pytest.raises(ValueError, match="search.npz', but must be an undamaged checkpoint"):
        search(file)


@pytest.mark.parametrize("part, value", [(".status", 77), (".status", -1), (".passes", 39), (".passes", 10**9)])
def test_a_state_that_no_search_has_is_refused(tmp_path, written, part, value):
    member, dtype, _ = _manifest(written)["arrays"][part]
    file = changed(written, tmp_path / "search.npz", **{member: np.array([value], dtype).view(np.uint8)})
    with pytest.raises(ValueError, match=f"undamaged checkpoint .it states the .*{value}"):
        search(file)


def changed(file, path, **members):
    """A checkpoint with other members in their places."""
    with np.load(file) as before:
        np.savez(path, **(dict(before) | {name: np.asarray(value) for name, value in members.items()}))
    return path


def test_what_is_not_one_search_has_no_checkpoint(tmp_path):
    file = tmp_path / "search.npz"
    for solver in ("hebbian", "pruning:0.5,2"):
        with pytest.raises(ValueError, match="must be left out for .*, which is not one search pass by pass"):
            search(file, solver)
    with pytest.raises(ValueError, match="must be left out for a batch, here of 2 problems"):
        solve_batch([HARD, HARD], [None, None], checkpoint=file)
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        search(tmp_path / "nowhere" / "search.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_state_is_written_once_a_minute_and_takes_a_twentieth_of_the_time(tmp_path, monkeypatch):
    clock, disk, wait = [0.0], [0.0], 60.0
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    monkeypatch.setattr("os.fsync", lambda file: clock.append(clock.pop() + disk[0]))
    file = Checkpoint(tmp_path / "search.npz", {})
    for disk[0] in (1.0, 10.0, 0.0):
        written, clock[0] = clock[0], clock[0] + wait - 1
        assert not file.is_due()
        began = clock[0] = written + wait + 1
        assert file.is_due()
        file.write({"a": np.ones(3)}, ("float32",), 1.0)
        wait = max(60.0, 20 * (clock[0] - began))


def _manifest(file):
    with np.load(file) as members:
        return json.loads(str(members["manifest"]))


@pytest.mark.soak
def test_the_command_keeps_its_search_and_goes_on(tmp_path, command):
    file, out = tmp_path / "search.npz", tmp_path / "memory.safetensors"
    size = ("train", "--d", 6, "--p", 40, "--stop", "none", "--passes", 12, "--json", "--checkpoint", file)
    first = json.loads(command(*size, "--seconds", 1e-9).stdout)
    assert first["passes"] == 1 and first["status"] == "out of time"
    second = json.loads(command(*size, "--out", out).stdout)
    assert second["passes"] == 12 and second["status"] == "out of passes" and out.exists()
    assert zipfile.is_zipfile(file)
