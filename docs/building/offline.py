"""Refuse a site that would load something from a network: `python -m docs.building.offline out/site`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

#: What a browser loads by itself: sources of images, scripts and styles, but not links that a reader may follow.
_LOADED = re.compile(
    r"""<(?:img|script|iframe|source|video|audio|embed)\b[^>]*?\bsrc=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b[^>]*?\brel=["']?(?:stylesheet|preload|icon|preconnect)[^>]*?\bhref=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|(?:@import\s*|url\()\s*["']?((?:https?:)?//[^"'\s)]+)""",
    re.IGNORECASE,
)


def loaded_from_elsewhere(site: Path) -> list[str]:
    """'file: address' for everything that pages or styles of a site would fetch."""
    found = []
    for path in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        for groups in _LOADED.findall(path.read_text(errors="replace")):
            found += [f"{path.relative_to(site)}: {address}" for address in groups if address]
    return found


def main() -> None:
    """Say what is loaded from elsewhere, and end with code 1 if anything is."""
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m docs.building.offline FOLDER, the folder of a built site")
    found = loaded_from_elsewhere(Path(sys.argv[1]))
    print(*found, sep="\n") if found else print(f"{sys.argv[1]}: nothing is loaded from a network.")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
