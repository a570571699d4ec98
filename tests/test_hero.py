"""The script that stores 780 000 facts, at a size that ends in seconds: pieces, a proof, a record."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from loadstone.memories.files import load_memory

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "hero.py"


@pytest.mark.soak
def test_pieces_lead_to_a_record_of_a_memory_that_is_proved(tmp_path):
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, SCRIPT, "--d", "12", "--p", "33", "--folder", tmp_path, "--budget", "1GiB"]

    def piece(seconds):
        environment = {**os.environ, "PYTHONPATH": paths}
        asked = [*command, "--seconds", str(seconds)]
        done = subprocess.run(asked, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "out of time after 1 passes" in piece(1e-9)
    assert "stored after" in piece(60)
    assert "record.json is written: it has ended." in piece(60)
    assert "it has ended." in piece(60)
    record = json.loads((tmp_path / "record.json").read_text())
    weights = np.asarray(load_memory(tmp_path / "memory-1.safetensors").weights)
    assert record["proof"]["sha256 of W (float32, by rows)"] == hashlib.sha256(weights.tobytes()).hexdigest()
    assert record["proof"]["violations or unproved"] == 0 < record["proof"]["every margin is at least"]
    assert record["passes"] == len(record["searches"][0]["loss"]) > 3
