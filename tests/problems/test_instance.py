"""An instance is the first associations of a stream, however it is asked for: as arrays, as a problem, as a file."""

import numpy as np
import pytest

from loadstone.problems.decoupled import Regenerated, Stored
from loadstone.problems.instance import Instance
from loadstone.problems.instance_files import read_instance
from loadstone.problems.padded import Padded
from loadstone.problems.spread import Spread
from loadstone.solvers.decide import decide
from loadstone.solvers.margin import maximum_margin
from loadstone.space.sample import sample
from loadstone.streams.stream import Stream

STREAM = Stream(3, 5)
KINDS = ["original", "decoupled", "groups:3"]
ASKED = [{}, {"answers": 4, "frequencies": "zipf:1"}]


def same(one, other):
    for name in ("inputs", "outputs", "targets"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asked", ASKED, ids=["own outputs", "answers"])
def test_its_arrays_are_those_of_its_problem_and_of_its_file(kind, asked, tmp_path):
    instance = Instance(STREAM, 9, kind=kind, **asked)
    same(instance.arrays(), instance.problem().arrays())
    instance.write(tmp_path / "one.npz")
    same(instance.arrays(), read_instance(tmp_path / "one.npz"))
    assert instance.competitors == instance.arrays().outputs.shape[-2] and instance.d == 5


@pytest.mark.parametrize("kind, rows", [("decoupled", 4), ("groups:3", 2), ("groups:6", 4)])
def test_outputs_are_written_a_few_associations_at_a_time(kind, rows, tmp_path, monkeypatch):
    """Neither the groups nor the associations are a multiple of how many are written at a time."""
    instance = Instance(STREAM, 9, kind=kind)
    monkeypatch.setattr("loadstone.problems.instance._PIECE", rows * 4 * 9 * 5)
    instance.write(tmp_path / "one.npz")
    same(instance.arrays(), read_instance(tmp_path / "one.npz"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asked", ASKED, ids=["own outputs", "answers"])
def test_fewer_associations_are_slices_of_more(kind, asked):
    longer = Instance(STREAM, 20, kind=kind, **asked)
    longer.arrays()
    for p in (12, 30, 2):
        fewer = longer.first(p)
        assert (fewer.p, fewer.stream, fewer.kind, fewer.answers) == (p, STREAM, kind, longer.answers)
        same(fewer.arrays(), Instance(STREAM, p, kind=kind, **asked).arrays())
    assert np.shares_memory(longer.first(12).arrays().inputs, longer.first(30).arrays().inputs)
    assert not np.shares_memory(longer.without_arrays().arrays().inputs, longer.arrays().inputs)


def test_what_is_equal_and_what_is_remembered():
    one = Instance(STREAM, 9, kind="groups:1", answers=4, frequencies=[1, 1, 2, 3])
    assert one == Instance(
        STREAM, 9, kind="original", answers=4, frequencies=(1.0, 1.0, 2.0, 3.0)
    ) and one != one.first(8)
    one.arrays()
    assert one == one.without_arrays() and hash(one) == hash(one.without_arrays()) and "Arrays" not in repr(one)


@pytest.mark.parametrize("kind", KINDS)
def test_a_verdict_a_margin_and_a_sample_take_it_as_it_is(kind):
    instance = Instance(STREAM, 6, kind=kind)
    assert decide(instance).verdict == "storable" and decide(instance.first(30)).verdict == "not storable"
    assert maximum_margin(instance).margin == maximum_margin(instance.arrays()).margin
    sampled = [sample(one, 2, steps=20, with_volume=False).mixing for one in (instance, instance.arrays())]
    assert sampled[0] == sampled[1]


def test_how_a_problem_is_held():
    decoupled = Instance(STREAM, 8, kind="decoupled")
    assert isinstance(decoupled.problem(hold="regenerated"), Regenerated)
    halves = decoupled.problem(hold="stored", stored_dtype="float16")
    assert isinstance(halves, Stored) and halves.parts[0].dtype == np.float16
    assert isinstance(decoupled.problem(devices=1), Spread)
    for kind in ("original", "decoupled"):
        padded = Instance(STREAM, 8, kind=kind).problem(rows=12)
        assert isinstance(padded, Padded) and padded.inputs.shape == (12, 5) and padded.associations == 8
        same(padded.arrays(), Instance(STREAM, 8, kind=kind).arrays())


def test_facts_beyond_the_first_repeat_them():
    for kind in KINDS:
        instance = Instance(STREAM, 8, kind=kind, answers=4, frequencies="zipf:1")
        arrays, longer = instance.arrays(), instance.problem(rows=12).arrays()
        np.testing.assert_array_equal(longer.inputs, np.resize(arrays.inputs, (12, 5)))
        np.testing.assert_array_equal(longer.targets, np.resize(arrays.targets, 12))


def test_what_is_said_of_it():
    said = {"problem": "decoupled", "d": 5, "p": 8, "seed": 3, "law": "gaussian"}
    assert Instance(STREAM, 8, kind="decoupled").about() == said
    more = {"answers": 4, "frequencies": "balanced"}
    assert Instance(STREAM, 8, kind="decoupled", answers=4, frequencies="balanced").about() == said | more


@pytest.mark.parametrize("change, sentence", [
    ({"p": 1}, "p is 1, but must be a whole number of at least 2"), ({"kind": "both"}, "kind is 'both'"),
    ({"answers": 1}, "answers is 1"), ({"frequencies": "balanced"}, "uniform unless a number of answers is given"),
])  # fmt: skip
def test_what_is_no_instance_is_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        Instance(**{"stream": STREAM, "p": 8} | change)
    with pytest.raises(ValueError, match="devices is 2, but must be left out for groups:3: only original"):
        Instance(STREAM, 8, kind="groups:3").problem(devices=2)
