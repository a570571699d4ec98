"""loadstone sample: its keys, and one sentence for what cannot be sampled."""

import json

import numpy as np
import pytest


def test_keys_and_numbers(command, tmp_path):
    found = command("sample", "--problem", "decoupled", "--d", 3, "--p", 2, "--chains", 4, "--no-volume", "--json")
    record = json.loads(found.stdout)
    assert found.returncode == 0 and record["mixed"] and record["free_entropy"] is None
    assert 1 <= record["r_hat"] < 1.05 and record["effective_samples"] > 100 and record["overlap_error"] > 0
    assert record["overlap"] == pytest.approx(record["overlap_predicted"], abs=0.2)
    few = command("sample", "--problem", "decoupled", "--d", 3, "--p", 2, "--chains", 4, "--steps", 2, "--no-volume")
    assert few.returncode == 3 and "have not mixed" in few.stderr and "overlap" in few.stdout


@pytest.mark.parametrize("arguments, sentence", [
    (["--d", 4], "give either --load or --p"),
    ([], "No instance is given"),
    (["--d", 4, "--p", 4, "--chains", 1], "chains is 1, but must be a whole number of at least 2"),
    (["--d", 4, "--p", 4, "--steps", 1], "steps is 1, but must be a whole number of at least 2"),
    (["--d", 4, "--p", 4, "--method", "gibbs"], "method is 'gibbs', but must be one of reflections, slices"),
    (["--d", 4, "--p", 4, "--family", "psd"], "family is 'psd', but must be linear"),
    (["--d", 4, "--p", 4, "--problem", "new"], "problem is 'new', but must be one of original, decoupled"),
    (["--d", 4, "--p", 40], "not storable, so there is no memory to sample"),
    (["--instance", "nowhere.npz"], "nowhere.npz is not a file"),
    (["--instance", "x.npz", "--d", 4], "given twice"),
])  # fmt: skip
def test_what_cannot_be_sampled_ends_in_one_sentence(command, arguments, sentence):
    found = command("sample", *arguments)
    assert found.returncode == 2 and sentence in found.stderr and found.stderr.count("\n") == 1
    assert "Traceback" not in found.stderr and found.stdout == ""


def test_an_instance_with_one_fact_twice_is_refused(command, tmp_path):
    """Two equal inputs with different answers: no W at all."""
    np.savez(tmp_path / "x.npz", inputs=np.ones((2, 3)), outputs=np.eye(3)[:2])
    found = command("sample", "--instance", "x.npz", cwd=tmp_path)
    assert found.returncode == 2 and "not storable" in found.stderr
