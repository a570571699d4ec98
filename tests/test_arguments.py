"""Which values are taken, which are refused, and in what words."""

import math
from fractions import Fraction

import numpy as np
import pytest

from loadstone.arguments import choice, file_name, positive, rank_fraction, refuse, whole
from loadstone.cli.options import MOST_ASSOCIATIONS, MOST_DIMENSION, associations_from
from tests.arguments_of import refusals


def test_whole_numbers_keep_their_bounds():
    assert [whole("n", value, 2, 4) for value in (2, 3, 4, np.int8(3))] == [2, 3, 4, 3]
    assert type(whole("n", np.int64(3), 2)) is int and whole("n", 10**400, 2) == 10**400
    for bad in (1, 5, 2.0, True, "3", None, math.nan, np.float64(3)):
        with pytest.raises(ValueError, match="^n is .*, but must be a whole number of at least 2 and at most 4[.]$"):
            whole("n", bad, 2, 4)
    with pytest.raises(ValueError, match="^n is 1, but must be a whole number of at least 2[.]$"):
        whole("n", np.int64(1), 2)


def test_positive_numbers():
    assert [positive("x", value) for value in (1e-320, 1, 1e308, Fraction(1, 2))] == [1e-320, 1.0, 1e308, 0.5]
    assert type(positive("x", np.float32(0.5))) is float
    for bad in (0, -0.0, -1, math.nan, math.inf, -math.inf, 10**400, True, "1", None, 1j, Fraction(1, 10**400)):
        with pytest.raises(ValueError, match="^x is .*, but must be a finite number above 0[.]$"):
            positive("x", bad)


def test_rank_fractions():
    assert [rank_fraction("kappa", value) for value in (1e-320, 0.5, 1, np.float32(1))] == [1e-320, 0.5, 1.0, 1.0]
    for bad in (0, -0.0, 1.0000001, -1, math.nan, math.inf, 10**400, True, "1", None, Fraction(1, 10**400)):
        with pytest.raises(ValueError, match=r"^kappa is .*, but must be a number in \(0, 1\][.]$"):
            rank_fraction("kappa", bad)


def test_choices_and_names_of_files():
    assert choice("word", "b", ("a", "b")) == "b" and file_name("out", " a") == " a"
    for bad in ("c", "", None, 3, ["a"], np.zeros(3), "a, b"):
        with pytest.raises(ValueError, match="(?s)^word is .*, but must be one of a, b[.]$"):
            choice("word", bad, ("a", "b"))
    for bad in ("", " ", "\t\n", "a\0b"):
        with pytest.raises(ValueError, match="^out is .*, but must be the name of a file[.]$"):
            file_name("out", bad)


def test_long_values_are_cut():
    assert str(refuse("x", "a" * 298, "short")) == f"x is '{'a' * 298}', but must be short."
    assert str(refuse("x", "a" * 299, "short")) == f"x is '{'a' * 299}... (301 characters), but must be short."
    assert str(refuse("x", 10**5000, "short")) == "x is a number of thousands of digits, but must be short."


def test_sizes_through_the_load():
    assert associations_from(7, None, 10) == 7 and associations_from(None, 0.5, 10) == 17
    assert associations_from(MOST_ASSOCIATIONS, None, MOST_DIMENSION) == MOST_ASSOCIATIONS == 2**31 - 1
    assert associations_from(None, 2 * math.log(2) / 9, 3) == 2  # the least
    for p, load, d, sentence in (
        (None, None, 3, "give either"), (4, 0.5, 3, "give either"), (1, None, 3, "p is 1"),
        (2**31, None, 3, "p is 2147483648"), (4, None, 0, "d is 0"), (4, None, 2**24 + 1, "d is 16777217"),
        (None, 0.01, 3, "it gives p = 1 at d = 3"), (None, 1e6, 2**14, "at most 2147483647: it gives p = "),
        (None, 1e30, 2**24, "small enough for at most 1e.15 associations"), (None, math.nan, 3, "load is nan"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=sentence):
            associations_from(p, load, d)


def test_public_functions_say_which_argument_is_wrong_and_what_is_allowed():
    """Some three hundred arguments that are numbers or names, each given a word without meaning."""
    said = list(refusals())
    assert len(said) > 240
    vague = {(function.rpartition(".")[2], name) for function, name, words in said
             if "'a word'" not in words or "must be" not in words}  # fmt: skip
    # Their callers check these; a name of frequencies may also be that of a file.
    assert vague <= {("InBlocks", "batch"), ("facts_capacity", "d"), ("counting_bound", "bits"),
                     ("predict_facts", "frequencies")}  # fmt: skip
