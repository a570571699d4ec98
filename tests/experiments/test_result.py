"""A record of a real run: complete, faithful, the same when it is run again."""

import numpy as np
import pytest

from loadstone.experiments.record import from_bytes, to_bytes
from loadstone.experiments.result import record_of
from loadstone.experiments.run import run_all
from loadstone.experiments.spec import Spec
from loadstone.memories.training import Protocol

SPECS = [
    Spec("original", 12, 20, 1),
    Spec("decoupled", 12, 20, 1, kappa=0.5, protocol=Protocol(steps=40)),
    Spec("original", 12, 20, 1, solver="hebbian"),
]


@pytest.fixture(scope="module")
def records():
    return [record_of(run) for run in run_all(SPECS)]


def test_they_hold_what_was_measured(records):
    for spec, record in zip(SPECS, records):
        assert record.key == spec.key and record.spec == spec.identity()
        result = record.result
        assert result["accuracy"] == 1 - result["violations"] / 20
        steps = result["steps"]
        assert len(result["loss_trace"]) == len(result["accuracy_trace"]) == (steps + 1 if spec.solver == "adam" else 0)
        values = np.array(result["singular_values"])
        assert values.max() == pytest.approx(2) and np.all(values >= 0)
        histogram = result["scores"]
        assert sum(histogram["target"]) == sum(histogram["rival"]) == 20
        assert sum(histogram["others"]) == 20 * 19
        assert {"seconds", "loadstone", "jax", "python", "device"} <= record.circumstances.keys()


def test_the_last_trace_entry_is_the_final_measurement(records):
    for record in records[:2]:
        assert record.result["loss_trace"][-1] == pytest.approx(record.result["loss"], rel=1e-4, abs=1e-6)
        assert record.result["accuracy_trace"][-1] == pytest.approx(record.result["accuracy"], abs=1e-6)


def test_running_again_gives_the_same_result_to_the_last_bit(records):
    again = [record_of(run) for run in run_all(SPECS)]
    assert [record.result for record in again] == [record.result for record in records]
    assert [from_bytes(to_bytes(record)) for record in records] == records


def test_a_diverged_run_is_kept_as_diverged():
    spec = Spec("original", 6, 12, protocol=Protocol(learning_rate=1e38, steps=20, warmup=0, stop="none"))
    (run,) = run_all([spec])
    record = record_of(run)
    assert record.diverged and record.result["status"] == "diverged"
    assert from_bytes(to_bytes(record)).diverged
