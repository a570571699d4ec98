"""Every formula gives the numbers that it gave, with all their digits."""

import json
from importlib import import_module
from inspect import isfunction
from pathlib import Path

import pytest

import loadstone.theory
from tests.theory.values import FORMULAS, ITERATED, KEPT, LOOSE, TOLERANCE, calls, differences, values

ADVICE = "if that is meant, run `python -m tests.theory.values` and read the diff of values.json"
#: Parts of others that stand in FORMULAS, and what only refuses arguments.
PARTS = {"log_all_alone", "memories_seen", "facts_that_fit", "words_of_families", "words_of_a_margin",
         "words_of_frequencies", "words_of_a_law_far_off", "question_of", "smallest_dimension", "checked_margin",
         "checked_margins",
         "joint_log_density", "nearest_query", "accuracy", "finite_accuracy", "project_on_list", "quarter_circle",
         "at_capacity", "initial_full", "initial_factored"}  # fmt: skip


@pytest.mark.parametrize("name", sorted({name for name, *_ in calls()}))
def test_a_formula_gives_what_it_gave(name):
    then, tolerance = json.loads(KEPT.read_text())[name], LOOSE if name in ITERATED else TOLERANCE
    found = list(differences(values(name), then, tolerance))
    assert not found, "\n".join([*found[:9], ADVICE])


def test_every_formula_is_among_them():
    public = set()
    for file in Path(loadstone.theory.__file__).parent.glob("[a-z]*.py"):
        home = import_module(f"loadstone.theory.{file.stem}")
        own = {one.__name__ for one in vars(home).values() if isfunction(one) and one.__module__ == home.__name__}
        public |= {name for name in own if name[0] != "_"} if file.stem != "checks" else set()
    assert public - {formula.__name__ for formula in FORMULAS} == PARTS
