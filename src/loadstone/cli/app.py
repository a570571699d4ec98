"""The command `loadstone`: what every command shares."""

from __future__ import annotations

import sys

import typer

from loadstone.cli.capacity import capacity
from loadstone.cli.certify import certify
from loadstone.cli.check import check
from loadstone.cli.explore import explore
from loadstone.cli.export import export
from loadstone.cli.instance import instance
from loadstone.cli.pack import pack, unpack
from loadstone.cli.predict import predict
from loadstone.cli.reproduce import reproduce
from loadstone.cli.run import run
from loadstone.cli.status import status
from loadstone.cli.train import train

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="How many facts fit into a linear associative memory: predict, store, measure, prove.",
)
app.command()(predict)
app.command()(explore)
app.command()(train)
app.command()(certify)
app.command()(check)
app.command()(capacity)
app.command()(instance)
app.command()(reproduce)
app.command()(run)
app.command()(status)
app.command()(pack)
app.command()(unpack)
app.command()(export)

# Typer brings its own copy of Click from some version on: this is the base of its usage errors in either case.
_Usage = next(kind for kind in reversed(typer.BadParameter.__mro__) if hasattr(kind, "format_message"))


_INTERRUPTED = 130


def main() -> None:
    """Run a command; a mistake of the user ends in one sentence on standard error and exit code 2."""
    try:
        code = app(standalone_mode=False)
    except _Usage as error:
        _stop(error.format_message() or "a command is missing: see loadstone --help.", error.exit_code)
    except (ValueError, OSError) as error:
        _stop(str(error), 2)
    except MemoryError:
        _stop("memory ran out: lower p or d, or set a smaller --budget.", 2)
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    if code == _INTERRUPTED:  # some versions of Typer hand the interrupt on, others turn it into this code
        _stop("interrupted; nothing half-written was left behind.", _INTERRUPTED)
    sys.exit(code)


def _stop(sentence: str, code: int) -> None:
    print(f"loadstone: {' '.join(sentence.split())}", file=sys.stderr)
    sys.exit(code)
