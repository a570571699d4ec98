"""The Markdown of the repository, taken apart: links, anchors and code blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from docs.building.links import LINK, ROOT, outside_code

FILES = sorted(
    [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    + [ROOT / folder / "README.md" for folder in ("benchmarks", "benchmarks/hard", "examples")]
    + list((ROOT / "docs").rglob("*.md"))
)
_FENCE = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of code: the words after its fence, and its text."""

    info: tuple[str, ...]
    text: str


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a text."""
    return [Block(tuple(info.split()), body) for _, info, body in _FENCE.findall(text)]


def links(text: str) -> list[str]:
    """The targets of all links and images outside of code."""
    found: list[str] = []
    outside_code(text, lambda part: found.extend(match[2] for match in LINK.findall(part)) or part)
    return found


def anchors(text: str) -> set[str]:
    """The anchors of all headings, as GitHub and MyST make them."""
    headings: list[str] = []
    pattern = re.compile(r"^#{1,6} (.+?)\s*$", re.MULTILINE)
    outside_code(text, lambda part: headings.extend(pattern.findall(part)) or part)
    return {anchor(heading) for heading in headings}


def anchor(heading: str) -> str:
    """'What it shows: d = 20' becomes 'what-it-shows-d--20'."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def name(path: Path) -> str:
    """The path inside the repository, for messages and ids."""
    return str(path.relative_to(ROOT))
