"""The report: one file with every figure, what was predicted, what was measured, and what follows from the two."""

from __future__ import annotations

import base64
import math
from html import escape
from importlib.resources import files

from loadstone.studies.kit.comparison import CHANCE, MATTERS, POWER, Comparison, Judgement
from loadstone.studies.kit.sentences import findings
from loadstone.studies.report.numbers import Section
from loadstone.studies.report.opening import statements
from loadstone.studies.report.paper import paper_table

#: Comparisons whose words begin like this are about a threshold.
_THRESHOLDS = ("mean of the proved capacity", "load at which training fails")
_CLASSES = {Judgement.AGREES: "yes", Judgement.DIFFERS: "no", Judgement.CANNOT_TELL: "open"}


def report_page(sections: list[Section], scale: str, version: str) -> str:
    """The report as HTML. The same sections give the same text."""
    frame = (files("loadstone.studies.report") / "report.html").read_text("utf-8")
    comparisons = {section.study.name: section.comparisons for section in sections}
    # Every text is escaped, so none of them can contain a placeholder that is replaced later.
    for mark, text in {
        "OPENING": _opening(sections, comparisons),
        "PAPER": paper_table(comparisons, [section.study.name for section in sections]),
        "SUMMARY": _summary(sections),
        "CONTENTS": "".join(
            f'<li><a href="#{one.study.name}">{escape(one.study.caption.title)}</a></li>' for one in sections
        ),
        "THRESHOLDS": _thresholds(sections),
        "SECTIONS": "".join(_section(one, scale) for one in sections),
        "SCALE": scale,
        "VERSION": escape(version),
        "SCRIPT": (files("loadstone.studies.report") / "report.js").read_text("utf-8"),
    }.items():
        frame = frame.replace(f"<!--{mark}-->", text)
    return frame


def _opening(sections: list[Section], comparisons: dict[str, list[Comparison]]) -> str:
    """The statements, each beside its picture, which leads to its section."""
    pictures = {section.study.name: section for section in sections}
    articles = [
        f'<article><a href="#{name}" aria-label="{name}">{_picture(pictures[name])}</a><p>{escape(words)}</p></article>'
        for name, words in statements(comparisons)
        if name in pictures
    ]
    return "".join(articles) or "<p>None of the figures chosen for this report answers one of its questions.</p>"


def _picture(section: Section) -> str:
    picture = base64.b64encode(section.svg).decode()
    return f'<img src="data:image/svg+xml;base64,{picture}" alt="{escape(section.study.caption.drawn)}">'


def _summary(sections: list[Section]) -> str:
    # Several figures may compare the same number: it counts once.
    numbers = list({one.what: one for section in sections for one in section.comparisons}.values())
    return (
        f"{len(sections)} figures, {len(numbers)} numbers with a prediction: {_counts(numbers)}. A "
        f"number differs if chance alone would give a larger difference in fewer than {CHANCE:.0%} of cases, for all "
        f"numbers of a kind together. It agrees if it does not differ, a difference of {MATTERS:.0%} would have been "
        f"seen in {POWER:.0%} of cases, and the measurement leaves no larger one possible. Otherwise the measurement "
        "cannot tell."
    )


def _counts(comparisons: list[Comparison]) -> str:
    """How many agree, differ, or cannot tell."""
    agree, differ, unclear = (sum(one.verdict == verdict for one in comparisons) for verdict in Judgement)
    return f"{agree} agree, {differ} differ, for {unclear} the measurement cannot tell"


def _thresholds(sections: list[Section]) -> str:
    """The thresholds of all figures, proved and trained, in one table."""
    everything = {one.what: one for section in sections for one in section.comparisons}
    chosen = [one for what, one in everything.items() if what.startswith(_THRESHOLDS)]
    return _table(chosen) if chosen else "<p>None of the figures chosen for this report shows a threshold.</p>"


def _section(section: Section, scale: str) -> str:
    name, caption = section.study.name, section.study.caption
    count = len(section.comparisons)
    verdict = f"{count} numbers beside their prediction: {_counts(section.comparisons)}."
    took = "".join(f", {_span(seconds)} on {escape(device)}" for device, seconds in sorted(section.times.items()))
    runs = f"From {section.runs} runs{took}. " if section.wanted else "Theory only. "
    if section.runs < section.wanted:
        lack = section.wanted - section.runs
        runs += f"<b>{lack} of {section.wanted} runs are missing or diverged, so the figure is not complete.</b> "
    opened = " open" if count <= 12 else ""
    sentences = "".join(f"<li>{escape(one)}</li>" for one in (*findings(section.comparisons), *section.remarks))
    shown = f"<p><b>What was found.</b></p><ul>{sentences}</ul>" if sentences else ""
    judged = f"<details{opened}><summary>{verdict}</summary>{_table(section.comparisons)}</details>"
    return f"""<section id="{name}">
<h2>{escape(caption.title)}</h2>
<figure><button class="enlarge" aria-label="Enlarge {name}">{_picture(section)}</button></figure>
<p><b>What is drawn.</b> {escape(caption.drawn)} {runs}</p>
<p><b>What theory says.</b> {escape(caption.theory)}</p>
{shown}
{judged if count else ""}
<p class="redo">To draw it again: <code>loadstone reproduce {name} --scale {scale}</code>. The numbers that are plotted
are in <code>{name}.json</code>.</p>
</section>
"""


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _table(comparisons: list[Comparison]) -> str:
    head = "<tr><th>what<th>predicted<th>measured<th>standard error<th>difference, in standard errors"
    head += "<th>difference that would have been seen<th>verdict</tr>"
    body = "".join(map(_row, comparisons))
    return f'<div class="wide"><table class="filtered"><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def _row(one: Comparison) -> str:
    verdict = f'<td class="{_CLASSES[one.verdict]}">{escape(one.in_words())}'
    note = f"<br><small>{escape(one.note)}</small>" if one.note and one.verdict == Judgement.DIFFERS else ""
    numbers = "".join(f"<td>{value:.4g}" for value in (one.predicted, one.measured, one.error))
    difference = f"{one.deviations:+.1f}" if math.isfinite(one.deviations) else "beyond any"
    words = f"<td>{escape(one.what)}{note}{numbers}<td>{difference}<td>{one.min_detectable:.2g}{verdict}"
    return f'<tr data-verdict="{one.verdict}">{words}</tr>'
