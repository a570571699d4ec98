"""How a command ends when something goes wrong: exit code and sentence."""

import sys

import jax
import pytest
import typer

from loadstone.cli.app import COMMANDS, main
from loadstone.cli.devices import missing_platform

INTERRUPTED = "loadstone: interrupted; nothing half-written was left behind.\n"


@pytest.fixture
def predicting(command, monkeypatch):
    """`loadstone predict`, in which something goes wrong."""

    def run(error):
        def fail(*_, **__):
            raise error

        monkeypatch.setattr("loadstone.theory.prediction.predict", fail)
        return command("predict", "--d", 3)

    return run


@pytest.mark.parametrize("error, code, sentence", [
    (MemoryError(), 2, "loadstone: memory ran out: lower p or d, or set a smaller --budget.\n"),
    (KeyboardInterrupt(), 130, INTERRUPTED), (typer.Abort(), 130, INTERRUPTED), (BrokenPipeError(), 141, ""),
    (ValueError("two\n  lines"), 2, "loadstone: two lines\n"), (OSError("plain"), 2, "loadstone: plain\n"),
    (FileNotFoundError(2, "No such file", "a.txt"), 2, "loadstone: a.txt: No such file.\n"),
    (OSError(28, "No space"), 2, "loadstone: No space.\n"), (typer.Exit(7), 7, ""),
])  # fmt: skip
def test_each_mistake_has_its_exit_code_and_sentence(error, code, sentence, predicting):
    done = predicting(error)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", sentence)


@pytest.mark.parametrize("error", [RuntimeError("a mistake of ours"), AssertionError("a mistake of ours")])
def test_an_error_of_ours_is_shown_as_it_is(error, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("loadstone.theory.prediction.predict", fail)
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    monkeypatch.setattr(sys, "argv", ["loadstone", "predict", "--d", "3"])
    with pytest.raises(type(error), match="of ours"):
        main()


def test_a_platform_is_blamed_only_if_it_was_asked_for_and_is_missing(predicting, monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "abacus")
    assert missing_platform() is None  # JAX has devices here

    def fail():
        raise RuntimeError("no devices")

    monkeypatch.setattr(jax, "devices", fail)
    done = predicting(RuntimeError("no devices"))
    assert done.returncode == 2 and done.stderr.startswith(
        "loadstone: JAX_PLATFORMS is 'abacus', but must be a platform that JAX has here"
    )
    monkeypatch.setenv("JAX_PLATFORMS", "")
    assert missing_platform() is None


def test_only_the_command_that_is_asked_for_is_imported(command, monkeypatch):
    def forget():
        for name in [name for name in sys.modules if name.removeprefix("loadstone.cli.") in COMMANDS]:
            monkeypatch.delitem(sys.modules, name)

    def imported():
        return {name for name in COMMANDS if f"loadstone.cli.{COMMANDS[name]}" in sys.modules}

    for words, expected in ((["predict", "--d", 3], {"predict"}), (["--version"], set()), (["--help"], set(COMMANDS))):
        forget()
        command(*words)
        assert imported() == expected
