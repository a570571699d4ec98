"""loadstone explore: the predictions as an interactive page."""

from __future__ import annotations

from typing import Annotated

import typer

from loadstone.arguments import file_name
from loadstone.cli.output import say
from loadstone.files import check_writable, write_whole


def explore(
    out: Annotated[str, typer.Option(help="The HTML file to write.")] = "explore.html",
) -> None:
    """Write a page with sliders for d, kappa and p: what fits, and the laws behind it. It needs no network."""
    check_writable(file_name("out", out))
    from loadstone.pages.explorer import explorer_page

    page = explorer_page().encode()
    write_whole(out, lambda file: file.write(page))
    say(f"Written: {out}. Open it in a browser.")
