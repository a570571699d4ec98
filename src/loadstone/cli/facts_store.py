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
    conflict_in_words,
    described,
    gathered_from,
    say_obstructions,
    say_what_is_done,
)  # fmt: skip
from loadstone.cli.interrupts import ends_like_an_interrupt
from loadstone.cli.options import Json
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
    json: Json = False,
) -> None:
    """Store facts in a memory; what cannot be stored is named, with the reason."""
    positive("seconds", seconds)
    if out is not None:
        check_writable(file_name("out", out))
    gathered = gathered_from(facts, vectors, words, columns, phrases)
    from loadstone.books.storing import store as store_facts

    stored = store_facts(gathered, seconds, family, say_what_is_done)
    book = stored.book
    if out is not None:
        with ends_like_an_interrupt():
            book.save(out)
        say(f"{out}: the book; ask it with loadstone facts recall {out} '{book.subjects[0]}'.")
    failures = stored.failures
    if json:
        numbers = {"stored": int(book.stored.sum()), "proved": stored.proved, "family": book.family}
        failed = [[failure.subject, failure.answer, failure.rival, failure.margin] for failure in failures]
        conflict = [gathered.name(row) for row in stored.conflict.facts] if stored.conflict else []
        words_of = {"impossible": [gathered.name(row) for row in stored.impossible], "failures": failed}
        reasons = [described(gathered, reason) for reason in stored.obstructions]
        words_of |= {"obstructions": reasons, "conflict": conflict}
        words_of |= {"conflict_minimal": bool(stored.conflict and stored.conflict.minimal)}
        print_json(about(gathered) | numbers | words_of | {"seconds": stored.seconds, "out": out})
        return
    proved = " (proved)" if stored.proved else ""
    impossible = f"; {len(stored.impossible)} impossible beside the others" if stored.impossible else ""
    print(f"stored {int(book.stored.sum())} of {len(book)}{proved}{impossible}, in {stored.seconds:.2f} s.")
    for failure in failures[:20]:
        print(f"  {failure.subject} -> {failure.answer} loses to {failure.rival} by {-failure.margin:.3g}")
    if len(failures) > 20:
        print(f"  and {len(failures) - 20} more (--json has them all)")
    say_obstructions(stored.obstructions)
    if stored.conflict:
        names = [gathered.name(row) for row in stored.conflict.facts]
        say(conflict_in_words(names, stored.conflict.minimal, most=12))
