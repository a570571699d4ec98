"""The record of sampled memories, and how many associations a rounded memory stores."""

import numpy as np
import pytest

from loadstone.memories.rounding import rounded_to_bits
from loadstone.problems.instance import Instance
from loadstone.runs.record import from_bytes, to_bytes
from loadstone.runs.result import perform
from loadstone.runs.spec import Spec
from loadstone.runs.validity import DamagedError, check_parts, check_values
from loadstone.solvers.margin import maximum_margin
from loadstone.space.sample import sample
from loadstone.space.starts import NotStorableError
from loadstone.streams.stream import Stream
from loadstone.studies.kit.rows import row_of
from loadstone.tasks.bits import Bits, largest_rounded


def test_sampled_memories_are_a_record():
    (found,) = perform([Spec("decoupled", 3, 2, 1, solver="space")])
    check_values(from_bytes(to_bytes(found)))
    row = row_of(found.spec, found.result)
    assert (row["solver"], row["status"], row["dimension"]) == ("space", "sampled", 9) and row["log_volume"] < 0
    seen = row["memories"]
    assert seen["typical"]["margin"] > 0 and seen["centre"]["margin"] > 0
    # No memory of unit norm has a larger least margin.
    assert max(one["margin"] for one in seen.values()) <= seen["largest margin"]["margin"] * 1.001
    assert all(one["recalled_rounded"][0] == 1 for one in seen.values())  # 8 bits are enough
    assert len(row["typical_singular_values"]) == 4  # one memory of each chain
    assert row["typical_singular_values"][0] == pytest.approx(seen["typical"]["singular_values"], rel=1e-5)
    # A mean over finite chains is longer than that over all memories, by its noise.
    assert 0 < row["centre_length"] ** 2 - row["overlap"] < 0.2
    for wrong in ({"overlap": 1.5}, {"centre_length": 2}, {"typical_singular_values": [[-1]]}, {"r_hat": "high"},
                  {"memories": {"centre": {"recalled": [2.0]}}}):  # fmt: skip
        with pytest.raises(DamagedError):
            check_parts(found.spec, found.result | wrong, {})


def test_scores_are_kept_if_asked_for():
    (found,) = perform([Spec("decoupled", 3, 2, 1, solver="space", parameters={"scores": True, "volume": False})])
    check_values(from_bytes(to_bytes(found)))
    scores = found.result["typical_scores"]
    # Four chains, two associations, one rival each: which is then the best.
    assert sum(scores["target"]) == sum(scores["rival"]) == sum(scores["others"]) == 8
    assert scores["rival"] == scores["others"] and len(scores["target"]) == 120
    moments = scores["moments"]
    assert moments["target"]["mean"] - moments["rival"]["mean"] == pytest.approx(moments["margin"]["mean"])
    middles = np.linspace(scores["low"], scores["high"], 121)[:-1] + 0.05
    assert np.average(middles, weights=scores["target"]) == pytest.approx(moments["target"]["mean"], abs=0.05)
    # In units of the length of its query no score exceeds the length of its output.
    assert moments["target"]["mean"] < 2 * np.sqrt(3) and moments["margin"]["mean"] > 0
    for wrong in ({"target": [-1]}, {"moments": {"margin": {"deviation": -1.0}}}, {"low": "less"}):
        with pytest.raises(DamagedError):
            check_parts(found.spec, found.result | {"typical_scores": scores | wrong}, {})
    # Whoever does not ask for them has the key of before.
    assert Spec("decoupled", 3, 2, 1, solver="space", parameters={"scores": False}) == Spec(
        "decoupled", 3, 2, 1, solver="space"
    )


def test_without_a_memory_the_record_says_why():
    (found,) = perform([Spec("original", 4, 60, solver="space")])
    assert found.result == {"status": "not storable"}


def test_the_seed_of_a_stream_may_be_longer_than_that_of_chains():
    quick = {"chains": 2, "steps": 20, "volume": False}
    (record,) = perform([Spec("decoupled", 3, 2, 2**63 + 5, solver="space", parameters=quick)])
    assert record.result["status"] in ("sampled", "not mixed")


@pytest.mark.parametrize("d, p, how", [(6, 14, Bits(3)), (3, 6, Bits(4, "centre"))])
def test_the_largest_rounded_number_is_stored_and_the_next_is_not(d, p, how):
    instance = Instance(Stream(0, d), p)
    stored = largest_rounded(instance, how)
    assert stored < p
    for size in (stored, stored + 1):
        arrays = instance.first(size).arrays()
        try:
            memory = sample(arrays, seed=0, with_volume=False).centre if how.way == "centre" else None
        except NotStorableError:
            assert size > stored
            continue
        weights = np.asarray((memory or maximum_margin(arrays, 1e-3).memory).matrix(), float)
        scores = arrays.inputs @ rounded_to_bits(weights, how.bits).T @ arrays.outputs.T
        assert (scores.argmax(axis=1) == np.arange(size)).all() == (size == stored)
    assert largest_rounded(instance.first(3), Bits(12)) == 3
