"""Keys: one for each run that differs, the same for the same run, for good."""

import json
from dataclasses import replace

import numpy as np
import pytest

from loadstone.runs.spec import Spec
from loadstone.tasks.multi_start import MultiStart

SPEC = Spec("original", 20, 85, seed=3)


def test_a_key_is_the_same_for_good():
    # Changing this number throws away every store: do so only when the same spec comes to mean other numbers.
    assert SPEC.key == "15053fd516a1fbecf378ffce9c08525730f201725f6e3eb247a6bd041ea12220"


@pytest.mark.parametrize("change", [
    {"problem": "decoupled"}, {"problem": "groups:2"}, {"d": 21}, {"p": 86}, {"seed": 4}, {"kappa": 0.5},
    {"law": "sphere"}, {"solver": "hebbian"},
    {"stop": "exact"},
    {"parameters": {"steps": 513}},
    {"parameters": {"learning_rate": 0.02}}, {"precision": "split"}, {"solver": "sgd"},
    {"answers": 85}, {"answers": 5}, {"answers": 5, "frequencies": "zipf:1"}, {"answers": 2, "frequencies": (1, 2)},
])  # fmt: skip
def test_every_difference_gives_another_key(change):
    assert replace(SPEC, **change).key != SPEC.key


def test_how_outputs_are_held_matters_to_the_decoupled_problem_only():
    decoupled = replace(SPEC, problem="decoupled")
    for change in ({"hold": "stored"}, {"stored_dtype": "float16"}):
        assert replace(decoupled, **change).key != decoupled.key
        assert replace(SPEC, **change) == SPEC


def test_numbers_of_numpy_are_numbers():
    same = Spec("original", np.int64(20), np.int32(85), np.uint8(3), np.float64(1), parameters={"steps": np.int64(512)})
    assert same == SPEC and same.key == SPEC.key


def test_a_spec_comes_back_from_its_identity():
    changes = [
        {}, {"solver": "capacity"}, {"problem": "decoupled", "stored_dtype": "float16"}, {"solver": "muon"},
        {"solver": "sgd", "parameters": {"learning_rate": 0.5}, "stop": "exact"}, {"stop": "none"},
        {"answers": 3, "frequencies": (0.5, 0.25, 0.25)}, {"answers": 9, "frequencies": "balanced", "solver": "reach"},
        {"problem": "groups:8"}, {"problem": "groups:8", "answers": 9, "solver": "capacity"},
        {"solver": "approach"}, {"solver": "approach", "parameters": {"optimiser": "newton", "passes": 7}},
        {"solver": "margin"}, {"solver": "margin", "law": "sphere", "answers": 12}, {"solver": "edits"},
        {"solver": "space"}, {"solver": "space", "parameters": {"chains": 8, "volume": False}, "family": "symmetric"},
        {"solver": "bits", "parameters": {"bits": 2, "way": "centre"}}, {"family": "rounded:2", "solver": "reach"},
        {"solver": "edits", "parameters": {"method": "refit", "action": "change", "edits": 7}, "answers": 9},
    ]  # fmt: skip
    for spec in (replace(SPEC, **change) for change in changes):
        assert Spec.from_identity(json.loads(json.dumps(spec.identity()))) == spec
    for wrong in ({"meaning": 0}, {"more": 1}, {"d": 10**30}):
        with pytest.raises(ValueError, match="was written by a version|does not describe a run|d is 1000"):
            Spec.from_identity(SPEC.identity() | wrong)


def test_what_does_not_matter_does_not_change_the_key():
    assert replace(SPEC, kappa=1).key == SPEC.key
    assert replace(SPEC, problem="groups:1") == SPEC
    assert replace(SPEC, problem="groups:08").key == replace(SPEC, problem="groups:8").key
    hebbian = replace(SPEC, solver="hebbian")
    assert replace(hebbian, stop="exact", precision="float16") == hebbian


def test_an_approach_is_named_by_what_it_tries():
    adam = replace(SPEC, solver="approach", parameters={"optimiser": "adam:0.1"})
    assert adam.identity()["solver"] == {"name": "approach", "optimiser": "adam:learning_rate=0.1"}
    assert adam == replace(SPEC, solver="approach", parameters={"optimiser": "adam:learning_rate=0.1"}, stop="exact")
    assert adam.key != replace(SPEC, solver="approach").key and not adam.is_iterative
    assert replace(SPEC, solver="approach", parameters={"optimiser": "lbfgs", "passes": 3000}).parameters == ()
    assert str(adam) == "original, d = 20, p = 85, approach of adam:learning_rate=0.1, seed 3"


def test_edits_are_named_by_what_is_done():
    spec = replace(SPEC, solver="edits", parameters={"method": "batch", "action": "add", "edits": 5})
    assert spec.identity()["solver"] == {"name": "edits", "method": "batch", "edits": 5} and not spec.is_iterative
    assert str(spec) == "original, d = 20, p = 85, 5 edits (add) by batch, seed 3"
    assert spec.key != replace(spec, parameters={"method": "refit", "edits": 5}).key


def test_what_is_tried_to_store_more_enters_the_key_only_if_it_is_not_the_default():
    reach = replace(SPEC, solver="reach", kappa=0.5)
    assert reach.identity()["solver"] == "reach"
    assert replace(reach, parameters={"starts": 1, "grown": False}).key == reach.key
    more = replace(reach, parameters={"grown": True, "starts": 5})
    assert more.identity()["solver"] == {"name": "reach", "grown": True, "starts": 5} and more.key != reach.key
    assert Spec.from_identity(more.identity()) == more and more.settings == MultiStart(starts=5, grown=True)
    assert replace(reach, parameters={"width": 0.005, "passes": 1000}).key == reach.key
    longer = replace(reach, parameters={"width": 0.001, "passes": 3000})
    assert longer.identity()["solver"] == {"name": "reach", "passes": 3000, "width": 0.001} and longer.key != reach.key
    assert Spec.from_identity(json.loads(json.dumps(longer.identity()))) == longer
    assert replace(reach, parameters={"enough": "exact", "digits": "auto"}).key == reach.key
    nearly = replace(reach, parameters={"enough": "99%", "digits": "float32"})
    assert nearly.key != reach.key and Spec.from_identity(json.loads(json.dumps(nearly.identity()))) == nearly
    with pytest.raises(ValueError, match="solver parameter is 'steps', but must be a parameter of reach"):
        replace(reach, parameters={"steps": 5})


def test_defaults_of_a_solver_do_not_enter_the_key():
    sgd = replace(SPEC, solver="sgd")
    assert sgd.identity()["solver"] == {"name": "sgd"}
    assert replace(sgd, parameters={"learning_rate": 0.01}).key == sgd.key
    assert replace(sgd, parameters={"learning_rate": 0.02}).key != sgd.key
    assert "stop" not in sgd.identity() and "family" not in sgd.identity()


def test_answers_enter_the_key_only_if_given_and_in_one_form():
    assert not {"answers", "frequencies"} & SPEC.identity().keys()
    few = replace(SPEC, answers=4, frequencies="zipf:1.0")
    assert few == replace(SPEC, answers=np.int64(4), frequencies="zipf:1") and few.identity()["frequencies"] == "zipf:1"
    assert "frequencies" not in replace(few, frequencies="uniform").identity()
    assert replace(SPEC, answers=2, frequencies=[1, 2]) == replace(SPEC, answers=2, frequencies=(1.0, 2.0))
    assert "4 answers" in str(few)


@pytest.mark.parametrize("change, sentence", [
    ({"solver": "capacity", "kappa": 0.5}, "kappa is 0.5 .* must be 1"),
    ({"solver": "hebbian", "kappa": 0.5}, "kappa is 0.5 .* must be 1"),
    ({"solver": "approach", "kappa": 0.5}, "kappa is 0.5 .* must be 1"),
    ({"solver": "margin", "family": "symmetric"}, "family 'symmetric', but must be 1 and full for a largest margin"),
    ({"solver": "edits", "kappa": 0.5}, "kappa is 0.5 .* must be 1 and full for edits"),
    ({"solver": "edits", "problem": "decoupled"}, "problem is 'decoupled', but must be original for edits"),
    ({"solver": "edits", "parameters": {"method": "rome"}}, "method is 'rome', but must be one of rank-one, batch"),
    ({"solver": "edits", "parameters": {"action": "remove"}}, "action is 'remove', but must be one of add, change"),
    ({"solver": "edits", "parameters": {"edits": 0}}, "edits is 0"),
    ({"solver": "approach", "parameters": {"optimiser": "adm"}}, "solver is 'adm', but must be one of lbfgs"),
    ({"solver": "approach", "parameters": {"passes": 0}}, "passes is 0"),
    ({"solver": "approach", "parameters": {"steps": 5}}, r"but must be a parameter of approach \(optimiser, passes\)"),
    ({"solver": "adm"}, "solver is 'adm', but must be one of lbfgs"),
    ({"parameters": {"momentum": 1}}, "solver parameter is 'momentum', but must be a parameter of paper"),
    ({"parameters": {"steps": 0}}, "steps is 0"),
    ({"family": "round"}, "family is 'round', but must be one of full"),
    ({"law": "gauss"}, "law is 'gauss', but must be one of gaussian"),
    ({"d": 2**24 + 1}, "d is 16777217"), ({"p": 2**31}, "p is 2147483648"), ({"seed": 2**64}, "seed is 1844674"),
    ({"answers": 1}, "answers is 1"), ({"frequencies": "balanced"}, "uniform unless a number of answers is given"),
    ({"answers": 3, "frequencies": (1.0, 2.0)}, "frequencies has 2 numbers, but must have 3"),
    ({"problem": "decoupled", "answers": 3, "hold": "regenerated"}, "hold is 'regenerated'"),
    ({"problem": "groups:2", "hold": "regenerated"}, "hold is .* auto or stored if groups of inputs share outputs"),
    ({"problem": "groups:2", "stored_dtype": "float16"}, "stored_dtype is 'float16', but must be float32 if groups"),
    ({"problem": "groups:0"}, "problem is 'groups:0', but must be one of original, decoupled, groups:g"),
    ({"hold": "kept"}, "hold is 'kept'"), ({"stop": "now"}, "stop is 'now'"), ({"precision": "int8"}, "precision is"),
])  # fmt: skip
def test_what_cannot_be_run_is_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(SPEC, **change)


def test_the_largest_numbers_are_taken():
    spec = replace(SPEC, d=2**24, p=2**31 - 1, seed=2**64 - 1)
    assert Spec.from_identity(spec.identity()) == spec
