"""Files from elsewhere can run nothing and write nowhere: checked by a walk over the source, and by hostile files.

Every hostile file carries a payload that would make a marker; a test that finds the marker has found a hole.
"""

import ast
import hashlib
import json
import pickle
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loadstone
from loadstone.memories.files import load_memory
from loadstone.problems.instance_files import read_instance
from loadstone.runs.grid import read_grid
from loadstone.runs.pack import MANIFEST, unpack
from loadstone.runs.record import Record, _header, key_of, to_bytes
from loadstone.runs.store import Store

PACKAGE = Path(loadstone.__file__).parent

#: Modules that run what they read, or that unpack archives wherever these say.
MODULES = {
    "pickle", "_pickle", "cPickle", "pickletools", "marshal", "shelve", "dill", "cloudpickle", "joblib", "jsonpickle",
    "yaml", "code", "codeop", "runpy", "tarfile", "torch", "pandas", "pty", "commands",
}  # fmt: skip
#: Functions that do, by their last name: called, or imported by it.
FUNCTIONS = {
    "eval", "exec", "compile", "__import__", "system", "popen", "execv", "execve", "execvp", "execl", "spawnl",
    "spawnv", "extract", "extractall", "unpack_archive", "read_pickle", "load_module", "getoutput",
}  # fmt: skip
#: The same words where they mean something else.
HARMLESS = {"re.compile", "platform.system", "lowered.compile"}


def faults(source: str) -> list[str]:
    """What in a source could run or unpack what a file holds."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom):
            parts = {(node.module or "").split(".")[0]}
            found += [node.module for part in parts if part in MODULES]
            found += [alias.name for alias in node.names if alias.name in FUNCTIONS | MODULES]
            if node.module in ("numpy", "jax.numpy"):
                found += [alias.name for alias in node.names if alias.name == "load"]
        elif isinstance(node, ast.Call):
            found += _faults_of_call(node)
    return found


def _faults_of_call(node: ast.Call) -> list[str]:
    name = ast.unparse(node.func)
    keywords = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
    last = name.rsplit(".", 1)[-1]
    if last in FUNCTIONS and name not in HARMLESS:
        return [name]
    if keywords.get("shell", "False") != "False":
        return [f"{name} with shell={keywords['shell']}"]
    reads_arrays = name in ("np.load", "numpy.load", "jnp.load") or last in ("read_array", "open_memmap")
    if reads_arrays and keywords.get("allow_pickle") != "False":
        return [f"{name} without allow_pickle=False"]
    if keywords.get("allow_pickle", "False") != "False":
        return [f"{name} with allow_pickle={keywords['allow_pickle']}"]
    return []


def test_nothing_in_the_package_runs_what_it_reads():
    files = list(PACKAGE.rglob("*.py"))
    assert len(files) > 50
    assert not [(str(file), found) for file in files for found in faults(file.read_text())]


@pytest.mark.parametrize("source", [
    "import pickle", "import marshal as m", "from pickle import loads", "from shelve import open", "import dill.source",
    "import cloudpickle", "eval('1')", "exec(x)", "builtins.eval(x)", "import os\nos.system('true')", "os.popen(x)",
    "from os import system", "np.load(path)", "np.load(path, allow_pickle=True)", "np.load(path, None, flag)",
    "numpy.load(path, allow_pickle=flag)", "from numpy import load", "import yaml", "import torch",
    "subprocess.run(x, shell=True)", "archive.extractall(place)", "zipfile.ZipFile(x).extract(y)", "compile(x, y, z)",
    "def f():\n    if x:\n        import pickle", "np.lib.format.read_array(file)", "__import__('os')",
])  # fmt: skip
def test_the_walk_sees_what_it_is_for(source):
    assert faults(source)


@pytest.mark.parametrize("source", [
    "np.load(path, allow_pickle=False)", "re.compile(x)", "json.loads(x)", "subprocess.run(x)", "load(p, d)",
    "subprocess.run(x, shell=False)", "from loadstone.theory.load import load", "# import pickle", "'eval(x)'",
])  # fmt: skip
def test_the_walk_leaves_the_rest_alone(source):
    assert not faults(source)


class Payload:
    """Makes a file when it is unpickled."""

    def __init__(self, marker):
        self.marker = str(marker)

    def __reduce__(self):
        return open, (self.marker, "w")


@pytest.fixture
def payload(tmp_path):
    return Payload(tmp_path / "marker")


def unharmed(folder, before):
    """Nothing new lies in the folder, least of all the marker."""
    assert sorted(folder.rglob("*")) == before


def test_the_payload_works(payload, tmp_path):
    """Otherwise the tests below could not fail."""
    pickle.loads(pickle.dumps(payload)).close()
    assert (tmp_path / "marker").exists()
    (tmp_path / "marker").unlink()
    np.savez(tmp_path / "evil.npz", inputs=np.array([payload], object))
    with np.load(tmp_path / "evil.npz", allow_pickle=True) as file:
        file["inputs"][0].close()
    assert (tmp_path / "marker").exists()


def objects(path, payload):
    np.savez(path, inputs=np.array([[payload] * 2] * 3, object), outputs=np.ones((3, 2)), verdict="storable")


def bare_pickle(path, payload):
    path.write_bytes(pickle.dumps({"inputs": payload}))


def pickle_in_a_zip(path, payload):
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("inputs", "inputs.npy", "outputs.npy", "data.pkl"):
            archive.writestr(name, pickle.dumps(payload))


def code_in_a_header(path, payload):
    """The header of an .npy is a Python literal: an expression in its place must not be evaluated."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': (open({payload.marker!r}, 'w'),)}}\n".encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("inputs.npy", "outputs.npy"):
            archive.writestr(name, b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)


HOSTILE = [objects, bare_pickle, pickle_in_a_zip, code_in_a_header]


@pytest.mark.parametrize("make", HOSTILE)
def test_arrays_that_hold_objects_are_refused_unread(make, payload, tmp_path):
    path = tmp_path / "evil.npz"
    make(path, payload)
    with pytest.raises(ValueError, match="evil.npz cannot be read as an instance|must be an array of numbers"):
        read_instance(path)
    found = loadstone.check(path)
    assert not found.valid and "the file is damaged or not a proof" in found.reason or "lacks" in found.reason
    with pytest.raises(ValueError, match="memory file is .*evil.npz"):
        load_memory(path)
    unharmed(tmp_path, [path])


@pytest.mark.parametrize("words, code", [
    (("certify", "--instance", "evil.npz", "--out", "proof.npz"), 2), (("check", "evil.npz"), 1),
    (("run", "evil.npz", "--store", "new"), 2),
])  # fmt: skip
def test_commands_refuse_files_that_hold_objects(words, code, payload, tmp_path, command):
    objects(tmp_path / "evil.npz", payload)
    done = command(*words, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert (done.stdout + done.stderr).count("\n") == 1 and "Traceback" not in done.stderr
    unharmed(tmp_path, [tmp_path / "evil.npz"])


def test_a_memory_that_is_a_pickle(payload, tmp_path):
    path = tmp_path / "memory.safetensors"
    blob = pickle.dumps(payload)
    for content in (blob, len(blob).to_bytes(8, "little") + blob, (2**62).to_bytes(8, "little") + blob):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="memory file is .* but must be a safetensors file"):
            load_memory(path)
    unharmed(tmp_path, [path])


KEY = key_of({})
NAME = f"records/{KEY[:2]}/{KEY}.record"


@pytest.mark.parametrize("protocol", range(6))
def test_a_record_whose_body_is_a_pickle(protocol, payload, tmp_path):
    """Under a right checksum: set aside, and its run counts as missing."""
    body = pickle.dumps({"key": KEY, "spec": {}, "result": payload, "circumstances": {}}, protocol)
    store = Store(tmp_path / "store")
    (store.folder / NAME).parent.mkdir()
    (store.folder / NAME).write_bytes(_header(1, body) + body)
    assert store.summaries() == {} and store.get(KEY) is None
    (why,) = store.quarantined()
    assert "its body is not that of a record" in why and not (tmp_path / "marker").exists()


GRIDS = [
    'problem = "__import__(\'os\').system(\'touch marker\')"\nd = 5\np = 6', 'problem = "original"\nd = "5"\np = 6',
    'problem = "original"\nd = 5\np = 6\n__class__ = "x"', 'problem = "original"\nd = 5\np = 6\nlaw = "../../evil"',
    'problem = "original"\nd = 5\np = 6\nsolver = {a = "eval"}', 'problem = "original"\nd = [[5]]\np = 6',
    'problem = "original"\nd = 5\np = 6\nseeds = 1000000000000', 'problem = "original"\nd = 5\np = 1979-05-27',
    'problem = "original"\nd = 5\np = 6\nseed = -1', 'problem = "original"\nd = 5\np = 6\nkappa = nan',
]  # fmt: skip


@pytest.mark.parametrize("text", GRIDS)
def test_a_hostile_grid_is_refused(text, tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(f"[[grid]]\n{text}\n")
    with pytest.raises(ValueError, match="grid.toml, grid 1: "):
        read_grid(path)
    unharmed(tmp_path, [path])


@given(st.binary(max_size=60))
def test_bytes_that_are_no_grid(tmp_path_factory, junk):
    path = tmp_path_factory.mktemp("grid") / "grid.toml"
    path.write_bytes(junk)
    with pytest.raises(ValueError, match="grid.toml"):
        read_grid(path)


def test_the_command_that_runs_grids_refuses_a_hostile_one(tmp_path, command):
    (tmp_path / "grid.toml").write_text(f"[[grid]]\n{GRIDS[0]}\n")
    done = command("run", "grid.toml", "--store", "store", cwd=tmp_path)
    assert done.returncode == 2 and "problem is" in done.stderr and done.stderr.count("\n") == 1
    unharmed(tmp_path, [tmp_path / "grid.toml"])


def packed(path, members):
    """A packed store of any members under a manifest that fits them."""
    sums = {}
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in members:
            archive.writestr(member, content, zipfile.ZIP_DEFLATED)
            sums[archive.namelist()[-1]] = hashlib.sha256(archive.read(archive.namelist()[-1])).hexdigest()
        manifest = {"format": 2, "number": len(sums), "records": sums}
        archive.writestr(MANIFEST, json.dumps(manifest), zipfile.ZIP_DEFLATED)


def link():
    member = zipfile.ZipInfo(NAME)
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    return member


RECORD = to_bytes(Record(KEY, {}, {}, {}))
PACKED = {
    "a way up": (lambda folder: ("../../evil", RECORD), "not named after its key"),
    "an absolute path": (lambda folder: (f"{folder}/marker", RECORD), "not named after its key"),
    "a link": (lambda folder: (link(), f"{folder}/marker"), "its header is not that of a record"),
    "a bomb": (lambda folder: (NAME, bytes(65 * 2**20)), "states 68157440 bytes, but must have at most"),
    "a pickle": (lambda folder: (NAME, pickle.dumps(Payload(f"{folder}/marker"))), "cannot be read: its header"),
}


@pytest.mark.parametrize("name", PACKED)
def test_a_hostile_packed_store_is_refused_and_leaves_nothing(name, tmp_path):
    make, reason = PACKED[name]
    packed(tmp_path / "evil.zip", [make(tmp_path)])
    store = Store(tmp_path / "a" / "store")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match=reason):
        unpack(tmp_path / "evil.zip", store)
    unharmed(tmp_path, before)


def test_the_command_that_unpacks_refuses_a_way_up(tmp_path, command):
    place = tmp_path / "a" / "b"
    place.mkdir(parents=True)
    packed(place / "evil.zip", [(NAME, RECORD), ("../../evil", RECORD)])
    before = sorted(tmp_path.rglob("*"))
    done = command("unpack", "evil.zip", "--store", "store", cwd=place)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "evil.zip cannot be unpacked: '../../evil' in it cannot be read: it is not named after its" in done.stderr
    unharmed(tmp_path, before)
