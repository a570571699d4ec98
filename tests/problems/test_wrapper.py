"""A wrapper has the rows of the problem inside it, and must itself say how many of them count."""

from dataclasses import dataclass

import numpy as np
import pytest

from loadstone.problems.listwise import listwise
from loadstone.problems.original import original
from loadstone.problems.padded import Padded, padded
from loadstone.problems.spread import Spread, spread
from loadstone.problems.wrapper import Wrapper
from loadstone.streams.stream import Stream

#: What padding would change, or what would lose it.
ABOUT_THE_PADDING = {"associations", "competitors", "slopes", "scores", "arrays", "in_float32"}


def test_a_wrapper_that_does_not_say_what_counts_cannot_be_made():
    @dataclass(frozen=True)
    class Incomplete(Wrapper):
        inside: object

        @property
        def _wrapped(self):
            return self.inside

    assert Incomplete.__abstractmethods__ == ABOUT_THE_PADDING
    with pytest.raises(TypeError, match="abstract class Incomplete"):
        Incomplete(original(Stream(0, 4), 6))


@pytest.mark.parametrize("kind", [Padded, Spread])
def test_those_with_padding_take_over_nothing_that_it_would_change(kind):
    assert vars(kind).keys() >= ABOUT_THE_PADDING | {"in_float64"}
    assert not vars(Wrapper).keys() & {"slopes", "in_float64", "linear_step", "memory_step", "part", "prepared"}


def test_rows_are_those_of_the_problem_inside():
    inside = original(Stream(0, 4), 6).weighted(np.arange(6))
    for wrapper in (listwise(inside, 2), listwise(padded(inside, 5), 2), padded(inside, 5), spread(inside, 1)):
        assert isinstance(wrapper, Wrapper) and wrapper.description.startswith(inside.description)
        for name in ("inputs", "target_outputs", "targets", "shares"):
            np.testing.assert_array_equal(getattr(wrapper, name)[:5], getattr(inside, name)[:5])
    few = listwise(padded(inside, 5), 2)
    assert few.inputs.shape == (6, 4) and (int(few.associations), few.competitors) == (5, 5)
