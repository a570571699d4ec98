"""Keys: one for each run that differs, the same for the same run, for good."""

import json
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.runs.record import canonical
from loadstone.runs.spec import Spec
from loadstone.solvers.gradient import Optax, Paper
from loadstone.tasks import TASKS
from loadstone.tasks.bits import WAYS
from loadstone.tasks.edits import ACTIONS, METHODS

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


#: Values that some parameter of a task or solver may have, by its name; others are numbers, by the type of the default.
WORDS = {
    "optimiser": ["lbfgs", "adam:0.1", "pruning:0.25,16"], "method": METHODS, "action": ACTIONS, "way": WAYS,
    "enough": ["exact", "99%"], "digits": ["auto", "float32"], "bits": [1, 2, 8], "warmup": [0, 32],
}  # fmt: skip


def some_value(field):
    if field.name in WORDS:
        return st.sampled_from(WORDS[field.name])
    return {bool: st.booleans(), int: st.integers(33, 99), float: st.floats(0.01, 1)}[type(field.default)]


@st.composite
def some_spec(draw, name):
    """A spec of this task or solver with any of its parameters."""
    kind = type(Spec("original", 20, 85, solver=name).settings)
    chosen = [field for field in fields(kind) if field.init] if is_dataclass(kind) else []
    parameters = {field.name: draw(some_value(field)) for field in chosen if draw(st.booleans())}
    problem = draw(st.sampled_from(["original"] if name == "edits" else ["original", "decoupled", "groups:8"]))
    sizes = {"d": draw(st.integers(4, 99)), "p": draw(st.integers(4, 999)), "seed": draw(st.integers(0, 2**64 - 1))}
    rules = {"stop": draw(st.sampled_from(["paper", "exact"])), "law": draw(st.sampled_from(["gaussian", "sphere"]))}
    answers = draw(st.sampled_from([{}, {"answers": 9}, {"answers": 3, "frequencies": (0.5, 0.25, 0.25)}]))
    given = answers if name != "approach" else {}
    return Spec(problem, solver=name, parameters=parameters, **sizes, **rules, **given), parameters


@pytest.mark.parametrize("name", [*TASKS, "paper", "lbfgs", "adam", "sgd", "hebbian", "perceptron"])
@settings(max_examples=20)
@given(data=st.data())
def test_any_run_comes_back_from_its_record_with_its_key(name, data):
    spec, parameters = data.draw(some_spec(name))
    again = Spec.from_identity(json.loads(canonical(spec.identity())))
    assert again == spec and again.key == spec.key and again.identity() == spec.identity()
    # With its defaults said or not it is the same run; anything else and another seed enter the key.
    said = {name: getattr(spec.settings, name) for name in parameters}
    assert replace(spec, parameters=dict(reversed(said.items()))).key == spec.key
    plain = replace(spec, parameters=())
    assert dict(spec.parameters) == {name: one for name, one in said.items() if one != getattr(plain.settings, name)}
    assert (spec.key == plain.key) == (not spec.parameters)
    assert replace(spec, seed=(spec.seed + 1) % 2**64).key != spec.key


@pytest.mark.parametrize("wrong", [{"meaning": 0}, {"more": 1}, {"d": 10**30}])
def test_an_identity_of_another_version_is_refused(wrong):
    with pytest.raises(ValueError, match="was written by a version|does not describe a run|d is 1000"):
        Spec.from_identity(SPEC.identity() | wrong)
    with pytest.raises(ValueError, match="does not describe a run"):
        Spec.from_identity({"d": 3})


def test_adam_is_optax_s_and_the_protocol_of_the_paper_is_paper():
    """Records go on to call the protocol 'adam'."""
    protocol, adam = Spec("original", 20, 85), Spec("original", 20, 85, solver="adam")
    assert isinstance(protocol.settings, Paper) and isinstance(adam.settings, Optax)
    assert protocol.identity()["solver"] == "adam" and adam.identity()["solver"] == {"name": "adam"}
    assert "paper, seed 0" in str(protocol) and "adam, seed 0" in str(adam)


def test_what_does_not_matter_does_not_change_the_key():
    assert replace(SPEC, kappa=1).key == SPEC.key
    assert replace(SPEC, problem="groups:1") == SPEC
    assert replace(SPEC, problem="groups:08").key == replace(SPEC, problem="groups:8").key
    hebbian = replace(SPEC, solver="hebbian")
    assert replace(hebbian, stop="exact", precision="float16") == hebbian


def test_an_optimiser_is_named_in_one_way_and_runs_in_their_own_words():
    adam = replace(SPEC, solver="approach", parameters={"optimiser": "adam:0.1"})
    assert adam.identity()["solver"] == {"name": "approach", "optimiser": "adam:learning_rate=0.1"}
    assert adam == replace(SPEC, solver="approach", parameters={"optimiser": "adam:learning_rate=0.1"}, stop="exact")
    assert str(adam) == "original, d = 20, p = 85, approach of adam:learning_rate=0.1, seed 3"
    edits = replace(SPEC, solver="edits", parameters={"method": "batch", "edits": 5})
    assert str(edits) == "original, d = 20, p = 85, 5 edits (add) by batch, seed 3"
    spec = Spec("groups:2", 20, 85, 3, answers=5, kappa=0.5, family="full")
    assert str(spec) == "groups:2, d = 20, p = 85, 5 answers, kappa = 0.5, paper, seed 3"
    assert str(Spec("original", 20, 85, family="symmetric")) == "original, d = 20, p = 85, symmetric, paper, seed 0"


def test_how_many_passes_a_run_takes_at_most():
    passes = {name: Spec("original", 20, 85, solver=name).passes for name in ("paper", "lbfgs", "hebbian", "margin")}
    assert passes == {"paper": 513, "lbfgs": 2000, "hebbian": 1, "margin": 1}


def test_the_identity_of_a_spec_says_what_differs():
    """Byte for byte, because the key is made of it."""
    spec = Spec("original", 20, 85, solver="adam", stop="exact", precision="float16", family="symmetric", answers=4)
    assert spec.identity() == {
        "problem": "original", "d": 20, "p": 85, "seed": 0, "law": "gaussian", "kappa": 1.0, "stored_dtype": "float32",
        "form": "auto", "meaning": 1, "solver": {"name": "adam"}, "family": "symmetric", "answers": 4, "stop": "exact",
        "precision": "float16",
    }  # fmt: skip
    paper = Spec("original", 20, 85).identity()
    assert paper["protocol"]["stop"] == "paper" and paper["protocol"]["steps"] == 512
    alone = [Spec("original", 20, 85, solver=name).identity()["solver"] for name in ("hebbian", "reach", "margin")]
    tables = [Spec("original", 20, 85, solver=name).identity()["solver"] for name in ("sgd", "edits", "space", "bits")]
    assert alone == ["hebbian", "reach", "margin"]
    assert tables == [{"name": "sgd"}, {"name": "edits"}, {"name": "space"}, {"name": "bits"}]


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
    ({"solver": "approach", "answers": 5}, "answers is 5, but must be None for an approach to the capacity"),
    ({"solver": "approach", "family": "symmetric"}, "must be 1 and full for an approach to the capacity"),
    ({"solver": "space", "family": "psd"}, "must be 1 and full or linear for sampling, which needs a linear family"),
    ({"solver": "space", "kappa": 0.5}, "kappa is 0.5 .* linear for sampling"),
    ({"solver": "space", "parameters": {"chains": 1}}, "chains is 1"),
    ({"solver": "space", "parameters": {"volume": 1}}, "volume is 1, but must be True or False"),
    ({"solver": "capacity", "family": "psd"}, "family 'psd', but must be 1 and full or linear for an exact capacity"),
    ({"solver": "pruning", "family": "symmetric"}, "must be 1 and full for pruning, which begins with all entries"),
    ({"solver": "bits", "kappa": 0.5}, "must be 1 and full for rounding"),
    ({"solver": "bits", "parameters": {"bits": 0}}, "bits is 0"),
    ({"solver": "bits", "parameters": {"way": "mean"}}, "way is 'mean', but must be one of largest margin, centre"),
    ({"solver": "reach", "parameters": {"steps": 5}}, "solver parameter is 'steps', but must be a parameter of reach"),
    ({"d": 0}, "d is 0"), ({"p": 1}, "p is 1"), ({"seed": -1}, "seed is -1"), ({"kappa": 1.1}, "kappa is 1.1"),
    ({"hold": "kept"}, "hold is 'kept'"), ({"stop": "now"}, "stop is 'now'"), ({"precision": "int8"}, "precision is"),
])  # fmt: skip
def test_what_cannot_be_run_is_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(SPEC, **change)


def test_the_largest_numbers_are_taken():
    spec = replace(SPEC, d=2**24, p=2**31 - 1, seed=2**64 - 1)
    assert Spec.from_identity(spec.identity()) == spec
