"""Keys: one for each run that differs, the same for the same run, for good."""

from dataclasses import replace

import numpy as np
import pytest

from loadstone.experiments.spec import Spec
from loadstone.solvers.gradient import Protocol

SPEC = Spec("original", 20, 85, seed=3)


def test_a_key_is_the_same_for_good():
    # Changing this number throws away every store: do so only when the same spec comes to mean other numbers.
    assert SPEC.key == "15053fd516a1fbecf378ffce9c08525730f201725f6e3eb247a6bd041ea12220"


@pytest.mark.parametrize("change", [
    {"problem": "decoupled"}, {"d": 21}, {"p": 86}, {"seed": 4}, {"kappa": 0.5}, {"law": "sphere"},
    {"solver": "hebbian"},
    {"protocol": Protocol(stop="exact")},
    {"protocol": Protocol(steps=513)},
    {"protocol": Protocol(learning_rate=0.02)}, {"protocol": Protocol(precision="bfloat16")},
])  # fmt: skip
def test_every_difference_gives_another_key(change):
    assert replace(SPEC, **change).key != SPEC.key


def test_how_own_outputs_are_kept_matters_to_the_decoupled_problem_only():
    decoupled = replace(SPEC, problem="decoupled")
    for change in ({"form": "stored"}, {"stored_dtype": "float16"}):
        assert replace(decoupled, **change).key != decoupled.key
        assert replace(SPEC, **change) == SPEC


def test_numbers_of_numpy_are_numbers():
    same = Spec(
        "original", np.int64(20), np.int32(85), np.uint8(3), np.float64(1), protocol=Protocol(steps=np.int64(512))
    )
    assert same == SPEC and same.key == SPEC.key


def test_a_spec_comes_back_from_its_identity():
    for spec in (SPEC, replace(SPEC, solver="capacity"), replace(SPEC, problem="decoupled", stored_dtype="float16")):
        assert Spec.from_identity(spec.identity()) == spec
    for wrong in ({"meaning": 0}, {"more": 1}, {"d": 10**30}):
        with pytest.raises(ValueError, match="was written by a version|does not describe a run|d is 1000"):
            Spec.from_identity(SPEC.identity() | wrong)


def test_what_does_not_matter_does_not_change_the_key():
    assert replace(SPEC, kappa=1).key == SPEC.key
    hebbian = replace(SPEC, solver="hebbian")
    assert replace(hebbian, protocol=Protocol(steps=7, warmup=0)) == hebbian
