"""Formulas as MathML, which browsers draw by themselves: no script has to be loaded.

Roots and brackets grow with what they hold only in a font with a table for mathematics, which not every machine has. So
the site brings one, STIX Two Math, which is part of the Python package ziamath.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import TYPE_CHECKING

from latex2mathml.converter import convert

if TYPE_CHECKING:
    from docutils.nodes import math, math_block
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.writers.html5 import HTML5Translator


#: The name of a function, and the bracket that may follow. The converter leaves no room around it: 2logM.
_FUNCTION = re.compile(r"<mi>(log|exp|sin|cos|arccos|erfc|min|max)</mi>(<mo[^>]*>&#x00028;)?")


def _spaced(match: re.Match) -> str:
    name, bracket = match.groups()
    after = "0" if bracket else "0.17em"
    return f'<mo lspace="0.17em" rspace="{after}">{name}</mo>{bracket or ""}'


def mathml(latex: str, display: str) -> str:
    """A formula with its LaTeX as a title, for readers who want to copy it. `display` is 'inline' or 'block'."""
    made = _FUNCTION.sub(_spaced, convert(latex, display=display))
    return made.replace("<math ", f'<math title="{html.escape(latex)}" ', 1)


def _inline(writer: HTML5Translator, node: math) -> None:
    from docutils.nodes import SkipNode

    writer.body.append(mathml(node.astext(), "inline"))
    raise SkipNode  # the text of the formula is written, so neither its children nor its end are visited


def _block(writer: HTML5Translator, node: math_block) -> None:
    from docutils.nodes import SkipNode

    writer.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>')
    raise SkipNode


def _add_font(app: Sphinx, config: Config) -> None:
    import ziamath

    config.html_static_path.append(str(Path(ziamath.__file__).parent / "fonts" / "STIXTwoMath-Regular.ttf"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("config-inited", _add_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
