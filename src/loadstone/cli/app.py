"""The command `loadstone`: what every command shares."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from loadstone import __version__
from loadstone.cli.capacity import capacity
from loadstone.cli.certify import certify
from loadstone.cli.check import check
from loadstone.cli.explore import explore
from loadstone.cli.export import export
from loadstone.cli.instance import instance
from loadstone.cli.output import ends_like_an_interrupt
from loadstone.cli.pack import pack, unpack
from loadstone.cli.predict import predict
from loadstone.cli.reproduce import reproduce
from loadstone.cli.run import run
from loadstone.cli.status import status
from loadstone.cli.streams import answering, drop_unwritten, open_streams, tell
from loadstone.cli.train import train

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
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

# Newer versions of Typer contain a copy of Click. This is the base class of usage errors in either case.
_Usage = next(kind for kind in reversed(typer.BadParameter.__mro__) if hasattr(kind, "format_message"))

#: Exit codes that shells use: ended by Ctrl-C, and by writing to a closed pipe.
_INTERRUPTED, _NOBODY_READS = 130, 141


def _version(wanted: bool) -> None:
    if wanted:
        print(f"loadstone {__version__}")
        raise typer.Exit


@app.callback()
def loadstone(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version)] = False,
) -> None:
    """How many facts fit into a linear associative memory: predict, store, measure, prove."""


def main() -> None:
    """Run a command; a user's mistake ends in one sentence on standard error and exit code 2."""
    open_streams()
    try:
        with ends_like_an_interrupt():
            code = app(standalone_mode=False)
            with answering():
                pass  # flushes what the command printed
    except _Usage as error:  # type: ignore[misc]  # which class depends on Typer
        _stop(error.format_message() or "a command is missing: see loadstone --help.", error.exit_code)
    except BrokenPipeError:  # the reader of our output, such as `head`, has ended
        drop_unwritten()
        sys.exit(_NOBODY_READS)
    except (ValueError, OSError) as error:
        _stop(_sentence(error), 2)
    except MemoryError:
        _stop("memory ran out: lower p or d, or set a smaller --budget.", 2)
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    if code == _INTERRUPTED:  # some versions of Typer raise the interrupt, others return this code
        _stop("interrupted; nothing half-written was left behind.", _INTERRUPTED)
    sys.exit(code)


def _sentence(error: ValueError | OSError) -> str:
    if isinstance(error, OSError) and error.strerror:  # the system's message, and the file that it is about
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return str(error)


def _stop(sentence: str, code: int) -> None:
    drop_unwritten()
    tell(f"loadstone: {' '.join(sentence.split())}")
    sys.exit(code)
