"""Figures of shipped records, their numbers and what is said about them are what they were."""

import json

import pytest

from tests.studies.from_records import KEPT, SWEEPS, claimed, told
from tests.studies.shown import differences

ADVICE = "if that is meant, run `python -m tests.studies.from_records` and read the diff of from_records.json"


@pytest.mark.parametrize("name", SWEEPS)
def test_a_figure_of_shipped_records_shows_and_says_what_it_did(name):
    found = list(differences(told(name), json.loads(KEPT.read_text())[name], name))
    assert not found, "\n".join([*found[:9], ADVICE])


def test_claims_are_decided_by_what_decided_them():
    assert claimed() == json.loads(KEPT.read_text())["claims"], ADVICE
