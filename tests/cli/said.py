"""What `loadstone predict` says for a few sizes, to people and to programs, as it was read and kept.

    python -m tests.cli.said      # after a deliberate change: rewrite said.json, and read its diff
"""

import contextlib
import io
import json
import sys
from pathlib import Path

from loadstone.cli.app import main
from tests.figures.shown import flat, sentence, written

_FRAMES = str.maketrans(dict.fromkeys("┌┬┐├┼┤└┴┘─│", " "))
KEPT = Path(__file__).with_name("said.json")
ASKED = [
    "--d 20 --p 85", "--d 6 --p 13 --problem decoupled", "--d 50 --kappa 0.25", "--p 1000 --load 0.7", "--d 4096",
    "--d 20 --p 85 --answers 30", "--d 20 --facts 300 --answers 10 --frequencies zipf:1", "--d 12 --answers 2",
    "--d 24 --memory symmetric", "--d 24 --family blocks:4 --problem decoupled", "--d 24 --family rank:5 --answers 8",
    "--d 24 --family nonnegative", "--d 24 --facts 40 --margin 0.5", "--d 30 --family masked:0.5 --answers 40",
    "--d 4 --facts 200 --answers 100",
]  # fmt: skip


def said() -> dict[str, list]:
    return {asked: [sentence(_printed(asked)), flat(json.loads(_printed(f"{asked} --json")))] for asked in ASKED}


def _printed(asked: str) -> str:
    before, printed = sys.argv, io.StringIO()
    sys.argv = ["loadstone", "predict", *asked.split()]
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            main()
    finally:
        sys.argv = before
    return " ".join(printed.getvalue().translate(_FRAMES).split())


if __name__ == "__main__":
    KEPT.write_text(written(said()) + "\n")
