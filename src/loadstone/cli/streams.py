"""Standard output and standard error as we may find them: open, closed, full, or with nobody reading any more."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO


def open_streams() -> None:
    """Put something in the place of standard streams that were closed before we were started.

    Python has None for them, and `print` to None goes to standard output. Their numbers would also be given to the next
    files that are opened, into which libraries would then write their messages.
    """
    number = 0
    while number <= 2:  # the lowest free number is given first
        number = os.open(os.devnull, os.O_RDWR)
    os.close(number)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (open to the end)
    if sys.stdout is None:
        sys.stdout = ClosedOutput()


class ClosedOutput(io.TextIOBase):
    """Standard output that was closed: nothing is wrong with that until an answer has to go there."""

    def write(self, text: str) -> int:
        raise OSError("standard output is closed, so the answer cannot be given: open it, or send it to a file.")


@contextlib.contextmanager
def answering() -> Iterator[None]:
    """See that what is printed arrives: that a disk is full or a pipe closed may show only when it is flushed."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise BrokenPipeError from error  # without its number, by which Typer would take it for its own affair
    except OSError as error:
        if error.strerror is None:
            raise
        raise OSError(f"standard output cannot be written to: {error.strerror}.") from error


def drop_unwritten() -> None:
    """Let go of output that cannot be written: Python would try again at its end, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        _silence(sys.stdout)


def tell(sentence: str) -> None:
    """A line on standard error. If nobody can hear it, work goes on without."""
    try:
        print(sentence, file=sys.stderr, flush=True)
    except OSError:
        _silence(sys.stderr)


def _silence(stream: TextIO) -> None:
    """From now on what is written to the stream goes nowhere."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
