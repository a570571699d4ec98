"""The table of contents. A page that no part names appears under 'More', so none is ever left out."""

from __future__ import annotations

from docs.building.links import ROOT

DOCS = ROOT / "docs"
#: The parts of the site in reading order, each with its pages. A page that is not there is left out.
PARTS = {
    "Start": ["start", "questions", "notebooks/transition", "notebooks/own_facts", "notebooks/certificate"]
    + ["notebooks/finite_size", "notebooks/families", "notebooks/space"],
    "Guides": ["predict", "facts", "verdicts", "space", "reproduce", "sweeps", "cluster", "devices", "scale"]
    + ["extending"],
    "Results": ["note", "results", "paper", "measured", "gallery", "theory"],
    "Reference": ["commands", "api", "proofs", "tour", "choices", "reliability", "benchmarks", "hard"],
    "Project": ["examples", "contributing", "changelog"],
}
_INSIDE = ("theory/", "building/")  # pages that another page lists, and no pages


def pages() -> set[str]:
    """Every page of the site but the first one, by its name without the ending."""
    return {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")} - {"index"}


def markdown() -> str:
    """A toctree for each part."""
    there = {name for name in pages() if not name.startswith(_INSIDE)}
    named = {name for part in PARTS.values() for name in part}
    parts = PARTS | {"More": sorted(there - named)}
    lists = {title: [name for name in names if name in there] for title, names in parts.items()}
    return "\n\n".join(_toctree(title, names) for title, names in lists.items() if names)


def _toctree(title: str, names: list[str]) -> str:
    return "\n".join(["```{toctree}", f":caption: {title}", ":hidden:", "", *names, "```"])
