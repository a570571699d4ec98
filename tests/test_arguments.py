"""Each validator takes what its sentence says is allowed, in plain type, and refuses the rest by name and value."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import loadstone
from loadstone.arguments import choice, file_name, positive, rank_fraction, rank_of, refuse, whole
from loadstone.former_names import FORMER
from tests.arguments_of import refusals
from tests.public_calls import NOT_CALLED, WRONG, answer, calls, wrong_calls

NUMBERS = st.one_of(
    st.integers(), st.integers(-5, 5), st.floats(), st.fractions(), st.floats(0, 2), st.integers(0, 9).map(np.int8),
    st.floats(width=32).map(np.float32), st.sampled_from([10**400, Fraction(1, 10**400), 1e-320, -0.0]),
)  # fmt: skip
NO_NUMBERS = st.one_of(
    st.booleans(), st.none(), st.text(max_size=9), st.complex_numbers(), st.lists(st.integers(), max_size=2),
    st.just(np.zeros(3)),
)  # fmt: skip
VALUES = NUMBERS | NO_NUMBERS


def taken(value, allowed, kind, check, sentence):
    """A value that is allowed is taken, as a value of this plain type; any other is refused in this sentence."""
    if allowed:
        assert check(value) == kind(value) and type(check(value)) is kind
        return
    with pytest.raises(ValueError) as refusal:
        check(value)
    plain = int(value) if isinstance(value, np.integer) else value
    assert str(refusal.value) in {str(refuse("some name", shown, sentence)) for shown in (value, plain)}
    assert str(refusal.value).startswith("some name is ") and str(refusal.value).endswith(f", but must be {sentence}.")


def is_number(value):
    return isinstance(value, (int, float, Fraction, np.number)) and not isinstance(value, (bool, np.complexfloating))


def as_float(value):
    try:
        return float(value)
    except OverflowError:
        return math.inf


@given(VALUES, st.integers(-3, 3), st.none() | st.integers(0, 5))
@example(np.float64(3), 2, None)
@example(2, 2, 0)
@example(4, 2, 2)
def test_whole_numbers_keep_their_bounds(value, least, further):
    most = None if further is None else least + further
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    allowed = is_whole and least <= value and (most is None or value <= most)
    upper = "" if most is None else f" and at most {most}"
    sentence = f"a whole number of at least {least}{upper}"
    taken(value, allowed, int, lambda one: whole("some name", one, least, most), sentence)


@given(VALUES)
@example(math.inf)
@example(5e-324)
def test_positive_numbers_are_finite_and_above_zero(value):
    allowed = is_number(value) and 0 < as_float(value) < math.inf
    taken(value, allowed, float, lambda one: positive("some name", one), "a finite number above 0")


@given(VALUES)
@example(1)
@example(math.nextafter(1, 2))
def test_rank_fractions_lie_in_0_to_1(value):
    allowed = is_number(value) and 0 < as_float(value) <= 1
    taken(value, allowed, float, lambda one: rank_fraction("some name", one), "a number in (0, 1]")


@given(st.sampled_from(["a", "b", "c", "", "a, b"]) | VALUES, st.permutations(["a", "b"]))
def test_a_choice_is_one_of_the_words(value, words):
    allowed = isinstance(value, str) and value in words
    taken(value, allowed, str, lambda one: choice("some name", one, tuple(words)), f"one of {', '.join(words)}")


@given(st.text(" \t\n\0ab", max_size=4))
def test_a_name_of_a_file_has_letters_and_no_zero_byte(value):
    allowed = re.fullmatch(r"[^\0]*[ab][^\0]*", value)
    taken(value, allowed, str, lambda one: file_name("some name", one), "the name of a file")


@given(st.floats(1e-6, 1), st.integers(1, 10**6))
def test_a_rank_is_the_nearest_to_kappa_d_and_at_least_one(kappa, d):
    m = rank_of(kappa, d)
    assert 1 <= m <= d and (m == 1 or abs(m - kappa * d) <= 0.5)


def test_long_values_are_cut():
    assert str(refuse("x", "a" * 298, "short")) == f"x is '{'a' * 298}', but must be short."
    assert str(refuse("x", "a" * 299, "short")) == f"x is '{'a' * 299}... (301 characters), but must be short."
    assert str(refuse("x", 10**5000, "short")) == "x is a number of thousands of digits, but must be short."


def test_public_functions_say_which_argument_is_wrong_and_what_is_allowed():
    """Each argument that is a number or a name is given a word without meaning."""
    said = list(refusals())
    assert len(said) > 240
    vague = {(function.rpartition(".")[2], name) for function, name, words in said
             if "'a word'" not in words or "must be" not in words}  # fmt: skip
    # Their callers check these; a name of frequencies may also be that of a file.
    inner = {"chi_square_nodes", "component_nodes", "directions_shown", "given_facts_law", "whole_part",
             "words_of_impossible_facts", "words_of_pairs"}  # fmt: skip
    assert {(function, name) for function, name in vague if function not in inner} <= {
        ("InBlocks", "batch"), ("facts_capacity", "d"), ("counting_bound", "bits"), ("predict_facts", "frequencies"),
    }  # fmt: skip


#: A function that is called with what it does not take raises an error of its own.
OWN_ERRORS = {("progress", "a class"), ("progress", "a function")}
#: Values of every sort; the others are tried with them in `make soak`.
FEW = {"None", "a word", "nan", "-1", "2**70", "a list", "an object", "a cube", "datetime64", "masked", "many digits"}
#: Arguments that refuse some values in the words of Python.
VAGUE = {
    ("largest_margin", "delta"), ("remember", "columns"), ("remember", "pairs"), ("remember", "vectors"),
}  # fmt: skip


@pytest.fixture(scope="module")
def in_a_folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("files"))
        yield


@pytest.mark.usefixtures("in_a_folder")
def test_public_functions_take_what_is_right():
    for call, right in calls().values():
        call(**right)


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize("values", [FEW, pytest.param(WRONG.keys() - FEW, marks=pytest.mark.soak)])
def test_what_is_wrong_is_refused_by_the_name_of_its_argument(values):
    """Every public function with each of its arguments of a kind, a size or a shape that it does not take."""
    tried = [call for call in wrong_calls() if call[2] in values and call[1:] not in OWN_ERRORS]
    assert len(tried) > 2500
    said = {call: words for call in tried if (words := answer(*call))}
    assert {call: words for call, words in said.items() if (call[0].rpartition(".")[2], call[1]) not in VAGUE} == {}


def test_every_public_function_is_tried():
    names = {home[1] for home in loadstone._HOMES.values()} | {home.rpartition(".")[2] for home in FORMER.values()}
    same = {"margin_codimension", "train"}  # old and short names of others
    tried = {name.rpartition(".")[2] for name in calls()}
    assert names - tried - NOT_CALLED - same == set()
