"""Predictions that are sampled, and kept from one comparison to the next."""

import pytest

from loadstone.studies import margin, output_lengths, robustness, solution_space


@pytest.fixture
def fresh_predictions():
    """Nothing that was sampled before is used, and nothing is kept for later tests."""

    def forget():
        for kept in (solution_space.predicted, margin.predicted_margin, robustness.predicted_queries,
                     robustness.predicted_recall, output_lengths.effect_of_lengths):  # fmt: skip
            kept.cache_clear()

    forget()
    yield
    forget()


@pytest.fixture
def few_samples(fresh_predictions, monkeypatch):
    """A few samples take the same way as many."""
    for room, samples in ((solution_space, 20), (robustness, 60), (margin, 30), (output_lengths, 50)):
        monkeypatch.setattr(room, "_SAMPLES", samples)
