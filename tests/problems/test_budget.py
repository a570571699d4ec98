"""Budgets in words, at their bounds, and what they refuse."""

from functools import partial

import jax
import numpy as np
import pytest

from loadstone.problems.budget import Budget
from loadstone.problems.decoupled import decoupled, decoupled_bytes
from loadstone.problems.facts import block_rows
from loadstone.problems.grouped import grouped
from loadstone.problems.original import original, original_bytes
from loadstone.streams.stream import Stream

STREAM = Stream(0, 3)


@pytest.mark.parametrize("text, count", [
    ("1", 1), ("8GiB", 8 * 2**30), ("500 MB", 500 * 10**6), (" 1.5kB ", 1500), ("2KiB", 2048), ("3MiB", 3 * 2**20),
    ("2GB", 2 * 10**9), ("0.1", 1), ("9223372036854775807", 2**63 - 1), ("0.3GB", 300_000_000),
])  # fmt: skip
def test_words(text, count):
    assert Budget.parse(text).bytes == count


@pytest.mark.parametrize("text", [
    "", "0", "0.0GB", "-1", "lots", "8 gib", "GiB", "1e9", "nan", "inf", "9" * 400, "9" * 5000, "9223372036854775808",
    "9000000000GiB", "٣", "1.", ".5", "1 2", "8GiB8",
])  # fmt: skip
def test_refused_words(text):
    with pytest.raises(ValueError, match="budget is .*, but must be a size above 0 such as 8GiB") as refused:
        Budget.parse(text)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("count", [0, -1, 1.5, True, 2**63, "8"])
def test_refused_numbers(count):
    with pytest.raises(ValueError, match="bytes is .*, but must be a whole number of at least 1 and at most"):
        Budget(count)


def test_exactly_the_budget_is_allowed_and_one_byte_more_is_not():
    budget = Budget(np.int64(2048))
    assert type(budget.bytes) is int
    budget.require(2048, "a problem")
    assert budget.allows(2048) and not budget.allows(2049)
    with pytest.raises(ValueError, match="^budget is 2 KiB, but a problem of this size needs 3 MiB: raise the budget"):
        budget.require(3 * 2**20, "a problem")
    with pytest.raises(ValueError, match="budget is 1023 bytes, but it of this size needs 1 KiB"):
        Budget(1023).require(1024, "it")
    with pytest.raises(ValueError, match="needs 1.5 GiB"):
        budget.require(3 * 2**29, "it")


def test_half_of_what_is_free(monkeypatch):
    monkeypatch.setattr("os.sysconf", {"SC_AVPHYS_PAGES": 1001, "SC_PAGE_SIZE": 4096}.get)
    assert jax.default_backend() != "cpu" or Budget().bytes == 1001 * 4096 // 2


def test_half_of_what_an_accelerator_has_free(monkeypatch):
    class Device:
        def memory_stats(self):
            return {"bytes_limit": 1000, "bytes_in_use": 200}

    monkeypatch.setattr(jax, "devices", lambda: [Device()])
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert Budget().bytes == 400
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")
    assert Budget().bytes > 10**6  # the machine's own memory, whatever the device says


def test_what_a_problem_takes_by_hand():
    """float32: six arrays of p d and blocks of scores; decoupled, scores and outputs of four rows at a time."""
    assert original_bytes(100, 10, block=7) == 4 * (6 * 100 * 10 + 3 * 7 * 100)
    assert original_bytes(100, 10, block=7, answers=30) == 4 * (5 * 100 * 10 + 30 * 10 + 3 * 7 * 30)
    assert decoupled_bytes(100, 10) == 4 * 100 * 10 * (6 + 16)
    assert decoupled_bytes(100, 10, "float16") == decoupled_bytes(100, 10) + 2 * 100 * 100 * 10


def test_rows_of_a_block_have_three_million_scores_on_a_cpu():
    assert [block_rows(10**5, m) for m in (10_000, 20_000, 10**6)] == [300, 150, 128]
    assert [block_rows(n, 10_000) for n in (1, 299, 301)] == [1, 299, 300]
    assert original_bytes(10_000, 10) == original_bytes(10_000, 10, block=300)


@pytest.mark.parametrize("make, needed", [
    (partial(original, STREAM, 9), 4 * (6 * 27 + 3 * 81)),
    (partial(original, STREAM, 9, answers=4), 4 * (5 * 27 + 12 + 3 * 36)),
    (partial(original, STREAM, 9, block=2), 4 * (6 * 27 + 3 * 18)),
    (partial(decoupled, STREAM, 9, hold="stored"), 4 * 27 * (22 + 9)),
    (partial(decoupled, STREAM, 9, hold="stored", dtype="float16"), 4 * 27 * 22 + 2 * 27 * 9),
    (partial(decoupled, STREAM, 9, hold="regenerated"), 4 * 27 * 22),
    (partial(decoupled, STREAM, 9), 4 * 27 * 22),
    (partial(decoupled, STREAM, 9, answers=4), 4 * 27 * (6 + 4)),
    (partial(grouped, STREAM, 9, groups=2), 4 * 27 * (6 + 9)),
    (partial(grouped, STREAM, 9, groups=2, answers=4), 4 * 27 * (6 + 4)),
])  # fmt: skip
def test_a_problem_needs_so_many_bytes_and_not_one_fewer(make, needed):
    assert make(budget=Budget(needed)).inputs.shape == (9, 3)
    with pytest.raises(ValueError, match=f"budget is {needed - 1} bytes|budget is .* KiB, but .* of this size needs"):
        make(budget=Budget(needed - 1))


def test_outputs_are_stored_if_the_budget_allows_it():
    stored = 4 * 27 * (22 + 9)
    for budget, held in ((stored, "stored in float32"), (stored - 1, "regenerated")):
        assert decoupled(STREAM, 9, budget=Budget(budget)).description == f"decoupled, outputs {held}"
