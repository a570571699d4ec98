"""How far L-BFGS stores for a list, and where it then has the targets."""

from loadstone.problems.instance import Instance
from loadstone.problems.original import original
from loadstone.runs.result import perform
from loadstone.runs.spec import Spec
from loadstone.streams.stream import Stream
from loadstone.tasks.reach import largest_stored
from loadstone.tasks.short_lists import recalled_in_list


def test_a_list_holds_more_than_the_first_place_and_its_record_says_where_targets_are():
    stream = Stream(1, 8)
    (record,) = perform([Spec("original", 8, 24, 1, solver="reach", parameters={"rivals": 4})])
    first, listed = largest_stored(Instance(stream, 20)), record.result
    assert first.stored < listed["stored"] and first.memory is not None
    assert listed["listed"] == 1 > listed["listed_by_all_rivals"] > listed["first_by_all_rivals"] > listed["first"]
    again = recalled_in_list(original(stream, first.stored), first.memory, 1)
    assert again["first"] == again["listed"] == 1
