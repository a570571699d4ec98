"""What the site does with a page before it is read: includes files of the repository, adds generated parts.

A page may have two kinds of blocks. ```{include} ../CHANGELOG.md``` is replaced by that file, with its links changed so
that they hold on this page. ```{generated} commands``` is replaced by what the module of this folder with that name
writes, which is given the words that follow. A notebook gets a link to itself as an .ipynb file.
"""

from __future__ import annotations

import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from docs.building import explorer
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


def with_download(text: str, name: str) -> str:
    """The text of a notebook with a link to it below its title, as a file that Jupyter opens by itself."""
    link = f'<p><a href="{Path(name).name}.ipynb" download>This page as a Jupyter notebook</a></p>'
    return re.sub(r"^# .+$", lambda title: f"{title[0]}\n\n{link}", text, count=1, flags=re.MULTILINE)


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    source[0] = expanded(source[0], Path(app.env.doc2path(name)))
    if name.startswith("notebooks/"):
        source[0] = with_download(source[0], name)


def _copy_notebooks(app: Sphinx, error: Exception | None) -> None:
    """MyST-NB leaves the executed notebooks beside the site; their links expect them in it."""
    for path in (Path(app.outdir).parent / "jupyter_execute" / "notebooks").glob("*.ipynb"):
        if (page := Path(app.outdir, "notebooks", f"{path.stem}.html")).exists():
            shutil.copy(path, page.parent)


def _write_explorer(app: Sphinx, error: Exception | None) -> None:
    explorer.write(Path(app.outdir))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _read)
    app.connect("build-finished", _copy_notebooks)
    app.connect("build-finished", _write_explorer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
