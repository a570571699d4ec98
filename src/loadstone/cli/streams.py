"""Standard output and standard error in every state: open, closed, full, or with no reader left."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from loadstone.cli.printable import printable


def open_streams() -> None:
    """Replace standard streams that were closed before we were started.

    Python sets them to None, and `print` to None goes to standard output. The next files that are opened would also get
    their numbers, and libraries would then write their messages into these files.
    """
    number = 0
    while number <= 2:  # a new file gets the lowest free number
        number = os.open(os.devnull, os.O_RDWR)
    os.close(number)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (open to the end)
    if sys.stdout is None:
        sys.stdout = ClosedOutput()


def keep_output_for_answers() -> None:
    """Send what libraries print by themselves, such as Gloo's line about its peers, to standard error."""
    if isinstance(sys.stdout, ClosedOutput):
        return
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = open(kept, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)  # noqa: SIM115 (open to the end)


class ClosedOutput(io.TextIOBase):
    """A standard output that was closed, which is an error only when an answer has to be written to it."""

    def write(self, text: str) -> int:
        raise OSError("standard output is closed, so the answer cannot be given: open it, or send it to a file.")


@contextlib.contextmanager
def answering() -> Iterator[None]:
    """Flush what was printed: a full disk or a closed pipe may show only then."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise BrokenPipeError from error  # without its errno, by which Typer would handle it itself
    except OSError as error:
        if error.strerror is None:
            raise
        raise OSError(f"standard output cannot be written to: {error.strerror}.") from error


def drop_unwritten() -> None:
    """Discard output that cannot be written: Python would try again when it exits, and print an error."""
    try:
        sys.stdout.flush()
    except OSError:
        _silence(sys.stdout)


def say(sentence: str) -> None:
    """Print a line for people on standard error. If it cannot be written, work goes on without it."""
    try:
        print(printable(sentence), file=sys.stderr, flush=True)
    except OSError:
        _silence(sys.stderr)


def _silence(stream: TextIO) -> None:
    """Discard everything that is written to the stream from now on."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
