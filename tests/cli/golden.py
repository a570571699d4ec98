"""Ten commands and what they say to people, in a folder with a few small files (tests/cli/folder.py).

    python -m tests.cli.golden      # after a deliberate change: rewrite golden.txt, and read its diff

In golden.txt, `!` stands before what goes to standard error, and `=` before the exit code and the new files.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from loadstone.cli.app import main
from tests.cli.folder import prepare

KEPT = Path(__file__).with_name("golden.txt")
#: A time; and what rich draws around tables.
_TIME, _FRAME = re.compile(r"\b\d+\.\d+ s\b"), re.compile("[^ -~]")


def transcript(commands: list[str]) -> str:
    """What the commands say, one after the other in one folder: some read what others have written."""
    before, parts = os.getcwd(), []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            prepare(Path(folder))
            for words in commands:
                there = set(os.listdir())
                code, out, err = run(words)
                new = " ".join(sorted({*os.listdir()} - there))
                lines = [*_plain(out), *(f"! {line}" for line in _plain(err)), f"= {code} {new}".rstrip()]
                parts.append("\n".join([f"$ {words}", *lines]))
        finally:
            os.chdir(before)
    return "\n\n".join(parts) + "\n"


def run(words: str) -> tuple[int, str, str]:
    """The exit code of a command and what it writes to both streams."""
    before, out, err, code = sys.argv, io.StringIO(), io.StringIO(), 0
    sys.argv = ["loadstone", *shlex.split(words)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    return code, out.getvalue(), err.getvalue()


def _plain(text: str) -> list[str]:
    """The lines without frames and times. A table whose last column has seconds loses the numbers in it."""
    lines, timed = [], False
    for line in _TIME.sub("... s", text).splitlines():
        line = " ".join(_FRAME.sub(" ", line).split())
        if timed:
            line = line.rpartition(" ")[0]
        timed = timed or line.endswith(" seconds")
        lines += [line] if line else []
    return lines


def commands_of(text: str) -> list[str]:
    """The commands of a transcript."""
    return [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]


if __name__ == "__main__":
    KEPT.write_text(transcript(commands_of(KEPT.read_text())))
