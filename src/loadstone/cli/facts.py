"""loadstone facts: a person's own facts, in words. Each command has a file of its own."""

from __future__ import annotations

import typer

from loadstone.cli.facts_budget import budget
from loadstone.cli.facts_edit import edit
from loadstone.cli.facts_recall import recall
from loadstone.cli.facts_report import report
from loadstone.cli.facts_screen import screen
from loadstone.cli.facts_store import store

facts = typer.Typer(
    no_args_is_help=True,
    help="Your own facts, in words: screen them, store them in a book, ask it, edit it, see how full it is.",
)
for command in (screen, store, recall, budget, edit, report):
    facts.command()(command)
