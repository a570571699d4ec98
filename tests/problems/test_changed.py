"""A problem that was changed is another problem: what is proved, stored and measured is what its arrays hold now."""

import copy
import pickle
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.measurements.accuracy import measure
from loadstone.memories.full import Full
from loadstone.problems.arrays import Arrays
from loadstone.problems.decoupled import decoupled
from loadstone.problems.facts import facts
from loadstone.problems.grouped import grouped
from loadstone.problems.instance import Instance
from loadstone.problems.original import original
from loadstone.problems.padded import padded
from loadstone.problems.separate import separate
from loadstone.problems.spread import spread
from loadstone.solvers.decide import decide
from loadstone.solvers.solve import solve
from loadstone.streams.stream import Stream

NUMBERS = np.random.default_rng(0)
INPUTS, OUTPUTS = NUMBERS.standard_normal((6, 4)), NUMBERS.standard_normal((6, 4))
W = NUMBERS.standard_normal((4, 4)).astype(np.float32)
STREAM = Stream(0, 4)

KINDS = {
    "facts": lambda: facts(INPUTS, OUTPUTS),
    "facts with targets": lambda: facts(INPUTS, OUTPUTS[:3], targets=[0, 0, 1, 2, 2, 1]),
    "original": lambda: original(STREAM, 6),
    "groups": lambda: grouped(STREAM, 6, groups=2),
    "separate": lambda: separate(Arrays(INPUTS, NUMBERS.standard_normal((6, 3, 4)), np.zeros(6, int))),
    "stored": lambda: decoupled(STREAM, 6, hold="stored"),
    "stored in float16": lambda: decoupled(STREAM, 6, hold="stored", dtype="float16"),
    "regenerated": lambda: decoupled(STREAM, 6, hold="regenerated"),
    "padded": lambda: padded(facts(INPUTS, OUTPUTS), 5),
    "padded, stored": lambda: padded(decoupled(STREAM, 6, hold="stored"), 5),
    "padded, regenerated": lambda: padded(decoupled(STREAM, 6, hold="regenerated"), 5),
    "over devices": lambda: spread(facts(INPUTS, OUTPUTS), 1),
    "stored, over devices": lambda: spread(decoupled(STREAM, 6, hold="stored"), 1),
    "stored in float16, over devices": lambda: spread(decoupled(STREAM, 6, hold="stored", dtype="float16"), 1),
    "regenerated, over devices": lambda: spread(decoupled(STREAM, 6, hold="regenerated"), 1),
}


#: Over devices a pass is compiled for each kind.
NAMES = [pytest.param(name, marks=pytest.mark.soak) if ", over devices" in name else name for name in KINDS]


def changed(problem, change):
    """The problem with every array of real numbers changed."""
    return jax.tree.map(lambda leaf: change(leaf) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf, problem)


def inner(problem):
    return getattr(problem, "longer", getattr(problem, "pieces", problem))


def with_inner(problem, **changes):
    name = next((name for name in ("longer", "pieces") if hasattr(problem, name)), None)
    return replace(problem, **({name: replace(inner(problem), **changes)} if name else changes))


def same(one, other):
    fields = ("inputs", "outputs", "targets")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in fields)


def margins_of(arrays):
    """The margins of W on what a proof would be about."""
    n, outputs = len(arrays.inputs), arrays.outputs
    queries = arrays.inputs @ W.T.astype(np.float64)
    scores = (outputs @ queries[:, :, None])[:, :, 0] if outputs.ndim == 3 else queries @ outputs.T
    target = scores[np.arange(n), arrays.targets]
    scores[np.arange(n), arrays.targets] = -np.inf
    return target - scores.max(axis=1)


def agrees(problem):
    """Whether a proof is about the numbers that a pass works on."""
    count, arrays = int(problem.associations), problem.arrays()
    recall = problem.recall(problem.inputs @ W.T)
    tolerance = 0.05 if "float16" in problem.description else 1e-4
    return np.allclose(np.asarray(recall.margin)[:count], margins_of(arrays), atol=tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_a_proof_is_about_the_numbers_that_a_pass_works_on(name):
    problem = KINDS[name]()
    assert agrees(problem)
    assert agrees(with_inner(problem, inputs=1 - inner(problem).inputs))
    for change in (lambda leaf: leaf * 0, lambda leaf: -leaf, lambda leaf: leaf[::-1] * 2):
        mapped = changed(problem, change)
        assert agrees(mapped) and not same(mapped.arrays(), problem.arrays())
    for field in ("outputs", "parts"):
        if field in getattr(inner(problem), "__dataclass_fields__", {}):
            other = jax.tree.map(lambda leaf: 1 - leaf, getattr(inner(problem), field))
            assert agrees(with_inner(problem, **{field: other}))


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_is_the_same_problem(name):
    problem = KINDS[name]()
    exact = problem.arrays()
    copies = [copy.copy(problem)]
    if "devices" not in name:  # devices cannot be written
        copies += [copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))]  # noqa: S301
    assert all(same(one.arrays(), exact) for one in copies)
    shares = with_inner(problem, shares=jnp.ones(6))
    assert same(shares.arrays(), exact)


@pytest.mark.parametrize("name", NAMES)
def test_what_crosses_a_compiled_function_holds_its_own_numbers(name):
    """Another problem of this shape does not come back as the first one, not even where float32 cannot tell them."""
    problem, tolerance = KINDS[name](), 1e-3 if "float16" in name else 1e-7
    there_and_back = [jax.jit(lambda one: one), lambda one: jax.tree.unflatten(*jax.tree.flatten(one)[::-1])]
    for cross in there_and_back:
        for one in (problem, with_inner(problem, inputs=inner(problem).inputs + 1)):
            crossed = cross(one).arrays()
            np.testing.assert_allclose(crossed.inputs, one.arrays().inputs, rtol=tolerance)
            np.testing.assert_allclose(crossed.outputs, one.arrays().outputs, rtol=tolerance)


def test_digits_of_one_problem_are_not_given_to_another():
    one, other = (facts(INPUTS, OUTPUTS + shift) for shift in (0, 1e-12))
    np.testing.assert_array_equal(one.outputs, other.outputs)
    crossing = jax.jit(lambda problem: problem)
    for problem in (one, other):
        assert crossing(problem).arrays().outputs.dtype == np.float32
        assert problem.arrays().outputs.dtype == np.float64
    assert jax.tree.structure(one) == jax.tree.structure(other)  # one program for both
    both = jax.tree.map(lambda *leaves: jnp.stack(leaves), one, other)
    assert jax.tree.map(lambda leaf: leaf[1], both).arrays().outputs.dtype == np.float32


def test_zero_inputs_cannot_be_stored():
    problem = facts(INPUTS, OUTPUTS)
    assert decide(problem).verdict == "storable"
    for nothing in (replace(problem, inputs=0 * problem.inputs), jax.tree.map(lambda leaf: 0 * leaf, problem)):
        assert decide(nothing).verdict == "not storable"
        assert solve(nothing).status != "stored"
        assert measure(nothing, Full(W.astype(np.float64))).accuracy == 0


def test_digits_do_not_change_with_the_array_that_they_came_from():
    inputs, outputs, targets = INPUTS.copy(), OUTPUTS.copy(), np.arange(6)
    problem = facts(inputs, outputs, targets=targets)
    inputs[:], outputs[:], targets[:] = 0, 0, 0
    arrays = problem.arrays()
    np.testing.assert_array_equal(arrays.inputs, INPUTS)
    np.testing.assert_array_equal(arrays.outputs, OUTPUTS)
    np.testing.assert_array_equal(arrays.targets, np.arange(6))


@pytest.mark.parametrize("make", [lambda: facts(INPUTS, OUTPUTS), *(
    lambda kind=kind, answers=answers: Instance(STREAM, 6, kind=kind, answers=answers)
    for kind in ("original", "decoupled", "groups:2") for answers in (None, 3)
)])  # fmt: skip
def test_exact_arrays_cannot_be_written_to(make):
    one = make()
    for name in ("inputs", "outputs"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(one.arrays(), name)[:] = 0


def test_digits_stay_with_what_was_not_changed():
    problem = facts(INPUTS, OUTPUTS)
    other = replace(problem, targets=problem.targets[::-1]).arrays()
    np.testing.assert_array_equal(other.inputs, INPUTS)
    np.testing.assert_array_equal(other.targets, np.arange(6)[::-1])
    halves = replace(problem, inputs=problem.inputs / 2).arrays()
    np.testing.assert_array_equal(halves.outputs, OUTPUTS)
    np.testing.assert_array_equal(halves.inputs, INPUTS.astype(np.float32) / 2)
    np.testing.assert_array_equal(problem.weighted(np.ones(6)).arrays().inputs, INPUTS)


@pytest.mark.parametrize("rows", [[4, 1], [0], [-1, 0, 0], [2, 99]])
def test_a_part_has_the_digits_of_its_rows(rows):
    problem = facts(INPUTS, OUTPUTS)
    part = problem.part(jnp.asarray(rows), jnp.ones(len(rows), bool))
    arrays = part.arrays()
    np.testing.assert_array_equal(arrays.inputs.astype(np.float32), part.inputs)
    np.testing.assert_array_equal(arrays.inputs, INPUTS[np.minimum(rows, 5)])
    np.testing.assert_array_equal(arrays.targets, part.targets)
    np.testing.assert_array_equal(arrays.outputs, OUTPUTS)
    with jax.enable_x64(True):
        assert part.in_float64().inputs.dtype == jnp.float64
        np.testing.assert_array_equal(part.in_float64().inputs, arrays.inputs)


def test_padding_keeps_the_digits_of_the_rest():
    problem = padded(facts(INPUTS, OUTPUTS), 5)
    np.testing.assert_array_equal(problem.arrays().inputs, INPUTS[:5])
    with jax.enable_x64(True):
        np.testing.assert_array_equal(problem.in_float64().inputs, np.where(np.arange(6)[:, None] < 5, INPUTS, 0))
    assert (changed(problem, lambda leaf: 0 * leaf).arrays().inputs == 0).all()


def test_outputs_rounded_to_float16_are_proved_as_they_were_before():
    exact = decoupled(STREAM, 6, hold="regenerated").arrays()
    assert same(decoupled(STREAM, 6, dtype="float16").arrays(), exact)
    assert same(decoupled(STREAM, 6).arrays(), exact)
    half = decoupled(STREAM, 6, dtype="float16")
    assert same(replace(half, inputs=-half.inputs).in_float32().arrays(), replace(half, inputs=-half.inputs).arrays())
