"""The commands as a user runs them: real processes, real files."""

import gc
import json
import os
import signal
import stat
import subprocess
import sys
import time
import weakref
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import loadstone
from loadstone.cli.interrupts import ends_like_an_interrupt
from loadstone.cli.train_runs import summary
from loadstone.memories.files import load_memory
from loadstone.memories.recall import recall_index
from loadstone.runs.spec import Spec

LOADSTONE = Path(sys.executable).with_name("loadstone")


def process(*arguments, **options):
    """A command as a process of its own, where that is the point: it takes seconds to start."""
    return subprocess.run([LOADSTONE, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)


def test_train_prints_one_json_object_and_saves_a_memory_that_recalls(tmp_path, command):
    memory, instance = tmp_path / "memory.safetensors", tmp_path / "instance.npz"
    trained = command("train", "--d", 20, "--load", 0.5, "--seed", 3, "--json", "--out", memory)
    assert trained.returncode == 0, trained.stderr
    record = json.loads(trained.stdout)
    assert trained.stdout.count("\n") == 1
    assert {"p", "d", "load", "kappa", "seed", "accuracy", "violations", "loss", "steps", "status", "margin", "seconds",
            "description", "solver", "stop", "rank"} <= record.keys()  # fmt: skip
    assert (record["d"], record["seed"], record["accuracy"], record["violations"]) == (20, 3, 1.0, 0)
    assert record["status"] == "stored" and record["margin"] > 0
    assert record["load"] == pytest.approx(0.5, abs=0.02)

    assert command("instance", "--d", 20, "--p", record["p"], "--seed", 3, "--out", instance).returncode == 0
    with np.load(instance) as file:
        places = recall_index(load_memory(memory), file["inputs"], outputs=file["outputs"])
    assert places.tolist() == list(range(record["p"]))


def test_train_with_answers(command):
    done = command("train", "--d", 8, "--facts", 20, "--answers", 5, "--frequencies", "balanced", "--json")
    record = json.loads(done.stdout)
    assert (record["p"], record["answers"], record["frequencies"]) == (20, 5, "balanced")
    assert record["violations"] == 0 and record["description"] == "original, outputs shared, 5 answers"


def test_a_limit_of_seconds_says_that_compiling_and_the_first_pass_are_not_cut_short(command):
    """A size that no other test has, so that a program must be compiled for it."""
    record = json.loads(command("train", "--d", 13, "--p", 41, "--solver", "sgd", "--seconds", 0.001, "--json").stdout)
    assert (record["status"], record["passes"]) == ("out of time", 1) and record["seconds"] > 0.01
    words = " ".join(command("train", "--help").stdout.replace("│", " ").split())
    assert "Compilation counts, but is not cut short, nor is the first pass" in words


def test_train_several_seeds_and_both_solvers(tmp_path, command):
    several = command("train", "--problem", "decoupled", "--d", 10, "--p", 20, "--seeds", 3, "--stop", "exact",
                  "--kappa", 0.5, "--json", "--out", tmp_path / "m{seed}.safetensors")  # fmt: skip
    assert several.returncode == 0, several.stderr
    record = json.loads(several.stdout)
    assert [run["seed"] for run in record["runs"]] == [0, 1, 2] and record["rank"] == 5
    assert record["accuracy"] == pytest.approx(np.mean([run["accuracy"] for run in record["runs"]]))
    assert record["description"] == "decoupled, outputs stored in float32"
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"m{seed}.safetensors" for seed in range(3)]

    hebbian = command("train", "--d", 30, "--load", 0.05, "--solver", "hebbian", "--json")
    record = json.loads(hebbian.stdout)
    assert (record["solver"], record["status"], record["steps"]) == ("hebbian", "closed form", 0)
    assert record["accuracy"] > 0.9


@pytest.mark.parametrize("count", [1, 2, 3])
def test_several_seeds_are_summed_up_whatever_their_number(count):
    names = ("accuracy", "violations", "loss", "steps", "passes", "seconds", "margin")
    found = [dict.fromkeys(names, 4.0 - 2 * seed) | {"seed": seed, "status": "stored"} for seed in range(count)]
    specs = [Spec("original", 5, 8, seed) for seed in range(count)]
    runs = [
        SimpleNamespace(asked=spec, description="words", outcome=lambda one=one: one) for spec, one in zip(specs, found)
    ]
    record = summary(runs)
    assert {record[name] for name in names[:5]} == {5.0 - count} and record["seconds"] == count * (5.0 - count)
    assert record["margin"] == 6.0 - 2 * count and record["status"] == "stored" and record["runs"] == found
    assert (record["seeds"], record["seed"], record["description"]) == (count, 0, "words")


FORTY = ("--solver", "paper", "--set", "steps=40")


def test_the_budget_switches_to_regenerated_outputs(command):
    small = command("train", "--problem", "decoupled", "--d", 10, "--p", 40, "--budget", "50kB", "--json", *FORTY)
    record = json.loads(small.stdout)
    roomy = json.loads(command("train", "--problem", "decoupled", "--d", 10, "--p", 40, "--json", *FORTY).stdout)
    assert record["description"] == "decoupled, outputs regenerated"
    assert roomy["description"] == "decoupled, outputs stored in float32"
    assert record["loss"] == pytest.approx(roomy["loss"], rel=1e-3)


def test_people_get_a_table_and_plain_progress_lines(command):
    shown = command("train", "--d", 10, "--p", 12)
    assert shown.returncode == 0 and "accuracy" in shown.stdout and "stored" in shown.stdout
    assert "original, d = 10, p = 12:" in shown.stderr and "\x1b" not in shown.stdout + shown.stderr
    assert "/2000 loss" in shown.stderr


def test_diverged_is_a_status_and_json_stays_valid(command):
    sgd = ("--solver", "sgd:1e38")
    done = command("train", "--d", 10, "--p", 20, *sgd, "--stop", "none", "--json")
    record = json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert record["status"] == "diverged"
    assert record["loss"] is None or record["loss"] > 1e30


BAD = {
    "load too large": (["train", "--d", 10, "--load", 1e308], "load is 1e+308, but must be at least 0 and at most"),
    "load that nobody stores": (["train", "--d", 100, "--load", 1e9], "but must be such that p is at least 2"),
    "load next to nothing": (["train", "--d", 10, "--load", 1e-320], "load is 1e-320, but must be such that p is"),
    "p that nobody stores": (["instance", "--d", 9, "--p", 2**31, "--out", "i.npz"], "p is 2147483648, but must be"),
    "d that nobody stores": (["instance", "--d", 2**24 + 1, "--p", 4, "--out", "i.npz"], "d is 16777217, but must be"),
    "budget of 400 digits": (["train", "--d", 10, "--p", 50, "--budget", "9" * 400], "but must be a size above 0"),
    "page without a name": (["explore", "--out", ""], "out is '', but must be the name of a file"),
    "table without a name": (["export", "--store", "s", "--out", " "], "out is ' ', but must be the name of a file"),
    "streams without end": (["capacity", "--d", 3, "--seeds", 10**7], "seeds is 10000000, but must be"),
    "streams beyond the last": (["capacity", "--d", 3, "--seed", 2**64 - 2], "seed is 18446744073709551614"),
    "budget of nothing": (["capacity", "--d", 3, "--budget", ""], "budget is ''"),
    "p below 2": (["train", "--d", 10, "--p", 1], "p is 1, but must be a whole number of at least 2"),
    "d below 1": (["train", "--d", 0, "--p", 5], "d is 0, but must be a whole number of at least 1"),
    "kappa 0": (["train", "--d", 10, "--p", 5, "--kappa", 0], "kappa is 0.0, but must be a number in (0, 1]"),
    "kappa 1.5": (["train", "--d", 10, "--p", 5, "--kappa", 1.5], "kappa is 1.5"),
    "kappa nan": (["train", "--d", 10, "--p", 5, "--kappa", "nan"], "kappa is nan"),
    "load too small": (["train", "--d", 3, "--load", 0.01], "it gives p = 1 at d = 3"),
    "load nan": (["train", "--d", 3, "--load", "nan"], "load is nan"),
    "load negative": (["train", "--d", 3, "--load", -1], "load is -1.0"),
    "neither p nor load": (["train", "--d", 3], "give either --load or --p"),
    "both p and load": (["train", "--d", 3, "--p", 4, "--load", 1], "give either --load or --p"),
    "budget": (["train", "--d", 10, "--p", 50, "--budget", "1kB"], "raise the budget"),
    "decoupled budget": (
        ["train", "--problem", "decoupled", "--d", 10, "--p", 50, "--budget", "1kB"],
        "raise the budget",
    ),
    "budget words": (["train", "--d", 10, "--p", 50, "--budget", "lots"], "budget is 'lots'"),
    "unknown option": (["train", "--d", 10, "--p", 5, "--colour", "red"], "No such option: --colour"),
    "unknown command": (["tain"], "No such command 'tain'"),
    "unknown problem": (["train", "--problem", "other", "--d", 9, "--p", 5], "problem is 'other'"),
    "unknown solver": (["train", "--solver", "sgdd", "--d", 9, "--p", 5], "solver is 'sgdd'"),
    "unknown optimiser": (["train", "--solver", "perceptrn", "--d", 9, "--p", 5], "(did you mean 'perceptron'?)"),
    "no learning rate": (
        ["train", "--solver", "perceptron", "--set", "learning_rate=1", "--d", 9, "--p", 5],
        "'learning_rate', but must be a parameter of perceptron (batch)",
    ),
    "no blocks": (
        ["train", "--solver", "lbfgs", "--set", "batch=4", "--d", 9, "--p", 5],
        "'batch', but must be a parameter",
    ),
    "no value": (["train", "--set", "batch", "--d", 9, "--p", 5], "set is 'batch', but must be of the form name=value"),
    "twice": (["train", "--set", "a=1", "--set", "a=2", "--d", 9, "--p", 5], "set is 'a=2', but must be given once"),
    "decoupled blocks": (
        ["train", "--solver", "minibatch", "--set", "batch=4", "--problem", "decoupled", "--d", 9, "--p", 5],
        "batch is 4, but must be 0 for this problem",
    ),
    "perceptron of factors": (
        ["train", "--solver", "perceptron", "--kappa", 0.5, "--d", 9, "--p", 5],
        "memory is 'a LowRank', but must be",
    ),
    "unknown stop": (["train", "--stop", "soon", "--d", 9, "--p", 5], "stop is 'soon'"),
    "hebbian rank": (["train", "--solver", "hebbian", "--kappa", 0.5, "--d", 9, "--p", 5], "kappa is 0.5"),
    "no seeds": (["train", "--d", 9, "--p", 5, "--seeds", 0], "seeds is 0"),
    "negative seed": (["train", "--d", 9, "--p", 5, "--seed", -1], "seed is -1"),
    "not a number": (["train", "--d", "ten", "--p", 5], "Invalid value for '--d'"),
    "missing folder": (["train", "--d", 9, "--p", 5, "--out", "nowhere/m.safetensors"], "nowhere is not a folder"),
    "several into one": (["train", "--d", 9, "--p", 5, "--seeds", 2, "--out", "m.safetensors"], "must contain {seed}"),
    "instance p": (["instance", "--d", 9, "--p", 1, "--out", "i.npz"], "p is 1"),
    "instance name": (["instance", "--d", 9, "--p", 4, "--out", "i.txt"], "must end in .npz"),
    "instance problem": (["instance", "--d", 9, "--p", 4, "--problem", "x", "--out", "i.npz"], "problem is 'x'"),
    "instance law": (["instance", "--d", 9, "--p", 4, "--law", "x", "--out", "i.npz"], "law is 'x'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_sentence_and_leaves_no_file(name, command, tmp_path):
    arguments, sentence = BAD[name]
    refused = command(*arguments, cwd=tmp_path)
    assert refused.returncode == 2
    assert sentence in refused.stderr and refused.stdout == ""
    assert refused.stderr.startswith("loadstone: ") and refused.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_process_of_its_own_says_the_same(command):
    for name in ("p below 2", "unknown command"):
        here, there = (start(*BAD[name][0]) for start in (command, process))
        assert (here.returncode, here.stdout, here.stderr) == (there.returncode, there.stdout, there.stderr)


def test_an_unwritable_folder_is_refused_before_any_work(tmp_path, command):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    if os.access(folder, os.W_OK):  # root may write anywhere: a path below a file is closed to root too
        (tmp_path / "file").write_text("")
        folder = tmp_path / "file"
    refused = command("train", "--d", 2000, "--p", 100_000, "--out", folder / "m.safetensors")
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1
    assert "cannot be written to" in refused.stderr or "is not a folder" in refused.stderr


def test_reproduce_refuses_a_folder_that_it_cannot_fill(tmp_path, command):
    (tmp_path / "file").write_text("")
    (tmp_path / "taken" / "accuracy.json").mkdir(parents=True)
    for out, sentence in (("file", "which is a file"), ("taken", "is a folder"), ("file/below", "Not a directory")):
        refused = command("reproduce", "--out", tmp_path / out)
        assert refused.returncode == 2 and sentence in refused.stderr and refused.stderr.count("\n") == 1
    assert "seeds is 0" in command("reproduce", "--seeds", 0, "--out", tmp_path / "new").stderr
    assert not (tmp_path / "new").exists()


def test_help_names_every_command(command):
    shown = command("--help")
    assert shown.returncode == 0
    for name in ("train", "instance", "reproduce"):
        assert name in shown.stdout


def test_the_version_and_the_package_without_a_command(command):
    shown = command("--version")
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, f"loadstone {loadstone.__version__}\n", "")
    assert command().returncode == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.soak)])
def test_an_interrupt_or_a_polite_request_to_end_is_heard_within_seconds_and_leaves_no_file(number, tmp_path):
    command = [LOADSTONE, "train", "--d", "200", "--load", "0.9", "--out", str(tmp_path / "memory.safetensors")]
    started = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert "loss" in started.stderr.readline()  # training is under way
    started.send_signal(number)
    if number != signal.SIGINT:
        started.send_signal(number)  # a second one does not disturb
    out, err = started.communicate(timeout=60)
    assert started.returncode == 130 and out == "" and list(tmp_path.iterdir()) == []
    assert err.splitlines()[-1] == "loadstone: interrupted; nothing half-written was left behind."


def test_signals_are_as_before_after_a_command_and_ignored_ones_stay_ignored(command):
    def heard():
        return [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]

    before = heard()
    command("--version")
    assert heard() == before
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup leaves it
    try:
        with ends_like_an_interrupt():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) not in before
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)  # ignored while the first is being answered
    finally:
        signal.signal(signal.SIGHUP, before[1])
    assert heard() == before


def test_an_interrupt_at_a_bad_moment_is_raised_at_a_good_one():
    """Python would drop it in the garbage collector or where a weak set forgets what was deleted, and a compiled module
    that is being loaded would crash."""

    class Loader(ExtensionFileLoader):
        def create_module(self, spec):
            signal.raise_signal(signal.SIGTERM)

    def collecting(*_):
        signal.raise_signal(signal.SIGTERM)

    def collect():
        gc.callbacks.append(collecting)
        try:
            gc.collect()
        finally:
            gc.callbacks.remove(collecting)

    class Data(set):
        def discard(self, item):
            signal.raise_signal(signal.SIGTERM)

    def forget():
        known, one = weakref.WeakSet(), Loader("name", "path")
        known.data = Data()
        known.add(one)
        del one

    for bad_moment in (collect, forget, lambda: Loader("name", "path").create_module(None)):
        with ends_like_an_interrupt():
            bad_moment()
            with pytest.raises(KeyboardInterrupt):
                time.sleep(60)


def shell(words):
    return subprocess.run(["bash", "-c", f"exec {LOADSTONE} {words}"], capture_output=True, text=True, timeout=100)


@pytest.mark.parametrize("words", [
    "predict --d 10 --json", "--version", "predict --help", pytest.param("predict --d 10", marks=pytest.mark.soak),
])  # fmt: skip
def test_an_answer_that_cannot_be_given(words):
    closed, full = shell(f"{words} >&-"), shell(f"{words} >/dev/full")
    for done, sentence in ((closed, "standard output is closed"), (full, "No space left on device")):
        assert done.returncode == 2 and sentence in done.stderr
        assert done.stderr.startswith("loadstone: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("words, unbuffered", [
    ("predict --d 10", ""), ("predict --d 10 --json", "1"),
    *(pytest.param(*one, marks=pytest.mark.soak) for one in (("predict --d 10", "1"), ("predict --d 10 --json", ""))),
])  # fmt: skip
def test_a_reader_that_has_gone_ends_the_command_quietly(words, unbuffered):
    """With a buffer there is something left that Python would try to write when it exits."""
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [LOADSTONE, *words.split()], stdout=writer, stderr=subprocess.PIPE, timeout=100, env=environment
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("where", ["2>&-", pytest.param("2>/dev/full", marks=pytest.mark.soak)])
def test_progress_never_goes_to_standard_output(where):
    done = shell(f"train --d 5 --p 5 --solver paper --set steps=40 --json {where}")
    assert done.returncode == 0 and json.loads(done.stdout)["d"] == 5, done.stderr
    done = shell(f"predict --d 0 {where}")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_files_are_not_given_the_numbers_of_closed_streams(tmp_path):
    """Otherwise what a library prints would end in the file that is being written."""
    program = "import os, sys\nfrom loadstone.cli.streams import open_streams\nopen_streams()\n"
    program += f"assert open({str(tmp_path / 'file')!r}, 'w').fileno() > 2 and sys.stderr is not None"
    script = tmp_path / "script.py"
    script.write_text(program)
    done = subprocess.run(["bash", "-c", f"exec {sys.executable} {script} <&- >&- 2>&-"], timeout=60)
    assert done.returncode == 0


def test_a_home_that_is_not_there():
    """Neither a folder, nor a name for it, nor an entry among the users."""
    program = "import os, pwd, sys\nos.environ.pop('HOME', None), os.environ.pop('XDG_CACHE_HOME', None)\n"
    program += "def nobody(uid):\n    raise KeyError(uid)\npwd.getpwuid = nobody\n"
    program += "from loadstone.cli.app import main\nmain()"
    for words in ("predict --d 10 --json", "certify --d 3 --p 4 --json"):
        start = [sys.executable, "-c", program, *words.split()]
        done = subprocess.run(start, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0 and json.loads(done.stdout)["d"] in (3, 10), done.stderr
