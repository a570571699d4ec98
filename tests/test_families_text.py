"""A family of memories has one name and one spelling, for theory, for memories and on the command line."""

import os
import subprocess
import sys

import numpy as np
import pytest

from loadstone.families_text import FamilyText, family_name, family_text, text_of_family
from loadstone.memories.families import FAMILIES, check_family, family_in_records, initial_memory, told_dimension
from loadstone.memories.low_rank import LowRank
from loadstone.memories.subspaces.masked import Blocks, Diagonal
from loadstone.theory.families import FAMILIES as FORMULAS
from loadstone.theory.families import statistical_dimension

NAMES = {"rank": ("m",), "blocks": ("count",), "full": (), "two": ("first", "second")}
#: The parameter of each family in an example; those that are not here have none.
EXAMPLE = {"rank": 3, "masked": 0.5, "blocks": 2, "rounded": 2, "relu": 8, "gelu": 8, "attention": 8, "pruned": 0.5}
#: Families that only memories know, and why theory does not.
ONLY_MEMORIES = {
    "given": "a subspace in a file, which tells its own dimension",
    "relu": "not linear: nothing is known", "gelu": "the same", "attention": "the same",
    "rounded": "few bits an entry: another law, theory/bits.py",
}  # fmt: skip
#: Families that only theory knows, and why no memory starts in them.
ONLY_THEORY = {"pruned": "the solver 'pruning' ends there, from a full memory: its mask is chosen by training"}


def example(name):
    return f"{name}:{EXAMPLE[name]}" if name in EXAMPLE else name


@pytest.mark.parametrize("text, expected, in_records", [
    ("blocks:8", "blocks:8", "blocks:count=8"), ("blocks:count=8", "blocks:8", "blocks:count=8"),
    ("full", "full", "full"), ("full:", "full", "full"), ("two:1,x", "two:1,x", "two:first=1,second=x"),
    ("two:second=0.5", "two:second=0.5", "two:second=0.5"),
    ("two:second=2, first=1", "two:1,2", "two:first=1,second=2"),
    ("rank:25", "rank:25", "rank:m=25"), ("low rank:25", "rank:25", "rank:m=25"),
    ("low rank", "rank", "low rank"), ("rank", "rank", "low rank"),
])  # fmt: skip
def test_both_spellings_are_read_and_one_is_written(text, expected, in_records):
    read = family_text(text, NAMES.__getitem__)
    assert str(read) == expected and read.in_records() == in_records and read.name == family_name(text)
    assert family_text(in_records, NAMES.__getitem__) == read == family_text(expected, NAMES.__getitem__)


def test_a_family_that_is_given_as_a_value_has_the_same_text():
    assert str(text_of_family("blocks", Blocks(4))) == "blocks:4"
    assert str(text_of_family("diagonal", Diagonal())) == "diagonal"
    assert text_of_family("blocks", Blocks(4)) == FamilyText("blocks", ("count",), {"count": 4})


@pytest.mark.parametrize("text, sentence", [
    ("full:2", "family is 'full:2', but must be full with no parameters"),
    ("full:m=2", "family parameter is 'm', but must be left out: full has no parameters"),
    ("blocks:size=2", r"family parameter is 'size', but must be a parameter of blocks \(count\)"),
    ("low rank:1,2", "family is 'rank:1,2', but must be rank with at most 1 parameters"),
])  # fmt: skip
def test_what_is_no_text_of_a_family_is_refused(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        family_text(text, NAMES.__getitem__)


def test_theory_and_memories_know_the_same_families_or_it_is_said_why_not():
    assert set(FAMILIES) - set(FORMULAS) == set(ONLY_MEMORIES) and set(FORMULAS) - set(FAMILIES) == set(ONLY_THEORY)
    for name in set(FAMILIES) & set(FORMULAS) - {"rank"}:
        written = statistical_dimension(example(name), 12).family
        assert written == check_family(example(name), 1.0, 12)[0] == example(name)
        for spelling in (family_in_records(written), written):  # with the name of the parameter, and without
            assert statistical_dimension(spelling, 12).family == written == check_family(spelling, 1.0, 12)[0]
    for name in ONLY_MEMORIES.keys() - {"given"}:
        with pytest.raises(ValueError, match="one whose statistical dimension is known"):
            statistical_dimension(example(name), 12)


def test_a_rank_is_said_by_its_number_or_by_the_rank_fraction():
    for memory in (
        initial_memory(12, family="rank:3"), initial_memory(12, family="rank:m=3"),
        initial_memory(12, 0.25, family="rank"), initial_memory(12, 0.25, family="low rank"), initial_memory(12, 0.25),
    ):  # fmt: skip
        assert isinstance(memory, LowRank) and memory.rank == 3
        np.testing.assert_array_equal(memory.left, initial_memory(12, 0.25).left)
    assert isinstance(initial_memory(12, family="rank"), LowRank) and initial_memory(12, family="rank").rank == 12
    assert check_family("rank:3", 1.0, 12) == ("full", 0.25) and check_family("rank:12", 1.0, 12) == ("rank", 1.0)
    assert check_family("low rank", 1.0, 12) == ("rank", 1.0) and family_in_records("rank") == "low rank"
    for d in (7, 20, 50, 100, 4096):  # m / d is the rank fraction that means m
        assert all(initial_memory(d, check_family(f"rank:{m}", 1.0, d)[1]).rank == m for m in (1, d // 3, d - 1))
    for family, kappa, sentence in (
        ("rank:3", 0.5, "kappa is 0.5, but must be 1 for the family 'rank:3', which says its rank itself"),
        ("rank:13", 1.0, "m is 13, but must be a whole number of at least 1 and at most 12"),
        ("rank:2.5", 1.0, "m is 2.5, but must be a whole number"),
    ):
        with pytest.raises(ValueError, match=sentence):
            check_family(family, kappa, 12)


def test_a_subspace_tells_its_dimension_and_agrees_with_the_formula_where_there_is_one():
    for name in ("symmetric", "traceless", "skew", "blocks:3", "circulant", "diagonal"):
        for directions in (1, 2, 5, 9):
            told = told_dimension(name, 9, directions)
            formula = statistical_dimension(name, 9, directions=directions)
            assert (told.family, told.delta, told.is_linear) == (name, formula.delta, True)
    with pytest.raises(ValueError, match="one of at most 2000 dimensions .here 2080. with so few answers"):
        told_dimension("symmetric", 64, 5)
    assert told_dimension("symmetric", 64, 64).delta == 2080 and told_dimension("octonion", 9, 9) is None


def test_a_subspace_in_a_file_is_predicted(tmp_path):
    np.save(tmp_path / "mask.npy", np.eye(6) + np.eye(6, k=1))
    np.save(tmp_path / "basis.npy", np.random.default_rng(0).standard_normal((7, 6, 6)))
    assert statistical_dimension(f"masked:{tmp_path / 'mask.npy'}", 6).delta == 11
    found = statistical_dimension(f"given:{tmp_path / 'basis.npy'}", 6)
    assert found.delta == found.faces.fixed == 7 and not found.bound


def test_theory_has_its_own_formulas_without_memories():
    """Its agreement with what memories store is evidence only if it does not come from them."""
    names = [example(name) for name in FORMULAS]
    program = (
        "import sys; from loadstone.theory.families import statistical_dimension\n"
        f"for name in {names}: statistical_dimension(name, 12)\n"
        "assert not [name for name in sys.modules if name.startswith(('loadstone.memories', 'jax.'))]"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=dict(os.environ))
