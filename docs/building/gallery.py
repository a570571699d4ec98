"""The gallery: every figure with its words, its command and its picture at the paper's scale."""

from __future__ import annotations

from docs.building.links import ROOT
from loadstone.studies.registry import STUDIES, study_of


def markdown() -> str:
    """A section for each figure, in the order of the report."""
    return "\n\n".join(_section(name) for name in STUDIES)


def _section(name: str) -> str:
    caption = study_of(name).caption
    lines = [f"## {caption.title}", ""]
    if (ROOT / "results" / "paper" / f"{name}.png").exists():
        lines += [f"![{caption.title}](../results/paper/{name}.png)", ""]
    lines += [caption.drawn, "", f"*Theory.* {caption.theory}" if caption.theory else ""]
    return "\n".join([*lines, "", "```", f"loadstone reproduce {name} --scale paper --from-shipped", "```"])
