"""To how many rows arrays are padded, and how many problems are trained together."""

import pytest

from loadstone.tasks.batches import batch_size, padded_rows, padded_rows_of_few_passes


@pytest.mark.parametrize("problem, p, d, rows", [
    ("original", 2, 10, 512), ("original", 512, 10, 512), ("original", 513, 10, 1024), ("original", 1025, 10, 2048),
    ("original", 16_384, 512, 16_384), ("original", 16_385, 512, 24_576), ("original", 40_000, 512, 49_152),
    ("original", 40_000, 513, None), ("decoupled", 40_000, 513, None), ("decoupled", 512, 512, 512),
    ("decoupled", 513, 10, 1024), ("decoupled", 1025, 10, 1536), ("decoupled", 1537, 10, 2048),
    ("decoupled", 2049, 10, 3072), ("decoupled", 4097, 10, 6144),
])  # fmt: skip
def test_rows_on_an_accelerator(problem, p, d, rows):
    assert padded_rows(problem, p, d, "gpu") == rows
    assert padded_rows(problem, p, d, "cpu") is None


@pytest.mark.parametrize("p, of_original, of_decoupled", [
    (2, 512, 128), (128, 512, 128), (129, 512, 256), (256, 512, 256), (257, 512, 512), (512, 512, 512),
    (513, None, None),
])  # fmt: skip
def test_rows_of_few_passes(p, of_original, of_decoupled):
    assert padded_rows_of_few_passes("original", p) == of_original
    assert padded_rows_of_few_passes("decoupled", p) == of_decoupled


@pytest.mark.parametrize("problem, p, d, hold, size", [
    # 25 problems of 512 rows need 6.6e6 products for each component; there may be 4.2e10.
    ("original", 400, 50, "auto", 25), ("original", 1100, 400, "auto", 25), ("original", 2000, 225, "auto", 25),
    ("original", 2000, 226, "auto", 1), ("original", 4500, 100, "auto", 4), ("original", 9000, 50, "auto", 2),
    ("original", 4096, 100, "auto", 25), ("original", 4096, 101, "auto", 16),
    ("original", 20_000, 20, "auto", 2), ("original", 40_000, 11, "auto", 1),
    # Of decoupled outputs 5e8 numbers are stored.
    ("decoupled", 500, 50, "auto", 25), ("decoupled", 500, 76, "stored", 25), ("decoupled", 500, 77, "auto", 16),
    ("decoupled", 500, 150, "auto", 8), ("decoupled", 1500, 150, "auto", 1), ("decoupled", 1000, 100, "auto", 4),
    ("decoupled", 1000, 200, "auto", 2), ("decoupled", 500, 50, "regenerated", 1), ("decoupled", 500, 600, "auto", 1),
])  # fmt: skip
def test_problems_that_are_trained_together(problem, p, d, hold, size):
    assert batch_size(problem, p, d, hold, "gpu") == size
    assert batch_size(problem, p, d, hold, "cpu") == 1
