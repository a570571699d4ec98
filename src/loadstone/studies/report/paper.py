"""The paper, claim by claim: the same rows as Markdown (docs/paper.md) and in the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from loadstone.studies.report.claims import CLAIMS, MISPRINTS, ByFigure, Claim, Outcome
from loadstone.studies.report.numbers import by_figure

_HEAD = ("where", "the paper says", "outcome", "what was found", "figure", "to see it again")
_CLASSES = {Outcome.REPRODUCED: "yes", Outcome.TREND: "yes", Outcome.CHECKED: "yes", Outcome.DIFFERS: "no"}


def paper_markdown(numbers: Mapping[str, Any]) -> str:
    """docs/paper.md from a report.json."""
    comparisons = by_figure(numbers)
    lines = [
        "# The paper, claim by claim",
        "",
        "Made by `python docs/write.py` from [results/paper/report.json](../results/paper/report.json); do not edit it",
        "here. The claims and what tests them are in `studies/report/claims.py`. A claim **differs** if any of",
        "its numbers does, alone or as a kind; it is **reproduced** if none does and at least one agrees. A claim",
        "about large d that is tested as a trend with d can have the **right trend**, no more. What sharper tests",
        "find, which the paper does not claim, is told beside and does not decide. When numbers agree or differ is",
        f"explained in [results.md](results.md). {summary(comparisons)}",
        "",
        f"| {' | '.join(_HEAD)} |",
        f"|{'---|' * len(_HEAD)}",
    ]
    lines += [f"| {' | '.join(_cells(claim, comparisons))} |" for claim in CLAIMS]
    lines += ["", "## Misprints", "", "| where | printed | right |", "|---|---|---|"]
    lines += [f"| {plain(one.place)} | {plain(one.printed)} | {plain(one.right)} |" for one in MISPRINTS]
    return "\n".join(lines) + "\n"


def summary(comparisons: ByFigure) -> str:
    """How many claims came to what."""
    count = Counter(claim.outcome(comparisons) for claim in CLAIMS)
    return f"Of {len(CLAIMS)} claims: {', '.join(f'{count[one]} {one}' for one in Outcome if count[one])}."


def paper_table(comparisons: ByFigure, shown: Sequence[str]) -> str:
    """The rows as HTML; links lead to the figures that the report shows."""
    head = "".join(f"<th>{name}" for name in _HEAD)
    body = "".join(_html(claim, comparisons, shown) for claim in CLAIMS)
    misprints = "".join(
        f"<tr><td>{escape(one.place)}<td>{escape(one.printed)}<td>{escape(one.right)}</tr>" for one in MISPRINTS
    )
    return (
        f'<p>{summary(comparisons)}</p><div class="wide"><table class="words filtered"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div><details><summary>Misprints of the paper</summary>"
        f'<div class="wide"><table class="words"><thead><tr><th>where<th>printed<th>right</tr></thead>'
        f"<tbody>{misprints}</tbody></table></div></details>"
    )


def _cells(claim: Claim, comparisons: ByFigure) -> list[str]:
    command = f"`{claim.command}`" if claim.command else ""
    figure = f"[{claim.figure}](results.md#{claim.figure})" if claim.figure else ""
    said = " ".join(_sentence(plain(one)) for one in claim.numbers(comparisons))
    return [plain(claim.place), plain(claim.says), f"**{claim.outcome(comparisons)}**", said, figure, command]


def _html(claim: Claim, comparisons: ByFigure, shown: Sequence[str]) -> str:
    outcome = claim.outcome(comparisons)
    figure = f'<a href="#{claim.figure}">{claim.figure}</a>' if claim.figure in shown else escape(claim.figure)
    said = "".join(f"<li>{escape(_sentence(one))}</li>" for one in claim.numbers(comparisons))
    command = f"<code>{escape(claim.command)}</code>" if claim.command else ""
    mark = f'<td class="{_CLASSES.get(outcome, "open")}">{outcome}'
    cells = f"<td>{escape(claim.place)}<td>{escape(claim.says)}{mark}<td><ul>{said}</ul><td>{figure}<td>{command}"
    return f'<tr data-verdict="{outcome}">{cells}</tr>'


def _sentence(words: str) -> str:
    words = words[0].upper() + words[1:]
    return words if words.endswith(".") else f"{words}."


def plain(words: str) -> str:
    """Text that Markdown leaves as it is."""
    return words.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
