"""loadstone sample: its numbers and exit codes."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from loadstone.estimate import Estimate
from loadstone.space.diagnostics import Mixing
from loadstone.space.sample import Sampled

SMALL = ("sample", "--problem", "decoupled", "--d", 3, "--p", 2)


def test_keys_and_numbers(command):
    done = command(*SMALL, "--chains", 4, "--no-volume", "--json")
    record = json.loads(done.stdout)
    assert done.returncode == 0 and record["mixed"] and record["free_entropy"] is None
    assert 1 <= record["r_hat"] < 1.05 and record["effective_samples"] > 100 and record["overlap_error"] > 0
    assert record["overlap"] == pytest.approx(record["overlap_predicted"], abs=0.2)
    # Of two facts with two answers each, a random W stores both with probability 1/4, up to the curvature.
    assert record["free_entropy_predicted"] == pytest.approx(np.log(0.5) * 2 / 9, rel=0.2)
    few = command(*SMALL, "--chains", 4, "--steps", 2, "--no-volume")
    assert few.returncode == 3 and "overlap" in few.stdout
    assert "have not mixed" in few.stderr and "so nothing is averaged: give more --steps." in few.stderr


def test_samples_of_a_family_are_compared_at_its_own_dimension(command):
    """Two shared outputs show one of three directions: 3 of the 9 dimensions, which symmetric memories have too."""
    full, symmetric = (
        json.loads(command("sample", "--d", 3, "--p", 2, "--family", family, "--no-volume", "--json").stdout)
        for family in ("full", "symmetric")
    )
    assert (full["dimension"], symmetric["dimension"], symmetric["family"]) == (9, 6, "symmetric")
    assert symmetric["overlap_predicted"] != full["overlap_predicted"] and 0 < symmetric["overlap_predicted"] < 1


@pytest.fixture
def sampling(monkeypatch):
    """A sampler with a result that is made by hand, and what it was asked."""
    known = {"mixing": Mixing(1.01, 50.0, 4.0), "overlap": Estimate(0.3, 0.01), "volume": None, "centre": None}
    known |= {"typical": None, "dimension": 9, "steps": 320, "passes": 1000, "seconds": 1.0}
    given = SimpleNamespace(known=known, asked=[])

    def sample(arrays, chains, *, progress, **asked):
        given.asked.append({"p": len(arrays.inputs), "decoupled": arrays.decoupled, "chains": chains} | asked)
        progress(1, "words")
        return Sampled(**given.known)

    monkeypatch.setattr("loadstone.space.sample.sample", sample)
    return given


def test_all_numbers_reach_a_program(sampling, command):
    sampling.known["volume"] = SimpleNamespace(log=Estimate(-4.5, 0.9))
    record = json.loads(command(*SMALL, "--seed", 3, "--chains", 5, "--steps", 7, "--json").stdout)
    assert sampling.asked == [
        {"p": 2, "decoupled": True, "chains": 5, "steps": 7, "seed": 3, "family": "full", "method": "reflections",
         "with_volume": True}
    ]  # fmt: skip
    assert {name: value for name, value in record.items() if "predicted" not in name} == {
        "problem": "decoupled", "d": 3, "p": 2, "seed": 3, "answers": 2, "family": "full", "dimension": 9,
        "mixed": True, "r_hat": 1.01, "effective_samples": 50.0, "autocorrelation_time": 4.0, "overlap": 0.3,
        "overlap_error": 0.01, "free_entropy": -0.5, "free_entropy_error": 0.1, "log_volume": -4.5, "chains": 5,
        "steps": 320, "passes": 1000, "method": "reflections", "seconds": 1.0,
    }  # fmt: skip


def test_a_free_entropy_that_is_not_known_is_explained(sampling, command):
    done = command(*SMALL)
    assert done.returncode == 0 and "Memories that store p = 2 associations, d = 3" in " ".join(done.stdout.split())
    assert "The free entropy is not known" in done.stderr and "0.3" in done.stdout and "None" in done.stdout
    assert command(*SMALL, "--no-volume").stderr == ""
    sampling.known |= {"mixing": Mixing(1.2345, 5.0, 4.0), "overlap": None}
    done = command(*SMALL)
    assert done.returncode == 3 and "(R-hat 1.23)" in done.stderr and done.stderr.count("\n") == 1


def test_an_instance_from_a_file_is_sampled(sampling, command, folder):
    record = json.loads(command("sample", "--instance", "apart.npz", "--json", cwd=folder).stdout)
    assert [record[name] for name in ("problem", "d", "p", "answers")] == ["decoupled", 4, 2, 2]


def test_an_instance_with_one_fact_twice_is_refused(command, tmp_path):
    """Two equal inputs with different answers: no W at all."""
    np.savez(tmp_path / "x.npz", inputs=np.ones((2, 3)), outputs=np.eye(3)[:2])
    done = command("sample", "--instance", "x.npz", cwd=tmp_path)
    assert done.returncode == 2 and "not storable" in done.stderr
