"""docs/results.md from a report.json: every number in it comes from there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loadstone.studies.kit.comparison import CHANCE, MATTERS, POWER
from loadstone.studies.report.numbers import by_figure
from loadstone.studies.report.opening import statements
from loadstone.studies.report.paper import plain

#: Kinds with at most this many numbers have a table of them.
_MOST_ROWS = 12


def results_markdown(numbers: Mapping[str, Any]) -> str:
    """The whole page."""
    head = f"""# What agrees with theory, and what does not

Made by `python docs/write.py` from [results/paper/report.json](../results/paper/report.json), at the scale
'{numbers["scale"]}'; do not edit it here. `loadstone reproduce --scale paper --from-shipped` makes that file again from
the shipped records, without a GPU. What the numbers do not say by themselves is in [measured.md](measured.md); the
paper's claims, one by one, are in [paper.md](paper.md).

A number **differs** if chance alone would give a larger difference in fewer than {CHANCE:.0%} of cases, corrected
(Holm) for all numbers of its kind. It **agrees within x %** if it does not differ, if a difference of {MATTERS:.0%}
would have been seen with probability {POWER:g}, and if x, the largest difference that the measurement leaves possible,
is not larger than that. Otherwise the measurement **cannot tell**. An inequality **holds** if the number lies on the
right side of its bound by more than chance gives in {CHANCE:.0%} of cases. All numbers of a kind are also judged
together, streams that share their random numbers counted once. Errors of the last digits are in brackets. Predictions
are for the size and the rank that were run and have no free parameter, unless they say so.

## In five statements
"""
    body = [head, *(f"1. {plain(one.words)}" for one in statements(by_figure(numbers))), ""]
    body += ["## What would have been noticed", *(f"- {one}" for one in numbers["sensitivity"]), ""]
    for figure in numbers["figures"]:
        body.append(_figure(figure, [row for row in numbers["comparisons"] if row["figure"] == figure["name"]]))
    return "\n".join(body)


def _figure(figure: Mapping[str, Any], rows: list[Mapping[str, Any]]) -> str:
    name = figure["name"]
    title, drawn, theory = (plain(figure[word]) for word in ("title", "drawn", "theory"))
    lines = [f"## {name}", f"**{title}.** {drawn}", "", theory, ""]
    runs = f"From {figure['runs']} of {figure['wanted']} runs." if figure["wanted"] else "Theory only."
    lines += [f"{runs} Picture: [results/paper/{name}.png](../results/paper/{name}.png).", ""]
    lines += [f"- {plain(one)}" for one in (*figure["findings"], *figure["remarks"])]
    if 0 < len(rows) <= _MOST_ROWS:
        lines += ["", "| what | predicted | measured | standard error | verdict |", "|---|---|---|---|---|"]
        lines += [_row(row) for row in rows]
    return "\n".join(lines) + "\n"


def _row(row: Mapping[str, Any]) -> str:
    numbers = " | ".join(f"{row[name]:.4g}" for name in ("predicted", "measured", "error"))
    return f"| {plain(row['what'])} | {numbers} | {row['in_words']} |"
