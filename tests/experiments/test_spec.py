"""Keys: one for each run that differs, the same for the same run, for good."""

from dataclasses import replace

import pytest

from loadstone.experiments.spec import Spec
from loadstone.memories.training import Protocol

SPEC = Spec("original", 20, 85, seed=3)


def test_a_key_is_the_same_for_good():
    # Changing this number throws away every store: do so only when the same spec comes to mean other numbers.
    assert SPEC.key == "2731a2dc165612765fb1a9c963999dda49642ab985549c0a2170a1d99cfb2a11"


@pytest.mark.parametrize("change", [
    {"problem": "decoupled"}, {"d": 21}, {"p": 86}, {"seed": 4}, {"kappa": 0.5}, {"law": "sphere"},
    {"solver": "hebbian"},
    {"form": "stored"}, {"stored_dtype": "float16"}, {"protocol": Protocol(stop="exact")},
    {"protocol": Protocol(steps=513)},
    {"protocol": Protocol(learning_rate=0.02)}, {"protocol": Protocol(precision="bfloat16")},
])  # fmt: skip
def test_every_difference_gives_another_key(change):
    assert replace(SPEC, **change).key != SPEC.key


def test_what_does_not_matter_does_not_change_the_key():
    assert replace(SPEC, kappa=1).key == SPEC.key
    hebbian = replace(SPEC, solver="hebbian")
    assert replace(hebbian, protocol=Protocol(steps=7, warmup=0)).key == hebbian.key
