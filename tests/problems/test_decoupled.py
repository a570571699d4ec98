import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.kernels import devices
from loadstone.problems.budget import Budget
from loadstone.problems.decoupled import Regenerated, Stored, decoupled
from loadstone.problems.listwise import listwise
from loadstone.problems.original import original
from loadstone.problems.padded import padded
from loadstone.streams.stream import Stream


def recall_of(problem, scale=1.0):
    queries = jnp.asarray(np.random.default_rng(0).standard_normal(problem.inputs.shape) * scale, jnp.float32)
    return jax.jit(lambda p, q: p.recall(q))(problem, queries)


@pytest.mark.parametrize("law", ["gaussian", "sphere", "rademacher"])
def test_stored_and_regenerated_agree_to_rounding(law):
    stream = Stream(8, 12, law=law)
    stored, regenerated = (decoupled(stream, 45, hold=hold) for hold in ("stored", "regenerated"))
    assert isinstance(stored, Stored) and isinstance(regenerated, Regenerated)
    for a, b in zip(recall_of(stored), recall_of(regenerated)):
        np.testing.assert_allclose(a, b, atol=2e-5)


def test_many_parts_agree_with_one(monkeypatch):
    stream = Stream(8, 12)
    one = decoupled(stream, 45)
    monkeypatch.setattr("loadstone.problems.decoupled._PART_BYTES", 1)
    many = decoupled(stream, 45)
    assert len(one.parts) == 1 and len(many.parts) > 10
    for a, b in zip(recall_of(many), recall_of(one)):
        np.testing.assert_allclose(a, b, atol=2e-6)
    sizes = lambda p: [part.shape[0] for part in decoupled(stream, p).parts]  # noqa: E731
    assert sizes(44) == [3] * 14 + [2] and sizes(5) == [1] * 5
    monkeypatch.setattr("loadstone.problems.decoupled._PART_BYTES", 44 * 44 * 12)
    assert sizes(44) == [11] * 4  # float32 numbers have four bytes
    # A kernel does a part in one launch, of at most so many numbers.
    monkeypatch.setattr("loadstone.problems.decoupled.has_triton_kernels", lambda: True)
    assert sizes(44) == [44]
    monkeypatch.setattr("loadstone.problems.decoupled._KERNEL_COMPONENTS", 44 * 12 * 10)
    assert sizes(44) == [9] * 4 + [8]
    monkeypatch.setattr("loadstone.problems.decoupled._KERNEL_COMPONENTS", 1)
    assert sizes(44) == [1] * 44


def test_float16_halves_the_memory_and_rounds_the_outputs_once():
    stream = Stream(8, 12)
    full, half = decoupled(stream, 45), decoupled(stream, 45, dtype="float16")
    assert half.parts[0].nbytes * 2 == full.parts[0].nbytes
    assert half.description == "decoupled, outputs stored in float16"
    assert (np.asarray(half.parts[0]) == np.asarray(full.parts[0]).astype(np.float16)).all()
    # A score moves by 12 products, each by at most 2^-11 relative to an output below 5.
    for a, b in zip(recall_of(half), recall_of(full)):
        np.testing.assert_allclose(a, b, atol=12 * 5 * 3 * 2.0**-11)
    assert half.in_float32().description == "decoupled, outputs regenerated"
    for a, b in zip(recall_of(half.in_float32()), recall_of(full)):
        np.testing.assert_allclose(a, b, atol=2e-5)


class TestRoundedForPassesInFloat16:
    @pytest.fixture(autouse=True)
    def on_hopper(self, monkeypatch):
        monkeypatch.setattr(devices, "is_hopper", lambda: True)

    def test_all_outputs_are_rounded_and_nothing_else_changes(self, monkeypatch):
        monkeypatch.setattr("loadstone.problems.decoupled._PART_BYTES", 4 * 130 * 16 * 6)
        full = decoupled(Stream(3, 130), 16)
        half = full.in_float16()
        assert len(half.parts) == 3 and half.source is full.source and half.inputs is full.inputs
        for rounded, part in zip(half.parts, full.parts):
            np.testing.assert_array_equal(rounded, np.asarray(part).astype(np.float16))
        of_padded = padded(full, 11).in_float16()
        assert of_padded.longer.parts[0].dtype == jnp.float16 and int(of_padded.count) == 11

    @pytest.mark.parametrize(
        "d, p, dtype", [(127, 16, "float32"), (257, 16, "float32"), (130, 15, "float32"), (130, 16, "float16")]
    )
    def test_they_stay_where_that_was_not_measured_to_be_faster(self, d, p, dtype):
        problem = decoupled(Stream(3, d), p, dtype=dtype)
        assert problem.in_float16() is problem

    def test_they_stay_where_two_copies_would_take_too_much_memory(self, monkeypatch):
        problem = decoupled(Stream(3, 130), 16)
        monkeypatch.setattr("loadstone.problems.decoupled._MOST_ROUNDED", 130 * 16 * 16)
        assert problem.in_float16() is not problem
        monkeypatch.setattr("loadstone.problems.decoupled.Budget", lambda: Budget(2 * 130 * 16 * 16))
        assert problem.in_float16() is not problem
        monkeypatch.setattr("loadstone.problems.decoupled.Budget", lambda: Budget(2 * 130 * 16 * 16 - 1))
        assert problem.in_float16() is problem
        monkeypatch.setattr("loadstone.problems.decoupled.Budget", Budget)
        monkeypatch.setattr("loadstone.problems.decoupled._MOST_ROUNDED", 130 * 16 * 16 - 1)
        assert problem.in_float16() is problem

    def test_other_problems_and_devices_have_nothing_to_round(self, monkeypatch):
        shared, made = original(Stream(3, 130), 16), decoupled(Stream(3, 130), 16, hold="regenerated")
        assert shared.in_float16() is shared and made.in_float16() is made
        assert padded(shared, 11).in_float16().longer.outputs.dtype == jnp.float32
        lists = listwise(decoupled(Stream(3, 130), 16), 3)
        assert lists.in_float16() is lists
        monkeypatch.setattr(devices, "is_hopper", lambda: False)
        stored = decoupled(Stream(3, 130), 16)
        assert stored.in_float16() is stored


def test_the_budget_decides_and_the_description_says_so():
    stream, p = Stream(0, 10), 50
    stored_bytes = 4 * p * p * 10
    roomy, tight = Budget(4 * stored_bytes), Budget(stored_bytes)
    assert decoupled(stream, p, budget=roomy).description == "decoupled, outputs stored in float32"
    assert decoupled(stream, p, budget=tight).description == "decoupled, outputs regenerated"


@pytest.mark.parametrize(
    "make",
    [
        lambda b: decoupled(Stream(0, 10), 50, budget=b),
        lambda b: original(Stream(0, 10), 50, budget=b),
        lambda b: decoupled(Stream(0, 10), 50, budget=b, hold="stored"),
    ],
)
def test_a_budget_too_small_for_anything(make):
    with pytest.raises(ValueError, match="budget is 1000 bytes, but .* needs .*: raise the budget"):
        make(Budget(1000))


@pytest.mark.parametrize("text, count", [("8GiB", 8 * 2**30), ("500 MB", 500 * 10**6), ("12", 12), ("1.5KiB", 1536)])
def test_budgets_in_words(text, count):
    assert Budget.parse(text).bytes == count


@pytest.mark.parametrize("text", ["", "-3GB", "0", "many", "8 XB", "nan"])
def test_bad_budgets(text):
    with pytest.raises(ValueError, match="budget is .* must be a size above 0"):
        Budget.parse(text)


def test_regenerated_needs_memory_of_order_p_d():
    """Scratch of one pass: a few vectors for each association, not p of them."""
    p, d = 512, 16
    problem = decoupled(Stream(0, d), p, hold="regenerated")
    queries = jnp.zeros((p, d))
    compiled = jax.jit(lambda pr, q: pr.recall(q)).lower(problem, queries).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 4 * p * d * 40 < 4 * p * p * d / 8
