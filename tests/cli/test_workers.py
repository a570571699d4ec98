"""Nobody says how many processes: one for each core, but a single one for a GPU."""

import os
from pathlib import Path

import pytest

from loadstone.cli.workers import default_workers
from loadstone.experiments.engines import gpu


@pytest.mark.parametrize(
    "device, plugin, wish, alone",
    [(True, True, None, True), (True, True, "cuda", True), (True, True, "cpu", False), (True, False, None, False),
     (False, True, None, False)],
)  # fmt: skip
def test_a_gpu_that_jax_would_use_gets_one_process(device, plugin, wish, alone, monkeypatch):
    monkeypatch.setattr(Path, "exists", lambda path: device and str(path) == "/dev/nvidia0")
    monkeypatch.setattr(gpu.importlib.util, "find_spec", lambda name: object() if plugin else None)
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    if wish:
        monkeypatch.setenv("JAX_PLATFORMS", wish)
    assert default_workers() == (1 if alone else len(os.sched_getaffinity(0)))
