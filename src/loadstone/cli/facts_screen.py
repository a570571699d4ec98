"""loadstone facts screen: what stands in the way of storing facts, before anything is stored."""

from __future__ import annotations

from typing import Annotated

import typer

from loadstone.arguments import positive
from loadstone.cli import options
from loadstone.cli.facts_words import about, described, gathered_from, say_obstructions
from loadstone.cli.output import print_json, print_pairs, say


def screen(
    facts: options.FactsFile,
    vectors: options.VectorsFile,
    words: options.WordsFile = None,
    columns: options.ColumnNames = "subject,object",
    phrases: options.Phrases = "mean",
    seconds: Annotated[float, typer.Option(help="Most seconds.")] = 20.0,
    json: options.Json = False,
) -> None:
    """Look for facts that no memory can store, and say which, why, and what to do."""
    positive("seconds", seconds)
    gathered = gathered_from(facts, vectors, words, columns, phrases)
    from loadstone.books.screening import screen as screened

    result = screened(gathered, seconds)
    known, verdict = about(gathered), result.verdict
    if json:
        numbers = {"input_rank": result.input_rank, "output_rank": result.output_rank, "verdict": verdict.verdict}
        reasons = [described(gathered, reason) for reason in result.obstructions]
        print_json(known | numbers | {"obstructions": reasons, "seconds": verdict.seconds})
        return
    rows = {
        "facts": known["facts"], "answers": known["answers"], "dimension": known["d"],
        "directions that the subjects span": result.input_rank, "directions that the answers span": result.output_rank,
        "all of them together": verdict.verdict,
    }  # fmt: skip
    print_pairs(f"{facts} with {vectors}", {name: str(value) for name, value in rows.items()})
    say(verdict.reason)
    say_obstructions(result.obstructions)
    if not result.obstructions:
        say("No two subjects or answers are in each other's way.")
