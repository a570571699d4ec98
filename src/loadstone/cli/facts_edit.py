"""loadstone facts edit: add, change and remove facts of a book, and see what that costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from loadstone.arguments import file_name
from loadstone.cli.facts_options import (
    BookFile,
    ColumnNames,
    Phrases,
    WordsFile,
    counted,
    named_columns,
    say_averaged,
    say_missing,
    say_obstructions,
    say_what_is_done,
)  # fmt: skip
from loadstone.cli.interrupts import ends_like_an_interrupt
from loadstone.cli.options import Json
from loadstone.cli.output import print_json, say
from loadstone.files import check_writable

if TYPE_CHECKING:
    from loadstone.books.editing import Edited

#: So many facts are named; --json has them all.
_SHOWN = 20


def edit(
    book: BookFile,
    changes: Annotated[str, typer.Argument(help="Like facts; a third column may say add, change or remove.")],
    out: Annotated[Optional[str], typer.Option(help="File for the new book (.safetensors).")] = None,
    method: Annotated[str, typer.Option(help="refit (a new search), rank-one (ROME) or batch (MEMIT).")] = "refit",
    vectors: Annotated[Optional[str], typer.Option(help="Vectors of words that the book does not hold.")] = None,
    words: WordsFile = None,
    columns: ColumnNames = "subject,object",
    phrases: Phrases = "mean",
    old: Annotated[Optional[float], typer.Option(help="batch: weight of an old fact beside an edit.")] = None,
    seconds: Annotated[float, typer.Option(help="Most seconds of a refit, about.")] = 60.0,
    json: Json = False,
) -> None:
    """Add, change and remove facts; which old facts that loses is said by name."""
    if out is not None:
        check_writable(file_name("out", out))
    from loadstone.books.book import open_book
    from loadstone.books.editing import edit as edit_book

    opened = open_book(book)
    done = edit_book(
        opened, changes, method, vectors, named_columns(columns), phrases, words, seconds, old, say_what_is_done
    )
    say_averaged(done.averaged)
    if done.left_out:
        say_missing(done.missing, counted(len(done.left_out), "change is", "changes are"))
    if done.method == "refit" and not done.proved:
        say("Not everything was decided in time: with more --seconds, more facts may be kept.")
    if out is not None:
        with ends_like_an_interrupt():
            done.book.save(out)
        say(f"{out}: the new book.")
    if json:
        print_json(_described(done) | {"out": out})
        return
    _print(done)
    if out is None:
        say("The new book was not written: name a file with --out.")


def _described(done: Edited) -> dict[str, object]:
    book = done.book
    lost = [[failure.subject, failure.answer, failure.rival, failure.margin] for failure in done.lost]
    keys = ("kind", "statement", "advice")
    reasons = [{key: getattr(reason, key) for key in keys} for reason in done.obstructions]
    return {
        "method": done.method, "edits": len(done.taken) + len(done.missed), "taken": list(map(str, done.taken)),
        "missed": list(map(str, done.missed)), "lost": lost, "kept": done.kept, "gained": list(done.gained),
        "impossible": list(done.impossible), "proved": done.proved, "obstructions": reasons, "facts": len(book),
        "answers": len(book.answers), "d": len(book.weights), "stored": int(book.stored.sum()),
        "averaged": list(done.averaged), "out_of_vocabulary": list(done.missing),
        "left_out": list(map(str, done.left_out)), "seconds": done.seconds,
    }  # fmt: skip


def _print(done: Edited) -> None:
    edits, old = len(done.taken) + len(done.missed), done.kept + len(done.lost)
    proved = " (proved)" if done.proved else ""
    took = f"took {len(done.taken)} of {counted(edits, 'edit', 'edits')}"
    lost = f"lost {len(done.lost)} of {counted(old, 'old fact', 'old facts')}"
    print(f"{took}, {lost}{proved}, by {done.method} in {done.seconds:.2f} s.")
    for change in done.missed[:_SHOWN]:
        print(f"  not taken: {change}")
    for one in done.lost[:_SHOWN]:
        print(f"  lost: {one.subject} -> {one.answer}, to {one.rival} by {-one.margin:.3g}")
    for name in done.gained[:_SHOWN]:
        print(f"  stored now: {name}")
    if max(map(len, (done.missed, done.lost, done.gained))) > _SHOWN:
        print("  and more (--json has them all)")
    say_obstructions(done.obstructions)
