"""A compiled program for one class is never used for another: what tells them apart is the structure of their trees."""

from dataclasses import dataclass, make_dataclass
from dataclasses import fields as dataclass_fields
from itertools import combinations
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import register_dataclass, register_pytree_node

import loadstone
from loadstone.measurements.accuracy import measure
from loadstone.memories.families import FAMILIES, initial_memory
from loadstone.problems.decoupled import decoupled
from loadstone.problems.facts import Facts
from loadstone.problems.original import original
from loadstone.solvers.solve import solve, solve_batch
from loadstone.streams.stream import Stream
from loadstone.trees import is_told_apart, parameters, tree

PARAMETER = {"masked": 0.5, "blocks": 2, "rounded": 2, "relu": 8, "gelu": 8, "attention": 8}


def test_families_have_different_structures():
    names = [f"{name}:{PARAMETER[name]}" if name in PARAMETER else name for name in FAMILIES if name != "given"]
    memories = {name: initial_memory(6, seed=0, family=name) for name in names}
    for one, other in combinations(memories, 2):
        assert jax.tree.structure(memories[one]) != jax.tree.structure(memories[other]), (one, other)


def test_a_program_is_used_for_its_own_class_alone():
    """Of a hundred classes registered with jax.tree_util.register_dataclass, 11 to 16 got another's number (jaxlib
    0.10.2, three times a hundred), and of a thousand pairs the second class in 11."""
    number_of = jax.jit(lambda value: value.number)
    classes = [make_dataclass(f"Numbered{number}", ["x"], namespace={"number": number}) for number in range(100)]
    for kind in map(tree(data=["x"]), classes):
        assert int(number_of(kind(1.0))) == kind.number


def test_all_classes_are_registered_like_this():
    sources = Path(loadstone.__file__).parent.rglob("*.py")
    assert not [path.name for path in sources if "register_dataclass(" in path.read_text()]


def test_our_classes_are_told_apart_and_those_of_others_are_not():
    for name in ("full", "symmetric", "relu:8"):
        assert is_told_apart(type(initial_memory(6, family=name)))
    assert not is_told_apart(dict) and not is_told_apart(make_dataclass("Other", ["x"]))
    assert is_told_apart(tree(["x"])(make_dataclass("Other", ["x"])))


def test_all_fields_have_to_be_named_once():
    plain = make_dataclass("Plain", [("first", object), ("sign", float, 1.0)])
    wrong = "data and meta is .*, but must be all fields of Plain, each once \\(first, sign\\)"
    for data, meta in ((["first"], []), (["first", "second"], ["sign"]), (["first", "sign"], ["sign"]), ("first", [])):
        with pytest.raises(ValueError, match=wrong):
            tree(data, meta)(plain)
    with pytest.raises(ValueError, match="node is 'int', but must be a dataclass"):
        tree([])(int)
    names = ["first"]
    kind = tree(names, ["sign"])(plain)
    names.append("second")
    assert len(jax.tree.leaves(kind(1.0))) == 1


def test_a_problem_that_might_be_taken_for_another_is_refused():
    class Own(Facts):
        pass

    fields = [field.name for field in dataclass_fields(Facts)]
    register_dataclass(Own, fields, [])
    given = original(Stream(0, 6), 4)
    with pytest.raises(ValueError, match="problem is 'Own', but must be of a class registered with loadstone.trees"):
        solve(Own(**{name: getattr(given, name) for name in fields}))


class ByHand:
    """A memory that is registered by hand; `rest` is what programs are compiled for."""

    def __init__(self, weights, rest):
        self.weights, self.rest = weights, rest

    def queries(self, inputs):
        return inputs @ self.weights.T


register_pytree_node(ByHand, lambda one: ((one.weights,), one.rest), lambda rest, parts: ByHand(*parts, rest))


@pytest.mark.parametrize("rest, words", [(None, ""), ((), ""), ("a word", "a word"), ((1, "b"), "(1, 'b')")])
def test_what_a_class_is_registered_with_besides_arrays(rest, words):
    memory = ByHand(16 * jnp.eye(6), rest)
    assert parameters(memory) == words
    assert measure(original(Stream(0, 6), 2), memory).accuracy <= 1


def test_what_is_no_tree_has_no_parameters():
    assert parameters(object()) == "" == parameters(1.0)
    assert parameters(initial_memory(6, family="relu:8")) == "('relu',)" and parameters(initial_memory(6)) == ""


def test_fields_come_back_where_they_were():
    plain = make_dataclass("Four", ["first", "name", "second", "bits"])
    kind = tree(data=["second", "first"], meta=["name", "bits"])(plain)
    value = kind(np.ones(2), "a", np.zeros(3), 8)
    leaves, structure = jax.tree.flatten(value)
    assert [leaf.shape for leaf in leaves] == [(3,), (2,)]
    back = jax.tree.unflatten(structure, leaves)
    assert (back.name, back.bits) == ("a", 8) and back.first is value.first and back.second is value.second
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(value)]
    assert paths == [".second", ".first"]
    for other in (kind(np.ones(2), "b", np.zeros(3), 8), kind(np.ones(2), "a", np.zeros(3), 4)):
        assert jax.tree.structure(other) != structure


def test_a_batch_of_two_families_is_refused():
    problems = [original(Stream(seed, 6), 4) for seed in range(2)]
    mixed = [initial_memory(6, seed=0, family=name) for name in ("nonnegative", "psd")]
    with pytest.raises(ValueError, match="memories is 'of different shapes"):
        solve_batch(problems, mixed)
    with pytest.raises(ValueError, match="problems is 'of different shapes"):
        solve_batch([problems[0], decoupled(Stream(0, 6), 4)], [None, None])


def test_a_class_keeps_a_repr_of_its_own_and_a_subclass_that_of_its_base():
    @tree(data=["weights"])
    @dataclass(frozen=True)
    class Told:
        weights: jax.Array

        def __repr__(self):
            return "told"

    @tree(data=["weights"])
    @dataclass(frozen=True)
    class Plain:
        weights: jax.Array

    @tree(data=["weights"])
    class Further(Plain):
        pass

    assert repr(Told(np.ones(3))) == "told"
    assert repr(Plain(np.ones(3))) == "Plain(weights=float64[3])" and repr(Further(np.ones(3))).startswith("Further(")
