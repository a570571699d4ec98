"""loadstone facts budget: how full a book is, and how many of further facts fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from loadstone.arguments import positive, refuse, whole
from loadstone.cli import options
from loadstone.cli.facts_words import conflict_in_words, counted, gathered_from, say_progress
from loadstone.cli.output import print_json, print_pairs, say

if TYPE_CHECKING:
    from loadstone.books.budget import BookBudget
    from loadstone.books.further import FurtherFacts
    from loadstone.books.shuffled import Control
    from loadstone.theory.given_facts import Law


def budget(
    book: options.BookFile,
    more: Annotated[Optional[str], typer.Option(help="Further facts: how many fit beside the stored ones?")] = None,
    vectors: Annotated[Optional[str], typer.Option(help="Their vectors; default: those of the book.")] = None,
    words: options.WordsFile = None,
    columns: options.ColumnNames = "subject,object",
    phrases: options.Phrases = "mean",
    shuffles: Annotated[int, typer.Option(help="How often to shuffle the answers for the control.")] = 3,
    seconds: Annotated[float, typer.Option(help="Most seconds, about; then bounds are given.")] = 60.0,
    json: options.Json = False,
) -> None:
    """Show how full a book is: by the law, by a shuffled control and, with --more, exactly for further facts."""
    positive("seconds", seconds)
    whole("shuffles", shuffles, 0)
    if more is None and vectors is not None:
        raise refuse("vectors", vectors, "left out without --more: a book has the vectors of its words")
    from loadstone.books.book import open_book
    from loadstone.books.budget import budget_of

    opened = open_book(book)
    further = None
    if more is not None:
        further = gathered_from(more, vectors or opened.vectors(), words, columns, phrases, least_answers=1)
    full = budget_of(opened, further, seconds, shuffles, say_progress)
    if json:
        print_json({"book": book, "family": opened.family} | full.described())
        return
    rows = law_rows(full.law) | control_rows(full.shuffled) | more_rows(full.more)
    print_pairs(f"{book}: {full.stored} of {counted(full.facts, 'fact', 'facts')} stored", rows)
    for sentence in (*full.law.caveats, *control_words(full), *more_words(full.more)):
        say(sentence)


def law_rows(law: Law) -> dict[str, str]:
    """Rows on what the law predicts for random facts."""
    dimensions = f"{law.input_dimensions}, {law.output_dimensions}"
    rows = {"answers": str(law.answers), "dimensions of subjects and answers": dimensions}
    if law.capacity is None:
        return rows | {"random facts that fit, by the law": "not known"}
    error = f" ({law.capacity_error:.0f})" if law.capacity_error else ""
    rows[f"random facts that fit, by the law{', at most' if law.is_bound else ''}"] = f"{law.capacity:.0f}{error}"
    if law.with_new_answers is not None:
        rows["  if every further fact has an answer of its own"] = str(law.with_new_answers)
    rows[f"load, stored / fitting{', at least' if law.is_bound else ''}"] = f"{law.load:.3f}"
    if law.probability is not None:
        rows["probability that so many random facts fit"] = f"{law.probability:.4g}"
    return rows


def control_rows(control: Control | None) -> dict[str, str]:
    """Rows on how many facts fit if their answers are shuffled."""
    if control is None:
        return {}
    least, most = control.structure
    fits = f"at least {control.fits:.0f}" if control.most is None else between(control.fits, control.most)
    if least is None:
        structure = "not known" if most is None else f"at most {most:.3g}"
    else:
        structure = f"at least {least:.3g}" if most is None else between(least, most)
    return {"shuffled facts that fit": fits, "structure, stored / shuffled": structure}


def more_rows(more: FurtherFacts | None) -> dict[str, str]:
    """A row on how many further facts fit."""
    if more is None:
        return {}
    fitting = more.fitting
    least = f"{fitting.fits}" if fitting.is_exact else f"{fitting.fits} to {fitting.most}"
    proved = " (proved)" if fitting.is_exact and more.proved else ""
    return {"further facts that fit": f"{least} of {fitting.count}{proved}"}


def control_words(full: BookBudget) -> list[str]:
    """Sentences on what the control means."""
    control = full.shuffled
    if control is None:
        return []
    often = counted(len(control.counted), "time", "times")
    words = [f"Shuffled control: {control.facts} stored facts, their answers dealt out at random, {often}."]
    if all(shuffle.fits == shuffle.count for shuffle in control.counted):
        words.append(
            "All of them fit even so. These vectors have room for more than there are facts, so how much structure the "
            "facts have cannot be seen: no further facts can be made of the same vectors."
        )
    elif full.stored == full.facts:
        words.append("Every fact is stored, so more of this kind may fit: their structure is worth at least this.")
    else:
        words.append(
            "Not every fact is stored, and what stays out was chosen so that much fits. The choice, not "
            "structure, is worth a part of the factor."
        )
    if not control.is_decided:
        words.append("Not all of the control was decided in this time: more --seconds give closer bounds.")
    return words


def more_words(more: FurtherFacts | None) -> list[str]:
    """Sentences on what stands in the way of further facts."""
    if more is None:
        return []
    words = []
    if more.known:
        words.append(f"{counted(more.known, 'of the further facts is', 'of the further facts are')} stored already.")
    if more.first_out:
        words.append(f"The first that does not fit beside all before it: {more.first_out}.")
    if more.conflict:
        words.append(conflict_in_words(more.conflict, more.conflict_minimal))
    if not more.fitting.is_exact:
        words.append("Not all of the further facts were decided in this time: more --seconds give closer bounds.")
    if not more.proved:
        words.append("That the book's facts are stored is not proved, so it may be that nothing fits beside them.")
    return words


def between(low: float, high: float) -> str:
    """Two numbers with a few digits, or one if they look the same."""
    first, last = (f"{value:.0f}" if value >= 100 else f"{value:.3g}" for value in (low, high))
    return first if first == last else f"{first} to {last}"
