"""Changes of a book: facts to add, to change or to remove, from the same files and tables as facts."""

from __future__ import annotations

from typing import Any, NamedTuple

from loadstone.books.pairs import COLUMNS, Columns, is_empty, rows_of, text_of

ACTIONS = ("add", "change", "remove")
#: A third column of either name says what is to be done.
_NAMED = ("change", "action")


class Change(NamedTuple):
    """One change.

    subject: whose fact it is.
    answer: the new one; to remove a fact it may be left out.
    action: one of ACTIONS; None: a subject that is in the book gets this answer, one that is not is added.
    where: the place where it was read, in words.
    """

    subject: str
    answer: str | None
    action: str | None
    where: str = "changes"

    def __str__(self) -> str:
        fact = self.subject if self.answer is None else f"{self.subject} -> {self.answer}"
        return f"{self.action} {fact}" if self.action else fact


def changes_of(source: Any, columns: Columns = COLUMNS) -> list[Change]:
    """The changes in a file, a table, a mapping, or any pairs; a third column `change` or `action` is optional, and so
    is a third member of a pair."""
    found = [
        _change(where, row) for where, row in rows_of(source, columns, tuple(n for n in _NAMED if n not in columns))
    ]
    if not found:
        raise ValueError("there is no change: the file or the list is empty.")
    return found


def _change(where: str, row: tuple[Any, ...]) -> Change:
    _, subject, answer, *said = row
    given = [str(one).strip().lower() for one in said if not is_empty(one)]
    action = given[0] if given else None
    if len(set(given)) > 1 or (action is not None and action not in ACTIONS):
        said_there = " and ".join(map(repr, given))
        raise ValueError(f"{where} says {said_there}, but must say add, change or remove, or nothing.")
    if action == "remove" and is_empty(answer):
        return Change(text_of(where, "subject", subject), None, action, where)
    return Change(text_of(where, "subject", subject), text_of(where, "answer", answer), action, where)
