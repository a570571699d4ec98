"""The default number of workers: one for each core, but a single one for a GPU, or if Dask is not installed."""

import os
from pathlib import Path

import pytest

from loadstone.cli import workers
from loadstone.cli.workers import default_workers, engine_here
from loadstone.runs.engines import machine
from loadstone.runs.engines.dask import DaskEngine
from loadstone.runs.engines.in_process import InProcess


@pytest.mark.parametrize(
    "device, plugin, wish, alone",
    [(True, True, None, True), (True, True, "cuda", True), (True, True, "cpu", False), (True, False, None, False),
     (False, True, None, False)],
)  # fmt: skip
def test_a_gpu_that_jax_would_use_gets_one_process(device, plugin, wish, alone, monkeypatch):
    monkeypatch.setattr(Path, "exists", lambda path: device and str(path) == "/dev/nvidia0")
    monkeypatch.setattr(
        machine.importlib.util, "find_spec", lambda name: object() if plugin or "jax" not in name else None
    )
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    if wish:
        monkeypatch.setenv("JAX_PLATFORMS", wish)
    assert default_workers() == (1 if alone else len(os.sched_getaffinity(0)))


def test_without_dask_there_is_one(monkeypatch):
    monkeypatch.setattr(workers, "gpu_expected", lambda: False)
    monkeypatch.setattr(workers, "has_dask", lambda: False)
    assert default_workers() == 1


def test_one_worker_is_this_process_and_more_are_dasks():
    assert engine_here(1, 1000) == InProcess(1000)
    engine = engine_here(3, 1000)
    assert isinstance(engine, DaskEngine) and engine.scheduler.workers == 3 and engine.budget == 1000
