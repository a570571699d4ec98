"""Compiled code checks its operands: those that do not fit give an error message, never a read out of bounds."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.kernels import shared_cpu, table
from loadstone.kernels.outputs import SharedOutputs, StoredOutputs
from loadstone.kernels.products import PRECISIONS
from loadstone.measurements.accuracy import measure
from loadstone.memories.families import initial_memory
from loadstone.memories.full import Full
from loadstone.problems.decoupled import decoupled
from loadstone.problems.facts import Facts
from loadstone.problems.original import original
from loadstone.solvers.solve import solve, solve_batch
from loadstone.streams.stream import Stream


@cache
def shared():
    return original(Stream(0, 20), 30)


QUERIES, OUTPUTS, TARGETS = jnp.ones((5, 4)), jnp.ones((7, 4)), jnp.arange(5, dtype=jnp.int32)


@pytest.mark.parametrize("d, memory_d", [(64, 100), (100, 64), (1, 300), (300, 1)])
@pytest.mark.parametrize("kappa", [1.0, 0.5])
def test_a_memory_of_another_dimension_is_refused_at_the_door(d, memory_d, kappa):
    problem, memory = original(Stream(0, d), 30), initial_memory(memory_d, kappa, seed=0)
    for use in (solve, measure):
        with pytest.raises(ValueError, match=rf"inputs.shape is \(30, {d}\), but must be \(n, {memory_d}\)"):
            use(problem, memory)


@pytest.mark.parametrize("operands, sentence", [
    ((QUERIES[:4], OUTPUTS, TARGETS), r"targets is 'int32\(5,\)', but must be 4 whole numbers"),
    ((jnp.ones((6, 4)), OUTPUTS, TARGETS), "targets is .* must be 6 whole numbers"),
    ((QUERIES, OUTPUTS[:, :3], TARGETS), r"outputs.shape is \(7, 3\), but must be \(m, 4\)"),
    ((QUERIES[0], OUTPUTS, TARGETS), r"queries.shape is \(4,\)"),
    ((QUERIES[None], OUTPUTS, TARGETS), r"queries.shape is \(1, 5, 4\)"),
    ((jnp.ones((0, 4)), OUTPUTS, TARGETS[:0]), r"queries.shape is \(0, 4\), but must be two sizes of at least 1"),
    ((jnp.ones((5, 0)), jnp.ones((7, 0)), TARGETS), r"queries.shape is \(5, 0\)"),
    ((QUERIES, OUTPUTS[:0], TARGETS), r"outputs.shape is \(0, 4\)"),
    ((QUERIES, OUTPUTS, TARGETS.astype(jnp.float32)), r"targets is 'float32\(5,\)'"),
    ((QUERIES.astype(jnp.int32), OUTPUTS, TARGETS), "queries.dtype is 'int32'"),
])  # fmt: skip
def test_operands_that_do_not_fit_get_one_sentence(operands, sentence):
    """Whichever kernel is chosen: the table checks them before it chooses, and again where C++ takes W and inputs."""
    queries, array, targets = operands
    for precision in PRECISIONS:
        with pytest.raises(ValueError, match=sentence):
            table.shared_pass(queries, SharedOutputs(array, targets, 4), precision)
    with pytest.raises(ValueError, match=sentence):
        shared_cpu.linear_step(jnp.eye(4), queries, SharedOutputs(array, targets, 4))


@pytest.mark.parametrize("place, name", [(0, "queries"), (1, "outputs")])
def test_the_fused_cpu_pass_takes_single_precision_alone(place, name):
    operands = [QUERIES, OUTPUTS, TARGETS]
    operands[place] = operands[place].astype(jnp.float16)
    with pytest.raises(ValueError, match=f"{name}.dtype is 'float16', but must be float32 for the fused CPU pass"):
        shared_cpu.shared_pass(operands[0], SharedOutputs(*operands[1:], 4), "float32")


@pytest.mark.parametrize("queries, outputs", [
    (jnp.ones((5, 4)), jnp.ones((5, 3, 6))), (jnp.ones((5, 4)), jnp.ones((4, 4, 6))),
    (jnp.ones((5, 4)), jnp.ones((5, 4))),
    (jnp.ones((5, 4)), jnp.ones((5, 4, 0))), (jnp.ones((0, 4)), jnp.ones((0, 4, 6))),
    (jnp.ones((5, 4)), jnp.ones((5, 4, 6), jnp.int32)),
])  # fmt: skip
def test_decoupled_operands_that_do_not_fit_get_one_sentence(queries, outputs):
    with pytest.raises(ValueError, match="(queries.shape|outputs.shape|outputs.dtype) is .* but must be"):
        table.stored_pass(queries, StoredOutputs(outputs, 0, queries), "float32")


@pytest.mark.parametrize("hold", ["stored", "regenerated"])
def test_queries_must_be_as_many_as_inputs(hold):
    for problem in (shared(), decoupled(Stream(0, 20), 30, hold=hold)):
        with pytest.raises(ValueError, match="but must be"):
            problem.recall(jnp.ones((31, 20)))


def test_facts_made_by_hand_are_checked():
    inputs, outputs = jnp.ones((4, 3)), jnp.ones((5, 3))
    for bad in ((inputs, outputs, jnp.arange(3)), (inputs[None, :, 0], outputs, jnp.arange(1)),
                (inputs[:, :0], outputs[:, :0], jnp.arange(4)), (inputs, outputs[:0], jnp.arange(4)),
                (inputs, outputs, jnp.arange(4.0))):  # fmt: skip
        with pytest.raises(ValueError, match="but must be"):
            Facts(*bad, 4)
    with pytest.raises(ValueError, match="block is 0, but must be"):
        Facts(inputs, outputs, jnp.arange(4), 0)


@pytest.mark.parametrize("targets", [[0, 1, 2, 5], [0, 1, 2, -1], [0, 1, 2, 2**31 - 1]])
def test_targets_out_of_range_are_an_error_and_never_a_read(targets):
    problem = Facts(jnp.ones((4, 3)), jnp.ones((5, 3)), jnp.asarray(targets, jnp.int32), 4)
    with pytest.raises(ValueError, match="targets is .* but must be in 0..4"):
        solve(problem)
    with pytest.raises(ValueError, match="targets is"):
        measure(problem, Full(jnp.eye(3)))
    if shared_cpu.available():
        with pytest.raises((ValueError, jax.errors.JaxRuntimeError), match="every target must be one of the outputs"):
            problem.recall(problem.inputs)
        with pytest.raises((ValueError, jax.errors.JaxRuntimeError), match="every target must be one of the outputs"):
            problem.linear_step()(jnp.eye(3))[0].loss.block_until_ready()


@pytest.mark.skipif(not shared_cpu.available(), reason="no C++ compiler: there is no kernel to be called")
def test_the_handler_itself_refuses_what_no_wrapper_lets_through():
    """Called past the wrappers: shapes that disagree in every way come back as errors."""
    row, rows = jax.ShapeDtypeStruct((5,), jnp.float32), jax.ShapeDtypeStruct((5, 4), jnp.float32)
    square = jax.ShapeDtypeStruct((4, 4), jnp.float32)
    short, long = jax.ShapeDtypeStruct((4,), jnp.float32), jax.ShapeDtypeStruct((6, 4), jnp.float32)
    good, right = (QUERIES, OUTPUTS, TARGETS), (row, row, row, rows)
    calls = [
        (right, (QUERIES[:, :3], OUTPUTS, TARGETS)), (right, (QUERIES, OUTPUTS, TARGETS[:4])),
        (right, (QUERIES[None], OUTPUTS, TARGETS)), (right, (QUERIES[0], OUTPUTS[0], TARGETS)),
        ((short, row, row, rows), good), ((row, row, row, short), good), ((row, row, row, long), good),
        (right, (QUERIES, OUTPUTS[:0], TARGETS)), (right, (QUERIES, OUTPUTS, TARGETS + 5)),
        (right, (QUERIES, OUTPUTS, TARGETS.astype(jnp.uint32))),
        (right, (QUERIES.astype(jnp.float16), OUTPUTS, TARGETS)),
    ]  # fmt: skip
    for results, operands in calls:
        with pytest.raises((ValueError, jax.errors.JaxRuntimeError)):
            jax.block_until_ready(jax.ffi.ffi_call("loadstone_shared_recall", results)(*operands))
    for weights in (jnp.eye(5), jnp.ones((4, 3)), jnp.ones(4), jnp.ones((1, 4, 4))):
        with pytest.raises((ValueError, jax.errors.JaxRuntimeError)):
            call = jax.ffi.ffi_call("loadstone_shared_step", (row, row, row, rows, square))
            jax.block_until_ready(call(weights, *good))
    found = jax.ffi.ffi_call("loadstone_shared_recall", (row, row, row, rows))(*good)
    assert np.isfinite(found[2]).all()


@pytest.mark.parametrize("kind", [jnp.float16, jnp.bfloat16])
def test_a_memory_whose_numbers_cannot_be_trained_is_refused(kind):
    with pytest.raises(ValueError, match="memory is 'one with .* numbers', but must be one with arrays of float32"):
        solve(shared(), Full(jnp.eye(20, dtype=kind)))
    assert measure(shared(), Full(jnp.eye(20, dtype=kind))).accuracy < 1


def test_a_batch_must_be_complete_and_alike():
    other, smaller = original(Stream(1, 20), 30), original(Stream(1, 20), 29)
    with pytest.raises(ValueError, match=r"memories is '1 of them', but must be as many as problems \(2\)"):
        solve_batch([shared(), other], [initial_memory(20)])
    with pytest.raises(ValueError, match="problems is 'of different shapes .number 1"):
        solve_batch([shared(), smaller], [None, None])
    with pytest.raises(ValueError, match="memories is 'of different shapes"):
        solve_batch([shared(), other], [initial_memory(20), initial_memory(20, 0.5)])
    with pytest.raises(ValueError, match="at least one"):
        solve_batch([], [])
