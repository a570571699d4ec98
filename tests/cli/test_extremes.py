"""Every command against extreme values: an answer of finite numbers, or one sentence and exit code 2."""

import json

import pytest

from loadstone.runs.record import Record, key_of
from loadstone.runs.store import Store

EXTREME = ["0", "-1", "nan", "inf", "1e308", "1e-320", "1" + 400 * "0", "", "x" * 3000, "٣"]

#: What of each command is varied. The rest is such that little is computed where a value is allowed after all.
COMMANDS = {
    "predict --d 10": ("d", "p", "load", "kappa"),
    "predict --p 10": ("load",),
    "instance --d 3 --p 4 --out i.npz": ("d", "p", "out"),
    "instance --d 3 --out i.npz": ("load",),
    "certify --d 3 --p 4": ("d", "p", "seed", "steps", "out"),
    "certify --d 3": ("load",),
    "capacity --d 2 --seeds 1": ("d", "seeds", "steps"),
    "explore": ("out",),
    "export --store store --out t.csv": ("store", "out", "format"),
    "pack --store store --out t.zip": ("store", "out"),
    "status --store store": ("store", "workers"),
    "status accuracy --store store": ("scale",),
    "train --d 3": ("load",),
    "train --p 4": ("d",),
    "train --d 3 --p 0": ("kappa",),  # allowed or not, p is refused
    "run grid.toml": ("store", "budget", "workers"),
}
CASES = [(words, option) for words, options in COMMANDS.items() for option in options]


@pytest.fixture
def folder(tmp_path):
    spec = {"d": 3, "p": 4}
    made = Record(key_of(spec), spec, {"status": "step limit", "loss": 0.5}, {"seconds": 0.1})
    Store(tmp_path / "store").put(made)
    (tmp_path / "grid.toml").write_text('[[grid]]\nproblem = "original"\nd = 3\np = 0\n')  # refused in the end
    return tmp_path


@pytest.mark.parametrize("words, option", CASES, ids=[f"{words} --{option}" for words, option in CASES])
def test_an_answer_or_one_sentence(words, option, command, folder):
    for extreme in EXTREME:
        done = command(*words.split(), f"--{option}", extreme, cwd=folder)
        said = f"{option} {extreme[:20]!r}: {done.returncode}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr and "nan" not in done.stdout.split(), said
        if done.returncode == 2:
            assert done.stdout == "" and done.stderr.count("\n") == 1 and done.stderr.startswith("loadstone: "), said
            assert len(done.stderr) < 4000, said
        else:
            assert done.returncode in (0, 1, 3), said


@pytest.mark.parametrize("kappa", ["1", "0.3", "1e-9", "1e-320"])
@pytest.mark.parametrize("size", ["--d 1", "--d 100000000", "--p 2", "--d 1 --p 1000000000000000", "--d 10 --load 1e9"])
def test_predictions_are_finite_numbers(size, kappa, command):
    done = command("predict", *size.split(), "--kappa", kappa, "--json")
    if done.returncode == 0:
        lacking = {name for name, value in json.loads(done.stdout).items() if value is None}
        assert lacking <= {"filled_in", "intuition", "probability_storable", "capacity_interval"}
        assert ("probability_storable" in lacking) == (kappa != "1")
        assert ("capacity_interval" in lacking) == (kappa != "1" or size == "--d 100000000")
    else:
        assert done.returncode == 2 and size == "--p 2" and "facts is 2, but must be few enough to fit" in done.stderr
