"""The page about a book of facts. The names in it come from other people's files, so they are data and never markup."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template

import numpy as np

from loadstone.theory.spectra import at_capacity

#: The scripts; each needs only those before it.
SCRIPTS = ("explorer_numbers", "explorer_drawing", "facts_panels", "facts_table")
_CURVE_POINTS = 120


def facts_page(name: str, report: Mapping[str, object]) -> str:
    """The page as HTML: `report` is what books/report.py makes of the book of this name. It loads nothing else."""
    law = at_capacity()
    values = np.linspace(0, law.upper, _CURVE_POINTS)
    curve = np.stack([values, np.asarray(law.density(values))], axis=1).round(5)
    # A script runs only if the page lists its hash, so one that came in with a name does not.
    scripts = [f"\n{_part(f'{script}.js')}" for script in SCRIPTS]
    return Template(_part("facts.html")).substitute(
        name=escape(name),
        style=_part("explorer.css") + _part("facts.css"),
        data=_inert(dict(report) | {"quarterCircle": curve.tolist()}),
        hashes=" ".join(f"'sha256-{_hash(script)}'" for script in scripts),
        scripts="".join(f"<script>{script}</script>\n" for script in scripts),
    )


def _inert(data: Mapping[str, object]) -> str:
    """JSON in which nothing can end the element that holds it."""
    return json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _part(name: str) -> str:
    return (files("loadstone.pages") / name).read_text(encoding="utf-8")
