"""report.json: every number of the report, and every sentence that follows from them.

It has the keys scale, version, figures, sensitivity, comparisons and families. Documents take their numbers from this
file alone (studies/report/markdown.py, studies/report/paper.py).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from loadstone.studies.kit.bounds import BoundComparison
from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.kit.counts import CountComparison
from loadstone.studies.kit.multiple_tests import family_tests
from loadstone.studies.kit.sensitivity import in_words
from loadstone.studies.kit.sentences import findings
from loadstone.studies.kit.study import Study

#: Digits of a number in the file: far more than any measurement here has.
_DIGITS = 6


@dataclass(frozen=True)
class Section:
    """One figure of the report."""

    #: The study.
    study: Study
    #: The picture as it was written.
    svg: bytes
    #: How many runs it shows.
    runs: int
    #: How many runs its sweep has.
    wanted: int
    #: Its measured numbers beside their predictions.
    comparisons: list[Comparison]
    #: Sentences about its rows that no comparison makes.
    remarks: list[str] = field(default_factory=list)
    #: Seconds that its runs took, by device.
    times: dict[str, float] = field(default_factory=dict)


def report_numbers(sections: Sequence[Section], scale: str, version: str) -> dict[str, Any]:
    """The report as plain data."""
    figures, comparisons, families = [], [], []
    for section in sections:
        name = section.study.name
        figures.append(
            {"name": name} | asdict(section.study.caption) | {"runs": section.runs, "wanted": section.wanted}
            | {"seconds": section.times, "findings": findings(section.comparisons), "remarks": section.remarks}
        )  # fmt: skip
        comparisons += [_without_empty(one.as_row()) | {"figure": name} for one in section.comparisons]
        families += [one.as_row() | {"figure": name} for one in family_tests(section.comparisons)]
    # Several figures may have the same number: it counts once.
    once = list({one.what: one for section in sections for one in section.comparisons}.values())
    numbers = {"scale": scale, "version": version, "figures": figures, "sensitivity": in_words(once)}
    return _rounded(numbers | {"comparisons": comparisons, "families": families})


def report_text(numbers: Mapping[str, Any]) -> str:
    """The file, one comparison a line, so that versions of it can be compared."""
    lists = {name: value for name, value in numbers.items() if isinstance(value, list)}
    head = json.dumps({name: value for name, value in numbers.items() if name not in lists})[:-1]
    body = [f'"{name}": [\n{_lines(value)}\n]' for name, value in lists.items()]
    return head + ",\n" + ",\n".join(body) + "}\n"


def by_figure(numbers: Mapping[str, Any]) -> dict[str, list[Comparison]]:
    """The comparisons of each figure of a report.json."""
    comparisons: dict[str, list[Comparison]] = {figure["name"]: [] for figure in numbers["figures"]}
    for row in numbers["comparisons"]:
        comparisons[row["figure"]].append(_comparison(row))
    return comparisons


def _comparison(row: Mapping[str, Any]) -> Comparison:
    kind = CountComparison if "cases" in row else BoundComparison if "side" in row else Comparison
    known = {field.name: row[field.name] for field in fields(kind) if field.name in row} | {"dof": row["freedom"]}
    # JSON has no infinity: None stands for it, except as the scale, where it means the prediction itself.
    values: dict[str, Any] = {name: math.inf if x is None and name != "scale" else x for name, x in known.items()}
    return kind(**values)


def _without_empty(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without an empty note, kind or scale: the file comes with every checkout."""
    return {name: value for name, value in row.items() if value != "" and not (name == "scale" and value is None)}


def _lines(values: list[object]) -> str:
    return ",\n".join(json.dumps(value, allow_nan=False) for value in values)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, Mapping):
        return {name: _rounded(item) for name, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, (list, tuple)) else value
