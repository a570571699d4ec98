"""loadstone facts recall: ask a book."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from loadstone.arguments import whole
from loadstone.cli import options
from loadstone.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from loadstone.books.book import Book


def recall(
    book: options.BookFile,
    subjects: Annotated[list[str], typer.Argument(help="What to ask; - reads one subject a line.")],
    top: Annotated[int, typer.Option(help="How many answers.")] = 1,
    json: options.Json = False,
) -> None:
    """Ask a book for the answers to subjects. Exit code 1 if one of them is not in it."""
    whole("top", top, 1)
    from loadstone.books.book import open_book

    opened = open_book(book)
    names = list(_lines()) if subjects == ["-"] else subjects
    rows, unknown = [], []
    for subject in names:
        try:
            rows += _rows(opened, subject, top)
        except KeyError as error:
            unknown.append(subject)
            say(str(error.args[0]))
    if json:
        print_json({"book": book, "answers": rows, "unknown": unknown})
    elif rows:
        print_table(book, rows)
    if unknown:
        raise typer.Exit(1)


def _lines() -> Iterator[str]:
    """The names on standard input, one a line, however its lines end."""
    try:
        for number, line in enumerate(sys.stdin):
            if name := (line.removeprefix("\ufeff") if number == 0 else line).strip():
                yield name
    except UnicodeDecodeError as error:
        raise ValueError("standard input is not UTF-8 text: send it as UTF-8.") from error


def _rows(book: Book, subject: str, top: int) -> list[dict[str, object]]:
    row = book.row(subject)
    recalled = book.recall(subject, top)
    # Measured here and now, whatever the file says.
    stored = recalled[0].answer == book.answers[book.targets[row]] and recalled[0].margin > 0
    return [
        {
            "subject": book.subjects[row],
            "answer": one.answer,
            "score": one.score,
            "margin": one.margin,
            "stored": stored,
        }
        for one in recalled
    ]
