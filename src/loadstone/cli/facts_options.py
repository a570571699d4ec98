"""What the commands about a person's own facts have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from loadstone.arguments import refuse
from loadstone.cli.output import reading_bar, say

if TYPE_CHECKING:
    from loadstone.books.gathered import Gathered
    from loadstone.books.screening import Obstruction
    from loadstone.books.vectors import Source

FactsFile = Annotated[str, typer.Argument(help="Facts: .csv, .tsv, .jsonl or .parquet, one fact a line.")]
VectorsFile = Annotated[
    str, typer.Option(help="Vectors: text of GloVe or word2vec, .bin, .npz (words, vectors), .npy or .safetensors.")
]
WordsFile = Annotated[Optional[str], typer.Option(help="Words of an .npy or .safetensors file, one a line.")]
ColumnNames = Annotated[str, typer.Option(help="The two columns, as in country,capital.")]
BookFile = Annotated[str, typer.Argument(help="The book that loadstone facts store wrote.")]
Phrases = Annotated[str, typer.Option(help="Names without a vector: mean (of the vectors of their words) or exact.")]


def gathered_from(
    facts: str, vectors: Source, words: str | None, columns: str, phrases: str, least_answers: int = 2
) -> Gathered:
    """Read the facts, and say what was left out or made up on the way."""
    from loadstone.books.gathered import gather

    with reading_bar(str(vectors)) as watch:
        found = gather(facts, vectors, named_columns(columns), phrases, words, least_answers, watch)
    if found.repeated:
        say(f"{counted(found.repeated, 'line repeats', 'lines repeat')} a fact that is there already; it is kept once.")
    if found.averaged:
        averaged = counted(len(found.averaged), "name has the mean of its", "names have the mean of their")
        say(f"{averaged} words as vector: {some(found.averaged)}.")
    if found.missing:
        without = [name for name, _ in found.missing]
        names = counted(len(without), "name has", "names have")
        facts_out = counted(len(found.left_out), "fact is", "facts are")
        say(f"{names} no vector, and {facts_out} left out: {some(without)}.")
    return found


def say_what_is_done(done: int, words: str) -> None:
    """Progress of long work, in words alone."""
    say(words)


def named_columns(columns: str) -> tuple[str, str]:
    """The columns of subjects and of answers."""
    named = tuple(name.strip() for name in columns.split(","))
    if len(named) != 2 or not all(named):
        raise refuse("columns", columns, "two names with a comma between them")
    return named[0], named[1]


def about(found: Gathered) -> dict[str, object]:
    """Keys that every command about facts prints."""
    return {
        "facts": len(found), "answers": len(found.answers), "d": int(found.inputs.shape[1]), "repeated": found.repeated,
        "averaged": list(found.averaged), "out_of_vocabulary": [name for name, _ in found.missing],
        "left_out": [[pair.subject, pair.answer] for pair in found.left_out],
    }  # fmt: skip


def described(found: Gathered, one: Obstruction) -> dict[str, object]:
    """An obstruction for JSON."""
    names = [found.name(row) for row in one.facts]
    return {"kind": one.kind, "facts": names, "statement": one.statement, "advice": one.advice}


def counted(count: int, one: str, many: str) -> str:
    """'1 fact is' or '3 facts are'."""
    return f"{count} {one if count == 1 else many}"


def some(names: tuple[str, ...] | list[str], most: int = 8, between: str = ", ") -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return between.join(names[:most]) + more
