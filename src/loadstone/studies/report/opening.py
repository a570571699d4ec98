"""The five statements with which the report opens: each follows from a few kinds of comparisons."""

from __future__ import annotations

from typing import NamedTuple

from loadstone.studies.kit.comparison import Comparison, Judgement
from loadstone.studies.kit.sentences import findings
from loadstone.studies.report.claims import ByFigure


class Question(NamedTuple):
    """What a reader wants to know, the picture that answers it, and the kinds of comparisons that do."""

    asks: str
    figure: str
    kinds: tuple[str, ...]


class Statement(NamedTuple):
    """The answer to a question, and its picture."""

    figure: str
    words: str


QUESTIONS: tuple[Question, ...] = (
    Question("Is the number of facts that can be stored the predicted one, where it is proved?", "capacity",
             ("mean of the proved capacity, decoupled",)),
    Question("Does L-BFGS store as much at full rank, with separate and with shared outputs?", "law",
             ("associations that L-BFGS stores, decoupled, kappa = 1",
              "associations that L-BFGS stores, original, kappa = 1")),
    Question("Do shared outputs store as much as separate ones at these sizes, as the paper conjectures for large d?",
             "shift", ("mean capacity, original",)),
    Question("Does the threshold fall to 1/2 as the paper says, with slope -1?", "finite-size",
             ("slope of the threshold beside the paper's -1", "slope of the threshold beside the exact law")),
    Question("Are the scores at capacity those of the theory?", "capacity",
             ("mean of the target's score at the proved capacity, decoupled",
              "mean of the target's score at the proved capacity, original")),
)  # fmt: skip


def statements(by_figure: ByFigure) -> list[Statement]:
    """One statement for each question of which the report has numbers."""
    answers = []
    for question in QUESTIONS:
        answering = [one for one in by_figure.get(question.figure, ()) if one.family in question.kinds]
        if answering:
            answers.append(Statement(question.figure, f"{question.asks} {_answer(answering)}"))
    return answers


def _answer(comparisons: list[Comparison]) -> str:
    verdicts = [one.verdict for one in comparisons]
    differ, agree = verdicts.count(Judgement.DIFFERS), verdicts.count(Judgement.AGREES)
    if not differ:
        short = "Yes" if agree else "The measurements cannot tell"
    else:
        short = "Not everywhere" if agree else "No"
    return f"{short}. {' '.join(one[0].upper() + one[1:] for one in findings(comparisons))}"
