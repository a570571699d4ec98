"""Groups of inputs that share outputs: nested, with the bits of the other problems, and those at both ends."""

import jax
import numpy as np
import pytest

from loadstone.measurements.accuracy import measure
from loadstone.memories.families import initial_memory
from loadstone.problems.arrays import Arrays
from loadstone.problems.budget import Budget
from loadstone.problems.decoupled import decoupled
from loadstone.problems.grouped import grouped
from loadstone.problems.instance import Instance
from loadstone.problems.instance_files import read_instance
from loadstone.problems.original import original
from loadstone.solvers.decide import decide
from loadstone.solvers.solve import train
from loadstone.streams.stream import Stream

STREAM = Stream(5, 6)


def same(one: Arrays, other: Arrays) -> bool:
    pairs = ((getattr(one, name), getattr(other, name)) for name in ("inputs", "outputs", "targets"))
    return all(np.array_equal(*pair) for pair in pairs)


def test_input_mu_has_the_outputs_of_group_mu_mod_g():
    found = grouped(STREAM, 11, groups=4).arrays()
    alone = np.asarray(STREAM.decoupled_outputs(0, 4, 11)).transpose(0, 2, 1)
    for mu in range(11):
        np.testing.assert_array_equal(found.outputs[mu], alone[mu % 4])
    np.testing.assert_array_equal(found.inputs, STREAM.inputs(11))
    np.testing.assert_array_equal(found.targets, np.arange(11))
    assert "4 groups" in grouped(STREAM, 11, groups=4).description


def test_one_group_is_the_original_problem_and_p_groups_are_the_decoupled_one():
    one, ends = grouped(STREAM, 9, groups=1).arrays(), original(STREAM, 9).arrays()
    np.testing.assert_array_equal(one.outputs, np.broadcast_to(ends.outputs, (9, 9, 6)))
    np.testing.assert_array_equal(one.inputs, ends.inputs)
    for groups in (9, 1000):
        assert same(grouped(STREAM, 9, groups=groups).arrays(), decoupled(STREAM, 9).arrays())
    few = grouped(STREAM, 9, groups=9, answers=3, frequencies="balanced").arrays()
    assert same(few, decoupled(STREAM, 9, answers=3, frequencies="balanced").arrays())


@pytest.mark.parametrize("asked", [{}, {"answers": 5, "frequencies": "zipf:1"}])
def test_fewer_associations_are_the_first_of_more(asked):
    longer, shorter = (grouped(STREAM, p, groups=3, **asked).arrays() for p in (20, 13))
    np.testing.assert_array_equal(longer.inputs[:13], shorter.inputs)
    np.testing.assert_array_equal(longer.outputs[:13, : shorter.outputs.shape[1]], shorter.outputs)
    np.testing.assert_array_equal(longer.targets[:13], shorter.targets)
    instance = Instance(STREAM, 20, kind="groups:3", **asked)
    for p in (20, 13, 2):
        assert same(instance.first(p).arrays(), grouped(STREAM, p, groups=3, **asked).arrays())


@pytest.mark.parametrize("d, p, groups, asked", [
    (6, 11, 4, {}), (6, 11, 30, {"answers": 5}), pytest.param(66, 512, 510, {"answers": 512}, marks=pytest.mark.soak),
])  # fmt: skip
def test_a_file_has_the_same_numbers(tmp_path, d, p, groups, asked):
    """The outputs of the last, 69 megabytes, are not written in one go."""
    instance = Instance(Stream(5, d, law="rademacher"), p, kind=f"groups:{groups}", **asked)
    instance.write(tmp_path / "one.npz")
    assert same(read_instance(tmp_path / "one.npz"), instance.problem().arrays())


def test_a_memory_can_be_trained_and_a_verdict_agrees():
    problem = grouped(STREAM, 10, groups=3)
    solution = train(problem, initial_memory(6))
    assert solution.status == "stored" and measure(problem, solution.memory).violations == 0
    assert decide(problem).verdict == "storable" and decide(grouped(STREAM, 40, groups=3)).verdict == "not storable"
    assert jax.tree.structure(problem) == jax.tree.structure(grouped(Stream(6, 6), 10, groups=3))


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="groups is 0, but must be a whole number of at least 1"):
        grouped(STREAM, 10, groups=0)
    with pytest.raises(ValueError, match="p is 1"):
        grouped(STREAM, 1, groups=2)
    with pytest.raises(ValueError, match="[Tt]he problem with 3 groups, outputs stored"):
        grouped(STREAM, 1000, groups=3, budget=Budget(10**6))
