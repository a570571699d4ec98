"""The command `loadstone`: what every command shares."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer

from loadstone import __version__
from loadstone.cli.devices import missing_platform
from loadstone.cli.interrupts import ends_like_an_interrupt, leave, leave_at_once
from loadstone.cli.streams import answering, drop_unwritten, open_streams, say

#: The commands in the groups of `loadstone --help`, each with its module. Only that of the command that is run is
#: imported: all of them together take a second.
GROUPS = {
    "Predict": {"predict": "predict", "explore": "explore"},
    "Store and ask": {"facts": "facts", "train": "train"},
    "Prove": {
        "certify": "certify", "check": "check", "capacity": "capacity", "sample": "sample", "instance": "instance",
    },
    "Experiments": {
        "reproduce": "reproduce", "run": "run", "status": "status", "export": "export", "pack": "pack",
        "unpack": "pack",
    },
}  # fmt: skip
COMMANDS = {name: module for commands in GROUPS.values() for name, module in commands.items()}
_GROUP = {name: group for group, commands in GROUPS.items() for name in commands}

# Newer versions of Typer contain a copy of Click. This is the base class of usage errors in either case.
_Usage = next(kind for kind in reversed(typer.BadParameter.__mro__) if hasattr(kind, "format_message"))

#: Exit codes that shells use: ended by Ctrl-C, and by writing to a closed pipe.
_INTERRUPTED, _NOBODY_READS = 130, 141


def _version(wanted: bool) -> None:
    if wanted:
        print(f"loadstone {__version__}")
        raise typer.Exit


def loadstone(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version)] = False,
) -> None:
    """How many facts fit into a linear associative memory: predict, store, measure, prove."""


def app_of(names: Iterable[str]) -> typer.Typer:
    """The program with these commands."""
    app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback()(loadstone)
    for name in names:
        command = getattr(import_module(f"loadstone.cli.{COMMANDS[name]}"), name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, rich_help_panel=_GROUP[name])
        else:
            app.command(name, rich_help_panel=_GROUP[name])(command)
    return app


def main() -> None:
    """Run a command; a user's mistake ends in one sentence on standard error and exit code 2."""
    open_streams()
    try:
        with ends_like_an_interrupt():
            first = sys.argv[1:2]
            needed = [name for name in first if name in COMMANDS]
            code = app_of(needed if needed or first == ["--version"] else COMMANDS)(standalone_mode=False)
            with answering():
                pass  # flushes what the command printed
    except _Usage as error:  # type: ignore[misc]  # which class depends on Typer
        _stop(error.format_message() or "a command is missing: see loadstone --help.", error.exit_code)
    except BrokenPipeError:  # the reader of our output, such as `head`, has ended
        drop_unwritten()
        leave(_NOBODY_READS)
    except (ValueError, OSError) as error:
        _stop(_sentence(error), 2)
    except MemoryError:
        _stop("memory ran out: lower p or d, or set a smaller --budget.", 2)
    except (KeyboardInterrupt, typer.Abort):  # Abort is a RuntimeError
        code = _INTERRUPTED
    except (AssertionError, RuntimeError):
        if (sentence := missing_platform()) is None:
            raise
        _stop(sentence, 2)
    if code == _INTERRUPTED:  # some versions of Typer raise the interrupt, others return this code
        _say_last("interrupted; nothing half-written was left behind.")
        leave_at_once(_INTERRUPTED)
    leave(code)


def _sentence(error: ValueError | OSError) -> str:
    if isinstance(error, OSError) and error.strerror:  # the system's message, and the file that it is about
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return str(error)


def _stop(sentence: str, code: int) -> None:
    _say_last(sentence)
    leave(code)


def _say_last(sentence: str) -> None:
    drop_unwritten()
    say(f"loadstone: {' '.join(sentence.split())}")
