"""To how many rows arrays are padded, and how many problems are trained together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.tasks.batches import batch_size, padded_rows, padded_rows_of_few_passes

KINDS = st.sampled_from(["original", "decoupled"])


@given(KINDS, st.integers(2, 100_000), st.integers(1, 512))
def test_padding_holds_the_problem_and_a_batch_fits(problem, p, d):
    rows, size = padded_rows(problem, p, d, "gpu"), batch_size(problem, p, d, "auto", "gpu")
    assert p <= rows < max(513, 2 * p) and padded_rows(problem, rows, d, "gpu") == rows
    assert 1 <= size <= 25 and size >= batch_size(problem, p + 1, d, "auto", "gpu")
    # What a batch stores takes at most 2 GB in float32, and a step of it 42 billion products.
    assert size == 1 or size * rows**2 * d <= (5e8 if problem == "decoupled" else 4.2e10)
    assert batch_size(problem, p, d, "regenerated", "gpu") == 1


@given(KINDS, st.integers(2, 100_000), st.integers(1, 2000))
def test_a_cpu_and_large_dimensions_have_neither_padding_nor_batches(problem, p, d):
    for size, platform in ((d, "cpu"), (512 + d, "gpu")):
        assert padded_rows(problem, p, size, platform) is None
        assert batch_size(problem, p, size, "auto", platform) == 1


@pytest.mark.parametrize("problem, most", [("original", 6), ("decoupled", 10)])
def test_few_programs_serve_all_loads(problem, most):
    assert len({padded_rows(problem, p, 50, "gpu") for p in range(2, 16_385)}) == most
    few = {padded_rows_of_few_passes(problem, p) for p in range(2, 513)}
    assert len(few) <= 3 and max(few) == 512 and padded_rows_of_few_passes(problem, 513) is None
    assert all(padded_rows_of_few_passes(problem, p) >= p for p in range(2, 513))


def test_small_problems_are_trained_25_at_a_time_and_large_ones_alone():
    assert batch_size("original", 400, 50, "auto", "gpu") == batch_size("decoupled", 400, 50, "auto", "gpu") == 25
    assert batch_size("original", 20_000, 500, "auto", "gpu") == batch_size("decoupled", 2000, 150, "auto", "gpu") == 1
    # From p d = 450 000 on one original problem keeps an accelerator busy.
    assert batch_size("original", 2000, 225, "auto", "gpu") > batch_size("original", 2000, 226, "auto", "gpu") == 1
