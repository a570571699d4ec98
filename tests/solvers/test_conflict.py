"""Conflicts: proved, and every member of them is needed."""

import numpy as np
import pytest

from loadstone.problems.arrays import Arrays
from loadstone.problems.original import original
from loadstone.solvers.conflict import conflict_in
from loadstone.solvers.decide import decide
from loadstone.streams.stream import Stream


def part(arrays, rows):
    return Arrays(arrays.inputs[list(rows)], arrays.outputs, arrays.targets[list(rows)])


def check_minimal(arrays, conflict):
    assert conflict.minimal and decide(part(arrays, conflict.facts)).verdict == "not storable"
    for left_out in conflict.facts:
        rest = [row for row in conflict.facts if row != left_out]
        assert not rest or decide(part(arrays, rest)).verdict == "storable"


def test_what_is_storable_has_none():
    assert conflict_in(original(Stream(0, 6), 6)) is None


@pytest.mark.parametrize("seed", range(3))
def test_every_member_of_a_conflict_of_random_facts_is_needed(seed):
    arrays = original(Stream(seed, 4), 14).arrays()
    check_minimal(arrays, conflict_in(arrays))


def test_equal_inputs_with_different_answers_are_found_among_many():
    random = np.random.default_rng(0)
    inputs, outputs = random.standard_normal((40, 12)), random.standard_normal((40, 12))
    inputs[31] = 2 * inputs[7]
    conflict = conflict_in(Arrays(inputs, outputs, np.arange(40)))
    assert sorted(conflict.facts) == [7, 31] and conflict.minimal


def test_an_answer_inside_the_hull_of_others_is_impossible_alone():
    random = np.random.default_rng(1)
    inputs, outputs = random.standard_normal((9, 6)), random.integers(-9, 10, (9, 6)).astype(float)
    outputs[4] = 0.5 * outputs[0] + 0.25 * outputs[1] + 0.25 * outputs[2]
    conflict = conflict_in(Arrays(inputs, outputs, np.arange(9)))
    assert conflict.facts == (4,) and conflict.minimal


def test_an_input_inside_the_cone_of_inputs_with_one_other_answer():
    random = np.random.default_rng(2)
    inputs, outputs = random.integers(-9, 10, (9, 8)).astype(float), random.standard_normal((7, 8))
    inputs[5] = inputs[[0, 1, 2]].T @ [1.0, 2.0, 0.5]
    targets = np.array([0, 0, 0, 1, 2, 3, 4, 5, 6])
    conflict = conflict_in(Arrays(inputs, outputs, targets))
    assert sorted(conflict.facts) == [0, 1, 2, 5] and conflict.minimal
    check_minimal(Arrays(inputs, outputs, targets), conflict)


def test_when_time_is_up_the_conflict_is_true_but_not_called_minimal():
    arrays = original(Stream(0, 8), 40).arrays()
    conflict = conflict_in(arrays, decide(arrays), seconds=1e-9)
    assert not conflict.minimal and decide(part(arrays, conflict.facts)).verdict == "not storable"


def test_decoupled_facts_cannot_be_left_out():
    with pytest.raises(ValueError, match="instance is 'a decoupled one', but must be one with shared outputs"):
        conflict_in(Arrays(np.ones((2, 3)), np.ones((2, 4, 3)), np.array([0, 1])))
