"""Code in the pages runs: Python as it stands, commands as they are shown.

The words after a fence say how much: nothing (always run), `soak` (run by `make soak`), `no-run` (for commands that
take long or need what a test has not; their options are checked all the same).
"""

import os
import shlex

import pytest

from docs.building import commands
from docs.building.links import ROOT
from tests.docs.markdown import FILES, Block, blocks, name

#: README.md and extending.md have tests of their own, notebooks are run when the site is built.
_ELSEWHERE = ("README.md", "docs/extending.md", "docs/notebooks/")
PAGES = [path for path in FILES if not name(path).startswith(_ELSEWHERE)]
COMMANDS = dict(commands.commands())


def lines(block: Block) -> list[list[str]]:
    """The commands of loadstone in a block, each as its words after 'loadstone'."""
    if block.info[:1] not in ((), ("bash",), ("text",)):
        return []
    shown = block.text.replace("\\\n", " ").splitlines()
    starts = [line.removeprefix("$ ") for line in shown]
    return [shlex.split(line, comments=True)[1:] for line in starts if line.startswith("loadstone ")]


def is_run(block: Block) -> bool:
    return "no-run" not in block.info and ("soak" not in block.info or "LOADSTONE_SOAK" in os.environ)


def runnable(path) -> list[Block]:
    found = [one for one in blocks(path.read_text()) if is_run(one)]
    return [one for one in found if one.info[:1] == ("python",) or lines(one)]


@pytest.mark.parametrize("path", [path for path in PAGES if runnable(path)], ids=name)
def test_code_of_a_page_runs(path, tmp_path, command, monkeypatch):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    known: dict[str, object] = {}
    for block in runnable(path):
        if block.info[:1] == ("python",):
            exec(compile(block.text, name(path), "exec"), known)
        for words in lines(block):
            done = command(*words)
            assert done.returncode == 0, f"loadstone {shlex.join(words)}: {done.stderr}"
            assert done.stdout + done.stderr


@pytest.mark.parametrize("path", [*PAGES, ROOT / "README.md"], ids=name)
def test_every_command_that_a_page_shows_has_these_options(path):
    for block in blocks(path.read_text()):
        for words in lines(block):
            check_options(words)


def check_options(words: list[str]) -> None:
    depth = next((depth for depth in (2, 1) if " ".join(["loadstone", *words[:depth]]) in COMMANDS), None)
    assert depth, f"loadstone {shlex.join(words)} is no command"
    one = COMMANDS[" ".join(["loadstone", *words[:depth]])]
    known = {option for parameter in one.params for option in (*parameter.opts, *parameter.secondary_opts)}
    used = {word for word in words[depth:] if word.startswith("--")}
    assert used <= known | {"--help"}, f"loadstone {shlex.join(words)}"


def test_an_option_that_does_not_exist_would_be_found():
    assert lines(Block((), "$ loadstone predict --d 4 # four\nelse\nloadstone facts store a.csv --out b\n")) == [
        ["predict", "--d", "4"], ["facts", "store", "a.csv", "--out", "b"],
    ]  # fmt: skip
    for wrong in (["predict", "--dimension", "4"], ["facts", "burn"], ["facts", "store", "a.csv", "--d", "3"]):
        with pytest.raises(AssertionError):
            check_options(wrong)
