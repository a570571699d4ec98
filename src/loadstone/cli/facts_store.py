"""loadstone facts store: store facts in a book, with proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from loadstone.arguments import positive
from loadstone.cli import options
from loadstone.cli.facts_words import (
    about,
    conflict_in_words,
    described,
    described_failures,
    gathered_from,
    say_obstructions,
    say_progress,
)
from loadstone.cli.interrupts import ends_like_an_interrupt
from loadstone.cli.output import print_json, print_line, say

if TYPE_CHECKING:
    from loadstone.books.gathered import Gathered
    from loadstone.books.storing import Stored

#: At most this many facts that are not stored are printed; --json has them all.
_SHOWN = 20


def store(
    facts: options.FactsFile,
    vectors: options.VectorsFile,
    out: Annotated[Optional[str], typer.Option(help="File for the book (.safetensors).")] = None,
    words: options.WordsFile = None,
    columns: options.ColumnNames = "subject,object",
    phrases: options.Phrases = "mean",
    family: Annotated[str, typer.Option(help="Linear family of W: full, symmetric, blocks:8...")] = "full",
    seconds: Annotated[float, typer.Option(help="Most seconds, about; then the best W so far is kept.")] = 60.0,
    json: options.Json = False,
) -> None:
    """Store facts in a memory; what cannot be stored is named, with the reason."""
    positive("seconds", seconds)
    options.checked_file(out)
    gathered = gathered_from(facts, vectors, words, columns, phrases)
    from loadstone.books.storing import store as store_facts

    stored = store_facts(gathered, seconds, family, say_progress)
    book = stored.book
    if out is not None:
        with ends_like_an_interrupt():
            book.save(out)
        say(f"{out}: the book; ask it with loadstone facts recall {out} '{book.subjects[0]}'.")
    if json:
        print_json(_record(gathered, stored) | {"out": out})
    else:
        _print(gathered, stored)


def _record(gathered: Gathered, stored: Stored) -> dict[str, object]:
    book, conflict = stored.book, stored.conflict
    return about(gathered) | {
        "stored": int(book.stored.sum()), "proved": stored.proved, "family": book.family,
        "impossible": [gathered.name(row) for row in stored.impossible],
        "failures": described_failures(stored.failures),
        "obstructions": [described(gathered, reason) for reason in stored.obstructions],
        "conflict": [gathered.name(row) for row in conflict.facts] if conflict else [],
        "conflict_minimal": bool(conflict and conflict.minimal), "seconds": stored.seconds,
    }  # fmt: skip


def _print(gathered: Gathered, stored: Stored) -> None:
    book, failures = stored.book, stored.failures
    proved = " (proved)" if stored.proved else ""
    impossible = f"; {len(stored.impossible)} impossible beside the others" if stored.impossible else ""
    print_line(f"stored {int(book.stored.sum())} of {len(book)}{proved}{impossible}, in {stored.seconds:.2f} s.")
    for failure in failures[:_SHOWN]:
        print_line(f"  {failure.subject} -> {failure.answer} loses to {failure.rival} by {-failure.margin:.3g}")
    if len(failures) > _SHOWN:
        print_line(f"  and {len(failures) - _SHOWN} more (--json has them all)")
    say_obstructions(stored.obstructions)
    if stored.conflict:
        names = [gathered.name(row) for row in stored.conflict.facts]
        say(conflict_in_words(names, stored.conflict.minimal, most=12))
