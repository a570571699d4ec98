"""What `loadstone predict` says for a few sizes, to people and to programs, and what every command says of a number
that is too small or too large, as it was read and kept.

    python -m tests.cli.said      # after a deliberate change: rewrite said.json, and read its diff
"""

import contextlib
import io
import json
import sys
from pathlib import Path

from loadstone.cli.app import main
from tests.kept import flat, sentence, written

_FRAMES = str.maketrans(dict.fromkeys("┌┬┐├┼┤└┴┘─│", " "))
KEPT = Path(__file__).with_name("said.json")
ASKED = [
    "--d 20 --p 85", "--d 6 --p 13 --problem decoupled", "--d 50 --kappa 0.25", "--p 1000 --load 0.7", "--d 4096",
    "--d 20 --p 85 --answers 30", "--d 20 --facts 300 --answers 10 --frequencies zipf:1", "--d 12 --answers 2",
    "--d 24 --memory symmetric", "--d 24 --family blocks:4 --problem decoupled", "--d 24 --family rank:5 --answers 8",
    "--d 24 --family nonnegative", "--d 24 --facts 40 --margin 0.5", "--d 30 --family masked:0.5 --answers 40",
    "--d 4 --facts 200 --answers 100",
]  # fmt: skip
#: Options of each command that are numbers. Nothing is computed: these numbers are refused, or else a file is missing.
NUMBERS = {
    "predict --d 6": "d p load kappa answers margin",
    "predict --p 6": "load",
    "train --d 3 --p 4": "d p kappa answers seed seeds passes seconds",
    "certify --d 3 --p 4": "d p seed answers",
    "certify --d 3": "load",
    "capacity --d 2": "d seed seeds answers",
    "sample --d 3 --p 2": "d p seed answers chains steps",
    "instance --d 3 --p 4 --out no.npz": "d p seed answers",
    "facts screen no.csv --vectors no.txt": "seconds",
    "facts store no.csv --vectors no.txt --out no.book": "seconds",
    "facts budget no.book": "shuffles seconds",
    "facts recall no.book word": "top",
    "reproduce accuracy": "workers",
    "run accuracy --store here": "workers patience",
    "status --store no": "workers",
}
TOO_SMALL, TOO_LARGE = "-1", "1" + 25 * "0"
#: These may be as large as one likes.
UNBOUNDED = ("seconds", "patience", "shuffles", "top", "predict --p 6 --load", "no --workers")


def said() -> dict[str, list]:
    return {
        asked: [sentence(_printed(f"predict {asked}")), flat(json.loads(_printed(f"predict {asked} --json")))]
        for asked in ASKED
    }


def refused() -> dict[str, list[str]]:
    """What is said of both numbers, by command and option."""
    found = {}
    for name in [f"{asked} --{option}" for asked, options in NUMBERS.items() for option in options.split()]:
        numbers = [TOO_SMALL] if name.endswith(UNBOUNDED) else [TOO_SMALL, TOO_LARGE]
        found[name] = [_printed(f"{name} {number}") for number in numbers]
    return found


def _printed(asked: str) -> str:
    before, printed = sys.argv, io.StringIO()
    sys.argv = ["loadstone", *asked.split()]
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), contextlib.suppress(SystemExit):
            main()
    finally:
        sys.argv = before
    return " ".join(printed.getvalue().translate(_FRAMES).split())


if __name__ == "__main__":
    KEPT.write_text(written(said() | {"refused": refused()}) + "\n")
