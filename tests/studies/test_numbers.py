"""report.json: everything comes back, and documents have no number that is not in it."""

import json
import math
import re
from pathlib import Path

import pytest

from loadstone.studies.kit.bounds import ABOVE, BoundComparison
from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.counts import count_comparison
from loadstone.studies.registry import STUDIES, study_of
from loadstone.studies.report.claims import CLAIMS, Outcome
from loadstone.studies.report.markdown import results_markdown
from loadstone.studies.report.numbers import Section, by_figure, report_numbers, report_text
from loadstone.studies.report.opening import QUESTIONS, statements
from loadstone.studies.report.paper import paper_markdown

ROOT = Path(__file__).parents[2]
GOOD = Comparison("mean of the proved capacity, decoupled", 39.58, 39.85, 0.386, family="kind", streams="d = 12")
FREE = Comparison("other", 0.0, 0.01, 0.001, 4, "a note", "kind", "d = 20", 2.0, 0.005)
COUNT = count_comparison("count", 0.5, 30, 100, family="counts")
BOUND = BoundComparison("bound", 0.5, 0.8, 0.1, 4, "", "bounds", "d = 12", side=ABOVE)


def made():
    section = Section(study_of("capacity"), b"", 3, 4, [GOOD, FREE, COUNT, BOUND], ["1.5 remarks."])
    return report_numbers([section], "quick", "1")


def test_comparisons_come_back_as_they_were():
    read = json.loads(report_text(made()))
    assert read == made()
    assert by_figure(read) == {"capacity": [GOOD, FREE, COUNT, BOUND]}
    assert [one["detectable"] for one in read["comparisons"]] == pytest.approx(
        [one.min_detectable for one in (GOOD, FREE, COUNT, BOUND)], rel=1e-5
    )
    assert by_figure(read)["capacity"][0].dof == math.inf
    assert read["figures"][0]["remarks"] == ["1.5 remarks."] and read["families"][0]["family"] == "kind"


@pytest.fixture(scope="module")
def shipped():
    return json.loads((ROOT / "results" / "paper" / "report.json").read_text())


def test_the_documents_are_those_of_the_shipped_numbers(shipped):
    """python docs/write.py makes both again."""
    assert (ROOT / "docs" / "results.md").read_text() == results_markdown(shipped)
    assert (ROOT / "docs" / "paper.md").read_text() == paper_markdown(shipped)
    names = [figure["name"] for figure in shipped["figures"]]
    assert names == [name for name in STUDIES if name in names] and len(names) >= 26 and shipped["scale"] == "paper"


def test_tables_of_the_paper_have_as_many_cells_as_their_head(shipped):
    lines = [line for line in paper_markdown(shipped).splitlines() if line.startswith("|")]
    cells = [len(re.findall(r"(?<!\\)\|", line)) - 1 for line in lines]
    assert set(cells) == {6, 3} and cells.count(6) > 40


def test_every_claim_and_question_has_its_numbers(shipped):
    found = by_figure(shipped)
    assert not [claim.says for claim in CLAIMS if claim.outcome(found) == Outcome.NOT_SHOWN]
    assert not [claim.says for claim in CLAIMS if not claim.numbers(found)]
    assert len(statements(found)) == len(QUESTIONS) == 5


def test_statements_and_outcomes_change_with_the_numbers(shipped):
    """The same file with capacities that are 10 % lower says something else."""
    right = results_markdown(shipped)
    wrong = json.loads(json.dumps(shipped))
    for row in wrong["comparisons"]:
        if row["what"].startswith("mean of the proved capacity, decoupled"):
            row["measured"] *= 0.9
    assert "where it is proved? Yes." in right and "where it is proved? No." in results_markdown(wrong)
    assert paper_markdown(wrong).count("**reproduced**") < paper_markdown(shipped).count("**reproduced**")
