"""loadstone facts store: facts into a book, with proof."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from loadstone.arguments import file_name, positive
from loadstone.cli.facts_options import (
    ColumnNames,
    FactsFile,
    Phrases,
    VectorsFile,
    WordsFile,
    about,
    described,
    gathered_from,
    say_what_is_done,
)  # fmt: skip
from loadstone.cli.interrupts import ends_like_an_interrupt
from loadstone.cli.output import print_json, say
from loadstone.files import check_writable


def store(
    facts: FactsFile,
    vectors: VectorsFile,
    out: Annotated[Optional[str], typer.Option(help="File for the book (.safetensors).")] = None,
    words: WordsFile = None,
    columns: ColumnNames = "subject,object",
    phrases: Phrases = "mean",
    family: Annotated[str, typer.Option(help="Linear family of W: full, symmetric, blocks:8...")] = "full",
    seconds: Annotated[float, typer.Option(help="Most seconds, about; then the best W so far is kept.")] = 60.0,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Store facts in a memory; what cannot be stored is named, with the reason."""
    positive("seconds", seconds)
    if out is not None:
        check_writable(file_name("out", out))
    found = gathered_from(facts, vectors, words, columns, phrases)
    from loadstone.books.storing import store as store_facts

    stored = store_facts(found, seconds, family, say_what_is_done)
    book = stored.book
    if out is not None:
        with ends_like_an_interrupt():
            book.save(out)
        say(f"{out}: the book; ask it with loadstone facts recall {out} '{book.subjects[0]}'.")
    failures = stored.failures
    if json:
        numbers = {"stored": int(book.stored.sum()), "proved": stored.proved, "family": family}
        failed = [[one.subject, one.answer, one.rival, one.margin] for one in failures]
        conflict = [found.name(row) for row in stored.conflict.facts] if stored.conflict else []
        words_of = {"impossible": [found.name(row) for row in stored.impossible], "failures": failed}
        words_of |= {"obstructions": [described(found, one) for one in stored.obstructions], "conflict": conflict}
        words_of |= {"conflict_minimal": bool(stored.conflict and stored.conflict.minimal)}
        print_json(about(found) | numbers | words_of | {"seconds": stored.seconds, "out": out})
        return
    proved = " (proved)" if stored.proved else ""
    impossible = f"; {len(stored.impossible)} impossible beside the others" if stored.impossible else ""
    print(f"stored {int(book.stored.sum())} of {len(book)}{proved}{impossible}, in {stored.seconds:.2f} s.")
    for failure in failures[:20]:
        print(f"  {failure.subject} -> {failure.answer} loses to {failure.rival} by {-failure.margin:.3g}")
    if len(failures) > 20:
        print(f"  and {len(failures) - 20} more (--json has them all)")
    for one in stored.obstructions:
        say(f"{one.kind}: {one.statement} What to do: {one.advice}")
    if stored.conflict:
        names = "; ".join(found.name(row) for row in stored.conflict.facts[:12])
        more = f" and {len(stored.conflict.facts) - 12} more" if len(stored.conflict.facts) > 12 else ""
        needed = ", each of them needed for that" if stored.conflict.minimal else ""
        say(f"These facts cannot stand together{needed}: {names}{more}.")
