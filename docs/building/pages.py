"""What the site does with a page before it is read: includes files of the repository, adds generated parts.

A page may have two kinds of blocks. ```{include} ../CHANGELOG.md``` is replaced by that file, with its links changed so
that they hold on this page. ```{generated} commands``` is replaced by what the module of this folder with that name
writes, which is given the words that follow.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from docs.building.links import for_page

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_BLOCK = re.compile(r"^```\{(include|generated)\} (.+?)\n```$", re.MULTILINE)


def expanded(text: str, page: Path) -> str:
    """The text of a page with its blocks replaced and its links changed."""

    def block(match: re.Match) -> str:
        kind, words = match.groups()
        if kind == "include":
            source = (page.parent / words).resolve()
            return for_page(source.read_text(), source, page)
        name, *arguments = words.split()
        return import_module(f"docs.building.{name}").markdown(*arguments)

    return _BLOCK.sub(block, for_page(text, page, page))


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    source[0] = expanded(source[0], Path(app.env.doc2path(name)))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
