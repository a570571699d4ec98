"""Predictions that are sampled, and kept from one comparison to the next."""

from contextlib import contextmanager

import pytest

from loadstone.studies import (
    entropy,
    margin,
    nichani,
    output_lengths,
    robustness,
    short_lists,
    skewed_answers,
    solution_space,
    typical_spectra,
)

KEPT = (solution_space.predicted, margin.predicted_margin, robustness.predicted_queries, robustness.predicted_recall,
        output_lengths.effect_of_lengths, skewed_answers.given_frequencies, skewed_answers.as_drawn,
        nichani.most_at_99_percent)  # fmt: skip
#: A few samples take the same way as many.
FEW = {
    solution_space: {"SAMPLES": 20}, robustness: {"SAMPLES": 60}, margin: {"SAMPLES": 30}, nichani: {"BATCHES": 2},
    output_lengths: {"SAMPLES": 50}, short_lists: {"BATCHES": 2}, typical_spectra: {"DIMENSION": 12},
    entropy: {"SAMPLES": {10: 20, 100: 10, 1000: 4}},
    skewed_answers: {"SAMPLES": 200, "DRAWS": 2, "SAMPLES_OF_A_DRAW": 100},
}  # fmt: skip


@contextmanager
def fresh():
    for kept in KEPT:
        kept.cache_clear()
    yield
    for kept in KEPT:
        kept.cache_clear()


@contextmanager
def few():
    with fresh(), pytest.MonkeyPatch.context() as patched:
        for room, numbers in FEW.items():
            for name, number in numbers.items():
                patched.setattr(room, name, number)
        yield


@pytest.fixture
def fresh_predictions():
    """Nothing that was sampled before is used, and nothing is kept for later tests."""
    with fresh():
        yield


@pytest.fixture
def few_samples():
    with few():
        yield


@pytest.fixture(scope="module")
def few_samples_throughout():
    with few():
        yield
