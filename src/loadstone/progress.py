"""How long computations report their progress."""

from __future__ import annotations

from collections.abc import Callable

#: Called now and then with how much is done (in passes, facts, sizes: whatever is counted) and a line of text for the
#: user.
Progress = Callable[[int, str], None]


def silent(done: int, words: str) -> None:
    """Report nothing."""
