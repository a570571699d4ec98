"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

#: Called now and then with how much has been done (passes, facts, sizes: whatever the work counts), and how it stands,
#: in words for the person who waits.
Progress = Callable[[int, str], None]


def silent(done: int, words: str) -> None:
    """Tells nobody."""
