"""Names from files reach a terminal as text: none of them moves the cursor, changes colours or hides words."""

import ast
import json
import unicodedata
from pathlib import Path

import numpy as np
import pytest

import loadstone.cli
from loadstone.cli.printable import printable

#: A title, a colour by one character, a reversal of the line, an end of markup, a line of our own, half a letter.
HOSTILE = ["\x1b]0;owned\x07", "\x9b31mred", "\u202egnp", "[/bold]", "a\nstored", "\x08\x08\x7f", "[red]b", "\u2066c"]
#: They print no text from a file.
WITHOUT_NAMES = {"app.py", "certify.py"}
#: They print what others give them, made printable.
FOR_ALL = {"output.py", "streams.py"}


@pytest.mark.parametrize("text, shown", [
    *((name, name) for name in ("Côte d’Ivoire", "東京", "a\xa0b", "می\u200cشود", "\\", "")),
    ("\x1b[31mred", "\\x1b[31mred"), ("\x9b31m", "\\x9b31m"), ("\u202egnp", "\\u202egnp"), ("a\tb\r\n", "a\\tb\\r\\n"),
    ("\x00\x7f", "\\x00\\x7f"), ("\ud800", "\\ud800"), ("\u2028\U000e0001", "\\u2028\\U000e0001"),
])  # fmt: skip
def test_what_is_not_for_reading_is_shown_as_python_writes_it(text, shown):
    assert printable(text) == shown
    printable(text).encode()


def is_clean(shown):
    return not any(unicodedata.category(letter) in ("Cc", "Cf", "Cs") for letter in shown.replace("\n", ""))


@pytest.fixture
def hostile(tmp_path):
    """Facts whose names are hostile, more than fit, with vectors, and with a proof that speaks of such a family."""
    rng = np.random.default_rng(0)
    subjects, answers = [f"{name}s" for name in HOSTILE], [f"{name}a" for name in HOSTILE]
    pairs = [*zip(subjects, answers), (subjects[0], answers[1]), ("no vector\x1b[2J", answers[0])]
    rows = [json.dumps({"subject": subject, "object": answer}) for subject, answer in pairs]
    (tmp_path / "f.jsonl").write_text("\n".join(rows))
    changes = [
        {"subject": subjects[1], "object": answers[2]},
        {"subject": subjects[2], "object": None, "change": "remove"},
    ]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, changes)))
    words = np.array([*subjects, *answers])
    np.savez(tmp_path / "v.npz", words=words, vectors=rng.standard_normal((len(words), 3)))
    return tmp_path


def test_no_command_about_facts_prints_what_a_terminal_acts_on(command, hostile):
    facts = ("f.jsonl", "--vectors", "v.npz")
    for words in (
        ("facts", "screen", *facts), ("facts", "store", *facts, "--out", "b\x1b[31m.book"),
        ("facts", "recall", "b\x1b[31m.book", *(f"{name}s" for name in HOSTILE), "--top", "2"),
        ("facts", "recall", "b\x1b[31m.book", "nobody\x1b[31m"), ("facts", "budget", "b\x1b[31m.book"),
        ("facts", "edit", "b\x1b[31m.book", "c.jsonl", "--method", "batch"),
        ("facts", "edit", "b\x1b[31m.book", "c.jsonl", "--method", "refit", "--out", "b\x1b[31m.book"),
        ("facts", "report", "b\x1b[31m.book", "--out", "r\x9b.html"),
        ("certify", "--instance", *facts, "--out", "p\x1b.npz"), ("capacity", "--facts", *facts),
        ("check", "p\x1b.npz"), ("check", "f.jsonl"), ("facts", "store", "no\x1b[2J.csv", "--vectors", "v.npz"),
    ):  # fmt: skip
        done = command(*words, cwd=hostile)
        assert "Traceback" not in done.stderr and done.stdout + done.stderr, words
        assert is_clean(done.stdout) and is_clean(done.stderr), (words, done.stdout, done.stderr)
    asked = json.loads(command("facts", "recall", "b\x1b[31m.book", "\x9b31mreds", "--json", cwd=hostile).stdout)
    assert asked["answers"][0]["subject"] == "\x9b31mreds"  # JSON has names as they are


def test_no_other_command_does(command, tmp_path):
    (tmp_path / "g\x1b.toml").write_text('[[grid]]\nd = 4\nload = 0.5\nproblem = "\\u001b[31m"')
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / ("0" * 60 + "\x1b[2J")).touch()
    (tmp_path / "w.csv").write_text("spec\x1b[2J")
    for words in (
        ("run", "g\x1b.toml", "--store", "s"), ("run", "n\x1b.toml", "--store", "s"),
        ("status", "g\x1b.toml", "--store", "s"),
        ("unpack", "w.csv", "--store", "s"), ("export", "--store", "n\x1b", "--out", "a.csv"), ("check", "n\x1b"),
        ("predict", "--d", "4", "--memory", "blocks\x1b"), ("train", "--d", "4", "--p", "4", "--out", "n\x1b/m"),
    ):  # fmt: skip
        done = command(*words, cwd=tmp_path)
        assert "Traceback" not in done.stderr and done.stdout + done.stderr, words
        assert is_clean(done.stdout) and is_clean(done.stderr), (words, done.stdout, done.stderr)


def test_commands_print_in_one_place():
    for path in Path(loadstone.cli.__file__).parent.glob("*.py"):
        called = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        prints = any(isinstance(function, ast.Name) and function.id == "print" for function in called)
        assert not prints or path.name in WITHOUT_NAMES | FOR_ALL, path.name
