"""A clock with an end."""

import math
import time

import pytest

from loadstone.deadline import Deadline


def test_time_passes_and_ends():
    deadline = Deadline(0.05)
    assert 0 < deadline.left <= 0.05 and not deadline.is_over
    time.sleep(0.06)
    assert deadline.is_over and deadline.left < 0 and deadline.taken >= 0.06


def test_without_seconds_it_never_ends():
    deadline = Deadline()
    assert deadline.left == math.inf and not deadline.is_over and deadline.share(0.5) is None


def test_a_share_is_one_of_what_is_left_and_never_nothing():
    deadline = Deadline(100)
    assert deadline.share(0.5) == pytest.approx(50, abs=1) and deadline.share(1.0) <= 100
    assert Deadline(-1).share(0.5) == 1e-3 and Deadline(0).share(1.0, least=0.5) == 0.5
