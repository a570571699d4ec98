"""How long computations report their progress."""

from __future__ import annotations

from collections.abc import Callable

from loadstone.arguments import refuse

#: Called now and then with how much is done (in passes, facts, sizes: whatever is counted) and a line of text for the
#: user.
Progress = Callable[[int, str], None]


def progress_of(progress: Progress | None) -> Progress:
    """What progress is reported to: nothing if it is None."""
    if progress is not None and not callable(progress):
        raise refuse("progress", progress, "a function of how much is done and of words")
    return progress or silent


def silent(done: int, words: str) -> None:
    """Report nothing."""
