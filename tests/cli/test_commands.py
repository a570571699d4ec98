"""loadstone train as a user runs it, and what all commands have in common."""

import json
import os
import stat

import numpy as np
import pytest

import loadstone
from loadstone.cli.app import COMMANDS
from loadstone.cli.options import associations_from
from loadstone.memories.files import load_memory
from loadstone.memories.recall import recall_index


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


def test_help_names_every_command(command):
    shown = command("--help")
    assert shown.returncode == 0 and all(name in shown.stdout for name in COMMANDS)
    assert command("--help", "train").stdout == shown.stdout


def test_the_commands_for_facts_are_shown_to_whoever_names_none(command):
    shown = command("facts").stdout
    assert all(name in shown for name in ("screen", "store", "recall", "edit", "budget", "report"))


def test_the_version_and_the_package_without_a_command(command):
    shown = command("--version")
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, f"loadstone {loadstone.__version__}\n", "")
    assert command().returncode == 2


@pytest.mark.parametrize("p, load, d, expected", [
    (2, None, 1, 2), (2**31 - 1, None, 2**24, 2**31 - 1), (None, 1.0, 20, 89), (None, 0.5, 10, 17),
    (None, 2 * np.log(2) / 9, 3, 2),
])  # fmt: skip
def test_a_number_of_associations_is_given_or_follows_from_the_load(p, load, d, expected):
    assert associations_from(p, load, d) == expected


@pytest.mark.parametrize("load, d, sentence", [
    (1e6, 2**14, "at most 2147483647: it gives p = "), (1e30, 2**24, "small enough for at most 1e.15 associations"),
])  # fmt: skip
def test_a_load_of_too_many_associations_is_refused(load, d, sentence):
    with pytest.raises(ValueError, match=sentence):
        associations_from(None, load, d)


def test_of_several_processes_the_first_answers(command, monkeypatch, tmp_path):
    monkeypatch.setattr("loadstone.hosts.is_first", lambda: False)
    done = command("train", "--d", 4, "--p", 6, "--solver", "hebbian", "--out", "m.safetensors", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "") and not list(tmp_path.iterdir())


def test_an_interrupted_search_says_where_it_is_kept(command, monkeypatch, tmp_path):
    def interrupted(*_, **__):
        (tmp_path / "c.npz").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("loadstone.cli.train_runs.run_all", interrupted)
    train = ("train", "--d", 4, "--p", 6)
    last = "loadstone: interrupted; nothing half-written was left behind."
    kept = "The search so far is in c.npz: the same command goes on from there."
    assert command(*train, cwd=tmp_path).stderr.splitlines() == [last]
    assert command(*train, "--checkpoint", "c.npz", cwd=tmp_path).stderr.splitlines() == [kept, last]
