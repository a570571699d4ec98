"""A record of a real run: complete, faithful, the same when it is run again."""

import numpy as np
import pytest

from loadstone.measurements.scores import targets_by_length
from loadstone.problems.instance import Instance
from loadstone.runs.record import from_bytes, to_bytes
from loadstone.runs.result import perform
from loadstone.runs.spec import Spec
from loadstone.streams.stream import Stream
from loadstone.tasks.capacity import exact_capacity

SPECS = [
    Spec("original", 12, 20, 1),
    Spec("decoupled", 12, 20, 1, kappa=0.5, parameters={"steps": 40, "warmup": 32}),
    Spec("original", 12, 20, 1, solver="hebbian"),
    Spec("original", 12, 20, 1, kappa=0.25, solver="initial"),
]


@pytest.fixture(scope="module")
def records():
    return [perform([spec])[0] for spec in SPECS]


def test_they_hold_what_was_measured(records):
    for spec, record in zip(SPECS, records):
        assert record.key == spec.key and record.spec == spec.identity()
        result = record.result
        assert result["accuracy"] == 1 - result["violations"] / 20
        steps = result["steps"]
        assert len(result["loss_trace"]) == len(result["accuracy_trace"]) == (steps + 1 if spec.is_iterative else 0)
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
    again = [perform([spec])[0] for spec in SPECS]
    assert [record.result for record in again] == [record.result for record in records]
    assert [from_bytes(to_bytes(record)) for record in records] == records


def test_a_diverged_run_is_kept_as_diverged():
    spec = Spec("original", 6, 12, stop="none", parameters={"learning_rate": 1e38, "steps": 20, "warmup": 0})
    (record,) = perform([spec])
    assert record.diverged and record.result["status"] == "diverged"
    assert from_bytes(to_bytes(record)).diverged


def test_an_exact_capacity_is_a_record_too():
    (record,) = perform([Spec("decoupled", 6, 12, 3, solver="capacity")])
    instance = Instance(Stream(3, 6), 12, kind="decoupled")
    exact = exact_capacity(instance)
    assert record.result["status"] == "proved" and record.result["p_c"] == exact.p_c
    assert [tuple(one) for one in record.result["verdicts"]] == list(exact.verdicts)
    # The memory that proves it is measured, though not kept.
    assert len(record.result["singular_values"]) == 6 and record.result["singular_values"][0] == pytest.approx(2)
    own = targets_by_length(instance.first(exact.p_c).arrays(), exact.witness)
    assert record.result["own_target"] == {"mean": own.mean(), "deviation": own.std()}
    assert from_bytes(to_bytes(record)) == record


def test_an_initial_memory_is_measured_as_it_is(records):
    initial = records[3].result
    assert initial["steps"] == 0 and initial["status"] == "initial" and len(initial["singular_values"]) == 3


def test_large_histograms_are_drawn_from_spaced_associations():
    """Of 800 associations with 799 rivals each: of a share of them all rivals, half a million in all."""
    (record,) = perform([Spec("original", 12, 800, 1, solver="hebbian")])
    scores = record.result["scores"]
    drawn, rest = divmod(sum(scores["others"]), 799)
    assert rest == 0 and 400 <= drawn <= 500_000 / 799 and sum(scores["target"]) == 800
