"""Places of targets in lists, and how far L-BFGS stores for a list."""

import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.measurements.places import places, target_places
from loadstone.memories.full import Full
from loadstone.problems.facts import facts
from loadstone.problems.original import original
from loadstone.streams.stream import Stream
from loadstone.tasks.effort import Effort
from loadstone.tasks.reach import largest_stored


def test_places_by_hand():
    """With W = 1 the scores are the inner products themselves."""
    outputs = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [1.0, 0.0]])
    problem = facts(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), outputs, [0, 1, 2])
    # Output 2 beats output 0, and output 3 scores as much.
    assert target_places(problem, Full(jnp.eye(2))).tolist() == [3, 1, 1]


def test_a_list_holds_more_and_everything_in_it_is_found():
    stream = Stream(1, 8)
    one = largest_stored("original", stream, 20)
    listed = largest_stored("original", stream, 24, effort=Effort(rivals=4))
    assert one.stored < listed.stored and one.memory is not None
    found = places(original(stream, listed.stored), listed.memory, 4)
    assert found["listed"] == 1 > found["listed_by_all_rivals"] > found["first_by_all_rivals"] > found["first"]


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="rivals is 0, but must be"):
        Effort(rivals=0)
