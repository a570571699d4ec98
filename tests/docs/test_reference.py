"""The references are complete: every command with every option, every public name with every field."""

import inspect
import re
from importlib import import_module

import pytest

import loadstone
from docs.building import api, commands, gallery
from docs.building.links import ROOT
from loadstone.studies.registry import STUDIES

REFERENCE = commands.markdown()
COMMANDS = dict(commands.commands())


def section(name: str) -> str:
    return re.search(rf"^## {name}$(.*?)(?=^## |\Z)", REFERENCE, re.MULTILINE | re.DOTALL)[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_reference_has_every_option_that_help_has(name, command):
    """Help has a frame of lines, so its words are compared one by one."""
    shown = command(*name.split()[1:], "--help").stdout
    options = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", shown)) - {"--help"}
    text = section(name)
    assert options <= set(re.findall(r"`(--[\w-]+)`", text)) or not options
    words = " ".join(re.sub(r"[│╭╮╰╯─]", " ", shown).split())
    what = " ".join((COMMANDS[name].help or "").split())
    assert what.split(".")[0] in words and what.split(".")[0].split()[0] in text


def test_every_command_has_a_section_and_every_option_says_what_it_is():
    assert re.findall(r"^## (.*)$", REFERENCE, re.MULTILINE) == list(COMMANDS)
    assert {name.split()[1] for name in COMMANDS} == set(commands.COMMANDS)
    for row in re.findall(r"^\| `.*$", REFERENCE, re.MULTILINE):
        cells = re.split(r"(?<!\\)\|", row)
        assert len(cells) == 5 and cells[3].strip(), row


def test_no_help_has_words_that_its_markup_swallows():
    """Square brackets are markup there: 'Number of outputs [default: p].' would lose its default."""
    for name, one in COMMANDS.items():
        for parameter in one.params:
            assert "[" not in (getattr(parameter, "help", None) or ""), f"{name} {parameter.name}"


def test_every_public_name_is_in_the_reference_of_its_room():
    shown = [name for room in api.ROOMS for name in api.names_of(room)]
    assert sorted(shown) == sorted(api.homes())
    assert {f"loadstone.{name}" for name in loadstone.__all__} < set(shown)
    page = (ROOT / "docs" / "api.md").read_text()
    assert re.findall(r"\{generated\} api (\w+)", page) == list(api.ROOMS)


@pytest.mark.parametrize("name", api.homes())
def test_a_public_name_is_explained_with_all_its_fields(name):
    module, _, original = api.homes()[name].rpartition(".")
    value, text = getattr(import_module(module), original), api.entry(name)
    assert name in text.splitlines()[0]
    if not callable(value):
        assert "The number" in text
        return
    assert inspect.getdoc(value)
    first = re.sub(r"\W+", " ", inspect.getdoc(value).splitlines()[0].split(":")[-1]).split()
    assert first[0] in text.replace("\\", "")
    if inspect.isclass(value):
        for field, (annotation, meaning) in api.fields(value).items():
            assert annotation and meaning, f"{name}.{field} is not explained"
            assert f"| `{field}` |" in text
            assert not re.search(rf"^\| `{field}` \|.*\| - ", text, re.MULTILINE)  # a table has no lists
    else:
        for parameter in inspect.signature(value).parameters:
            assert parameter in text.splitlines()[0]


def test_the_gallery_shows_every_figure_with_its_command():
    text = gallery.markdown()
    for figure in STUDIES:
        assert f"loadstone reproduce {figure} --scale paper --from-shipped" in text
        there = (ROOT / "results" / "paper" / f"{figure}.png").exists()
        assert (f"results/paper/{figure}.png" in text) == there
