"""loadstone facts edit: add, change and remove facts of a book, and see which facts are lost."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from loadstone.cli import options
from loadstone.cli.facts_words import (
    counted,
    described_failures,
    named_columns,
    say_averaged,
    say_missing,
    say_obstructions,
    say_progress,
)
from loadstone.cli.interrupts import ends_like_an_interrupt
from loadstone.cli.output import print_json, print_line, say
from loadstone.files import Version, version_of

if TYPE_CHECKING:
    from loadstone.books.editing import Edited

#: At most this many facts are printed; --json has them all.
_SHOWN = 20


def edit(
    book: options.BookFile,
    changes: Annotated[str, typer.Argument(help="Like facts; a third column may say add, change or remove.")],
    out: Annotated[Optional[str], typer.Option(help="File for the new book (.safetensors).")] = None,
    method: Annotated[str, typer.Option(help="refit (a new search), rank-one (ROME) or batch (MEMIT).")] = "refit",
    vectors: Annotated[Optional[str], typer.Option(help="Vectors of words that the book does not hold.")] = None,
    words: options.WordsFile = None,
    columns: options.ColumnNames = "subject,object",
    phrases: options.Phrases = "mean",
    old: Annotated[Optional[float], typer.Option(help="batch: weight of an old fact relative to an edit.")] = None,
    seconds: Annotated[float, typer.Option(help="Most seconds of a refit, about.")] = 60.0,
    json: options.Json = False,
) -> None:
    """Add, change and remove facts of a book, and name the old facts that are lost."""
    options.checked_file(out)
    replaced = _replaced(book, out)
    from loadstone.books.book import open_book
    from loadstone.books.editing import edit as edit_book

    edited = edit_book(
        open_book(book), changes, method, vectors, named_columns(columns), phrases, words, seconds, old, say_progress
    )
    say_averaged(edited.averaged)
    if edited.left_out:
        say_missing(edited.missing, counted(len(edited.left_out), "change is", "changes are"))
    if edited.method == "refit" and not edited.proved:
        say("Not everything was decided in time: with more --seconds, more facts may be kept.")
    if out is not None:
        with ends_like_an_interrupt():
            edited.book.save(out, replacing=replaced)
        say(f"{out}: the new book.")
    if json:
        print_json(_record(edited) | {"out": out})
        return
    _print(edited)
    if out is None:
        say("The new book was not written: name a file with --out.")


def _replaced(book: str, out: str | None) -> Version | None:
    """The version of the book that is edited in place, so that another edit of it meanwhile is noticed."""
    if out is None or not os.path.exists(book) or not os.path.exists(out) or not os.path.samefile(book, out):
        return None
    return version_of(book)


def _record(edited: Edited) -> dict[str, object]:
    book = edited.book
    reasons = [
        {"kind": reason.kind, "statement": reason.statement, "advice": reason.advice} for reason in edited.obstructions
    ]
    return {
        "method": edited.method, "edits": len(edited.taken) + len(edited.missed),
        "taken": list(map(str, edited.taken)), "missed": list(map(str, edited.missed)),
        "lost": described_failures(edited.lost), "kept": edited.kept, "gained": list(edited.gained),
        "impossible": list(edited.impossible), "proved": edited.proved, "obstructions": reasons, "facts": len(book),
        "answers": len(book.answers), "d": len(book.weights), "stored": int(book.stored.sum()),
        "averaged": list(edited.averaged), "out_of_vocabulary": list(edited.missing),
        "left_out": list(map(str, edited.left_out)), "seconds": edited.seconds,
    }  # fmt: skip


def _print(edited: Edited) -> None:
    edits, old = len(edited.taken) + len(edited.missed), edited.kept + len(edited.lost)
    proved = " (proved)" if edited.proved else ""
    took = f"took {len(edited.taken)} of {counted(edits, 'edit', 'edits')}"
    lost = f"lost {len(edited.lost)} of {counted(old, 'old fact', 'old facts')}"
    print_line(f"{took}, {lost}{proved}, by {edited.method} in {edited.seconds:.2f} s.")
    for change in edited.missed[:_SHOWN]:
        print_line(f"  not taken: {change}")
    for failure in edited.lost[:_SHOWN]:
        print_line(f"  lost: {failure.subject} -> {failure.answer}, to {failure.rival} by {-failure.margin:.3g}")
    for name in edited.gained[:_SHOWN]:
        print_line(f"  stored now: {name}")
    if max(map(len, (edited.missed, edited.lost, edited.gained))) > _SHOWN:
        print_line("  and more (--json has them all)")
    say_obstructions(edited.obstructions)
