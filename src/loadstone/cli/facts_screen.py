"""loadstone facts screen: what stands in the way of storing facts, before anything is stored."""

from __future__ import annotations

from typing import Annotated

import typer

from loadstone.arguments import positive
from loadstone.cli.facts_options import (
    ColumnNames,
    FactsFile,
    Phrases,
    VectorsFile,
    WordsFile,
    about,
    described,
    gathered_from,
    say_obstructions,
)  # fmt: skip
from loadstone.cli.options import Json
from loadstone.cli.output import print_json, print_pairs, say


def screen(
    facts: FactsFile,
    vectors: VectorsFile,
    words: WordsFile = None,
    columns: ColumnNames = "subject,object",
    phrases: Phrases = "mean",
    seconds: Annotated[float, typer.Option(help="Most seconds.")] = 20.0,
    json: Json = False,
) -> None:
    """Look for facts that no memory can store, and say which, why, and what to do."""
    positive("seconds", seconds)
    gathered = gathered_from(facts, vectors, words, columns, phrases)
    from loadstone.books.screening import screen as look
    from loadstone.proofs.verdict import in_words

    seen = look(gathered, seconds)
    if json:
        numbers = {"input_rank": seen.input_rank, "output_rank": seen.output_rank, "verdict": seen.verdict.verdict}
        reasons = [described(gathered, reason) for reason in seen.obstructions]
        print_json(about(gathered) | numbers | {"obstructions": reasons, "seconds": seen.verdict.seconds})
        return
    print_pairs(
        f"{facts} with {vectors}",
        {
            "facts": str(len(gathered)),
            "answers": str(len(gathered.answers)),
            "dimension": str(gathered.inputs.shape[1]),
            "directions that the subjects span": str(seen.input_rank),
            "directions that the answers span": str(seen.output_rank),
            "all of them together": str(seen.verdict.verdict),
        },
    )
    say(in_words(seen.verdict))
    say_obstructions(seen.obstructions)
    if not seen.obstructions:
        say("No two subjects or answers are in each other's way.")
