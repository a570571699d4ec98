"""How far L-BFGS stores for a list, and where it then has the targets."""

import pytest

from loadstone.problems.instance import Instance
from loadstone.problems.original import original
from loadstone.streams.stream import Stream
from loadstone.tasks.multi_start import MultiStart
from loadstone.tasks.reach import largest_stored
from loadstone.tasks.short_lists import recalled_in_list


def test_a_list_holds_more_and_everything_in_it_is_found():
    stream = Stream(1, 8)
    one = largest_stored(Instance(stream, 20))
    listed = largest_stored(Instance(stream, 24), searches=MultiStart(rivals=4))
    assert one.stored < listed.stored and one.memory is not None
    found = recalled_in_list(original(stream, listed.stored), listed.memory, 4)
    assert found["listed"] == 1 > found["listed_by_all_rivals"] > found["first_by_all_rivals"] > found["first"]


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="rivals is 0, but must be"):
        MultiStart(rivals=0)
