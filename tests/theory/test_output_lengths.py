"""What lengths of outputs change, against closed forms for two and three outputs and against samples."""

import math

import numpy as np
import pytest

from loadstone.theory.entropy import log_share
from loadstone.theory.output_lengths import length_shift


def test_a_share_against_samples():
    shift, lengths = np.array([0.3, -0.2, 0.8, 0.1]), np.array([1.2, 0.9, 1.1, 1.0])
    drawn = lengths * (np.random.default_rng(0).standard_normal((200_000, 4)) + shift)
    share = (drawn.argmax(axis=1) == 0).mean()
    assert abs(math.exp(log_share(shift, lengths)) - share) < 4 * math.sqrt(share * (1 - share) / 200_000)
    assert log_share(np.zeros(7), np.full(7, 0.3)) == pytest.approx(-math.log(7), abs=1e-6)


def test_three_outputs_in_closed_form():
    """The target beats both with probability 1/4 + arcsin(c) / 2 pi, c the correlation of the two differences."""
    for lengths in ((1.0, 1.0, 1.0), (1.3, 0.8, 1.0), (0.5, 1.5, 1.1)):
        one, two, three = np.square(lengths)
        expected = 0.25 + math.asin(one / math.sqrt((one + two) * (one + three))) / (2 * math.pi)
        assert log_share(np.zeros(3), np.array(lengths)) == pytest.approx(math.log(expected), abs=1e-6)
    d, random = 6, np.random.default_rng(4)
    one, two, three = random.chisquare(d, (3, 100_000)) / d
    logs = np.log(0.25 + np.arcsin(one / np.sqrt((one + two) * (one + three))) / (2 * np.pi))
    found = length_shift(0.0, 3, 30, d, 2000)
    scatter = logs.std() / math.sqrt(2000)  # more than strata leave
    assert abs(found.value * 10 - (logs.mean() + math.log(3))) < 4 * scatter and 0 < 10 * found.error < scatter


def test_lengths_do_not_matter_for_two_outputs_or_in_many_dimensions():
    assert length_shift(0.0, 2, 20, 5, 50).value == pytest.approx(0, abs=1e-6)
    small, large = (length_shift(0.4, 30, 200, d, 300) for d in (10, 10_000))
    assert small.value < -5 * small.error and abs(large.value) < 0.05 * abs(small.value)


def test_what_has_no_lengths_is_refused():
    for arguments, sentence in (((1.0, 5, 20, 4), "overlap is 1.0"), ((0.5, 5, 20, 0), "d is 0")):
        with pytest.raises(ValueError, match=sentence):
            length_shift(*arguments)
