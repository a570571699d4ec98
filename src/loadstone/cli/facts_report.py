"""loadstone facts report: a book as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loadstone.arguments import positive, whole
from loadstone.cli import options
from loadstone.cli.facts_words import say_progress
from loadstone.cli.interrupts import ends_like_an_interrupt
from loadstone.cli.output import say
from loadstone.files import write_whole


def report(
    book: options.BookFile,
    out: Annotated[str, typer.Option(help="The HTML file to write.")] = "facts.html",
    shuffles: Annotated[int, typer.Option(help="How often to shuffle the answers for the control; 0: not at all.")] = 1,
    seconds: Annotated[float, typer.Option(help="Most seconds for the control, about.")] = 20.0,
) -> None:
    """Write a page about a book: how full it is, margins, every fact, conflicts. It needs no network."""
    positive("seconds", seconds)
    whole("shuffles", shuffles, 0)
    options.checked_file(out)
    from loadstone.books.book import open_book
    from loadstone.books.budget import budget_of
    from loadstone.books.report import report_of
    from loadstone.pages.facts import facts_page

    opened = open_book(book)
    budget = budget_of(opened, None, seconds, shuffles, say_progress)
    # The name of a file need not be text.
    page = facts_page(Path(book).name, report_of(opened, budget)).encode("utf-8", "replace")
    with ends_like_an_interrupt():
        write_whole(out, lambda file: file.write(page))
    say(f"Written: {out}. Open it in a browser.")
