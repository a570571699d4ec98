"""Public functions take two arguments by position at most, and have examples that run; values say what they are."""

import doctest
import inspect
from importlib import import_module

import pytest

import loadstone
from docs.building.api import homes
from loadstone.memories.full import Full
from loadstone.problems.instance import Instance
from loadstone.solvers.conflict import conflict_in
from loadstone.streams.stream import Stream


def _value(home):
    module, _, name = home.rpartition(".")
    return getattr(import_module(module), name)


PUBLIC = {name: _value(home) for name, home in homes().items()}
FUNCTIONS = {name: value for name, value in PUBLIC.items() if inspect.isfunction(inspect.unwrap(value))}
#: Classes that people make themselves; those that others make for them may have any number of fields.
MADE_BY_PEOPLE = {"loadstone.Instance", "loadstone.Stream", "loadstone.Limits"}


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() | MADE_BY_PEOPLE))
def test_all_arguments_but_the_first_two_go_by_name(name):
    parameters = inspect.signature(PUBLIC[name]).parameters.values()
    by_position = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    assert len(by_position) <= 2, by_position


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_its_example_prints_what_it_says(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function = inspect.unwrap(PUBLIC[name])
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(function), {"loadstone": loadstone}, name, None, 0)
    assert example.examples, f"{name} has no example"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    said = []
    runner.run(example, out=said.append)
    assert not runner.failures, "".join(said)


def test_values_say_in_one_line_what_they_are():
    stream = Stream(0, 4)
    problem = loadstone.original(stream, 6)
    solution = loadstone.train(problem)
    hard = Instance(stream, 14)
    shown = [
        stream, problem, loadstone.decoupled(stream, 6), hard, hard.arrays(), solution, solution.measured,
        loadstone.decide(problem), conflict_in(hard), loadstone.maximum_margin(problem), loadstone.predict(10),
        loadstone.initial_memory(4, 0.5), loadstone.initial_memory(4, family="blocks:2"),
        loadstone.memory({"w": solution.memory.weights}, lambda memory, inputs: inputs @ memory["w"].T),
        loadstone.sample(loadstone.original(stream, 3), chains=4, steps=50),
        loadstone.exact_capacity(Instance(stream, 4)),
    ]  # fmt: skip
    for value in shown:
        said = repr(value)
        assert type(value).__name__ in said and "\n" not in said and len(said) < 400, said
    assert repr(solution.memory) == "Full(weights=float32[4, 4])" == repr(Full(solution.memory.weights))
    assert (
        repr(hard)
        == "Instance(stream=Stream(seed=0, d=4, law='gaussian'), p=14, kind='original', frequencies='uniform')"
    )
