"""What the commands about a person's own facts share: reading facts, and sentences about them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from loadstone.arguments import refuse
from loadstone.cli.output import reading_bar, say

if TYPE_CHECKING:
    from loadstone.books.book import Failure
    from loadstone.books.gathered import Gathered
    from loadstone.books.screening import Obstruction
    from loadstone.books.vectors import Source


def gathered_from(
    facts: str, vectors: Source, words: str | None, columns: str, phrases: str, least_answers: int = 2
) -> Gathered:
    """Read the facts, and print what was left out or averaged."""
    from loadstone.books.gathered import gather

    size = os.path.getsize(vectors) if isinstance(vectors, str) and os.path.isfile(vectors) else 0
    with reading_bar(str(vectors), size) as progress:
        gathered = gather(facts, vectors, named_columns(columns), phrases, words, least_answers, progress)
    if (again := gathered.repeated) > 0:
        say(f"{counted(again, 'line repeats', 'lines repeat')} a fact that is there already; it is kept once.")
    say_averaged(gathered.averaged)
    if gathered.missing:
        say_missing([name for name, _ in gathered.missing], counted(len(gathered.left_out), "fact is", "facts are"))
    return gathered


def named_columns(columns: str) -> tuple[str, str]:
    """The columns of subjects and of answers."""
    named = tuple(name.strip() for name in columns.split(","))
    if len(named) != 2 or not all(named):
        raise refuse("columns", columns, "two names with a comma between them")
    return named[0], named[1]


def about_own(gathered: Gathered, instance: str, vectors: str) -> dict[str, Any]:
    """What `certify` and `capacity` print about facts in words instead of an instance."""
    return {
        "problem": "original", "instance": instance, "vectors": vectors, "d": int(gathered.inputs.shape[1]),
        "p": len(gathered), "answers": len(gathered.answers),
        "out_of_vocabulary": [name for name, _ in gathered.missing],
    }  # fmt: skip


def about(gathered: Gathered) -> dict[str, object]:
    """What the commands of `facts` print about the facts that they read."""
    return {
        "facts": len(gathered), "answers": len(gathered.answers), "d": int(gathered.inputs.shape[1]),
        "repeated": gathered.repeated, "averaged": list(gathered.averaged),
        "out_of_vocabulary": [name for name, _ in gathered.missing],
        "left_out": [[pair.subject, pair.answer] for pair in gathered.left_out],
    }  # fmt: skip


def described(gathered: Gathered, reason: Obstruction) -> dict[str, object]:
    """An obstruction for JSON."""
    names = [gathered.name(row) for row in reason.facts]
    return {"kind": reason.kind, "facts": names, "statement": reason.statement, "advice": reason.advice}


def described_failures(failures: Iterable[Failure]) -> list[list[object]]:
    """Facts that are not stored, for JSON."""
    return [[failure.subject, failure.answer, failure.rival, failure.margin] for failure in failures]


def say_averaged(names: Sequence[str]) -> None:
    """Print which names have the mean of several vectors, if there are any."""
    if names:
        averaged = counted(len(names), "name has the mean of its", "names have the mean of their")
        say(f"{averaged} words as vector: {some(names)}.")


def say_missing(names: Sequence[str], left_out: str) -> None:
    """Print which names have no vector, and what is left out because of it ('3 facts are')."""
    say(f"{counted(len(names), 'name has', 'names have')} no vector, and {left_out} left out: {some(names)}.")


def say_obstructions(reasons: Iterable[Obstruction]) -> None:
    """Print why facts cannot be stored, and what to do."""
    for reason in reasons:
        say(f"{reason.kind}: {reason.statement} What to do: {reason.advice}")


def say_progress(done: int, words: str) -> None:
    """Print the progress of long work, only its words."""
    say(words)


def conflict_in_words(names: Sequence[str], minimal: bool, most: int = 8) -> str:
    """A sentence about facts that cannot all be stored."""
    needed = ", each of them needed for that" if minimal else ""
    return f"These facts cannot stand together{needed}: {some(names, most, '; ')}."


def counted(count: int, one: str, many: str) -> str:
    """'1 fact is' or '3 facts are'."""
    return f"{count} {one if count == 1 else many}"


def some(names: Sequence[str], most: int = 8, between: str = ", ") -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return between.join(names[:most]) + more
