"""Arrays with masked entries are refused, wherever a caller gives arrays: NumPy and JAX would drop the mask."""

import jax.numpy as jnp
import numpy as np
import pytest

import loadstone
from loadstone.frequencies import check_answers
from loadstone.given_arrays import array_of, is_masked, real_array
from loadstone.memories.full import Full
from loadstone.memories.low_rank import LowRank
from loadstone.memories.projected import Projected
from loadstone.memories.recall import recall_index
from loadstone.memories.subspaces.given import Given
from loadstone.memories.subspaces.masked import Blocks, Masked
from loadstone.problems.arrays import Arrays
from loadstone.problems.loss import mean_loss
from loadstone.solvers.solve import solve
from loadstone.theory.capacity import capacity
from loadstone.theory.skew import skewed_capacity

PLAIN = np.eye(4)
HIDDEN = np.ma.masked_array(PLAIN, PLAIN > 0)
WHOLE = np.ma.masked_array([0, 1, 2, 3], [0, 0, 1, 0])
PROBLEM = loadstone.facts(PLAIN, PLAIN)

CALLS = {
    "inputs": lambda: loadstone.facts(HIDDEN, PLAIN),
    "outputs": lambda: loadstone.facts(PLAIN, HIDDEN),
    "rows": lambda: loadstone.facts(list(HIDDEN), PLAIN),
    "targets": lambda: loadstone.facts(PLAIN, PLAIN, targets=WHOLE),
    "shares": lambda: loadstone.facts(PLAIN, PLAIN, shares=WHOLE),
    "weighted": lambda: PROBLEM.weighted(WHOLE),
    "arrays": lambda: Arrays(PLAIN, HIDDEN, np.arange(4)),
    "targets of arrays": lambda: Arrays(PLAIN, PLAIN, WHOLE),
    "mask": lambda: Masked(np.ma.masked_array(PLAIN > 0, PLAIN > 0)),
    "basis": lambda: Given(HIDDEN[None]),
    "frequencies": lambda: check_answers(4, WHOLE),
    "frequencies of a formula": lambda: skewed_capacity(9, WHOLE),
    "kappa": lambda: capacity(np.ma.masked_array([0.5, 1.0], [0, 1])),
    "measure": lambda: loadstone.measure(PROBLEM, Full(HIDDEN)),
    "factor": lambda: loadstone.measure(PROBLEM, LowRank(PLAIN, HIDDEN)),
    "member": lambda: loadstone.measure(PROBLEM, Projected(HIDDEN, Blocks(2))),
    "start": lambda: solve(PROBLEM, Full(HIDDEN)),
    "pytree": lambda: loadstone.memory({"w": HIDDEN}, lambda it, inputs: inputs @ it["w"]),
    "loss": lambda: mean_loss(PROBLEM, Full(HIDDEN)),
    "save": lambda: loadstone.save("hidden.safetensors", Full(HIDDEN)),
    "recalled": lambda: recall_index(Full(HIDDEN), PLAIN, outputs=PLAIN),
    "asked": lambda: recall_index(Full(PLAIN), HIDDEN, outputs=PLAIN),
    "answers": lambda: recall_index(Full(PLAIN), PLAIN, outputs=HIDDEN),
}


@pytest.mark.parametrize("name", CALLS)
def test_masked_entries_are_refused(name):
    with pytest.raises(ValueError, match=r"masked|mask is") as refused:
        CALLS[name]()
    assert "\n" not in str(refused.value)


def test_a_mask_that_hides_nothing_is_as_good_as_none():
    shown = np.ma.masked_array(PLAIN, np.zeros((4, 4), bool))
    np.testing.assert_array_equal(loadstone.facts(shown, list(shown)).inputs, PLAIN)
    np.testing.assert_array_equal(Masked(shown == 1).mask, PLAIN == 1)


@pytest.mark.parametrize("value, masked", [
    (HIDDEN, True), ([1.0, np.ma.masked], True), ([[0.0], [HIDDEN]], True), (HIDDEN[0], True), (np.ma.masked, True),
    (HIDDEN.data, False), ([1.0, 2.0], False), (1.0, False), ("masked", False), (jnp.eye(2), False), ((), False),
])  # fmt: skip
def test_what_is_masked(value, masked):
    assert is_masked(value) == masked


@pytest.mark.parametrize("value", [[[1], [2, 3]], np.ones((2, 2), complex), "words", None, [True, False], object()])
def test_what_is_no_array_of_real_numbers_is_refused_by_name(value):
    with pytest.raises(ValueError, match="some name is .*, but must be an array of numbers"):
        real_array("some name", value, "an array of numbers")


def test_arrays_are_taken_as_they_are():
    assert array_of("some name", PLAIN, "an array") is PLAIN
    assert real_array("some name", [[1, 2]], "an array").tolist() == [[1, 2]]
