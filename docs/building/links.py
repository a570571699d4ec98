"""Links between the Markdown files of the repository, as links between the pages of the site."""

from __future__ import annotations

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Files outside of docs/ that are pages of the site, by the page that includes them.
PAGES = {
    "README.md": "docs/index.md",
    "CHANGELOG.md": "docs/changelog.md",
    "CONTRIBUTING.md": "docs/contributing.md",
    "benchmarks/README.md": "docs/benchmarks.md",
    "benchmarks/hard/README.md": "docs/hard.md",
    "examples/README.md": "docs/examples.md",
}
#: Links and images of Markdown: ](target) or ](target "title").
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(<?([^)\s>]+)>?\)")
_CODE = re.compile(r"(^```.*?^```\s*?$|^~~~.*?^~~~\s*?$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)


def outside_code(text: str, change) -> str:
    """The text with `change` applied to everything that is not code."""
    return "".join(part if index % 2 else change(part) for index, part in enumerate(_CODE.split(text)))


def is_elsewhere(target: str) -> bool:
    """Whether a link leaves the repository."""
    return bool(re.match(r"[a-z]+:", target))


def for_page(text: str, source: Path, page: Path) -> str:
    """The text of `source` with its relative links changed so that they hold on `page`.

    A file that the site shows as a page is linked as that page. Other files become downloads, which Sphinx copies, and
    folders lose their link: the site has none.
    """

    def changed(match: re.Match) -> str:
        image, words, target = match.groups()
        path, _, anchor = target.partition("#")
        if is_elsewhere(target) or not path:
            return match[0]
        there = (source.parent / path).resolve()
        if there.is_dir():
            return words if words.startswith("`") else f"`{words}`"
        name = os.path.relpath(there, ROOT)
        there = ROOT / PAGES.get(name, name)
        relative = os.path.relpath(there, page.parent)
        return f"{image}[{words}]({relative}{'#' + anchor if anchor else ''})"

    return outside_code(text, lambda part: LINK.sub(changed, part))
