"""Formulas as MathML, which browsers draw by themselves: no script and no font has to be loaded."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from latex2mathml.converter import convert

if TYPE_CHECKING:
    from docutils.nodes import math, math_block
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator


def mathml(latex: str, display: str) -> str:
    """A formula with its LaTeX as a title, for readers who want to copy it. `display` is 'inline' or 'block'."""
    made = convert(latex, display=display)
    return made.replace("<math ", f'<math title="{html.escape(latex)}" ', 1)


def _inline(writer: HTML5Translator, node: math) -> None:
    writer.body.append(mathml(node.astext(), "inline"))


def _block(writer: HTML5Translator, node: math_block) -> None:
    writer.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>')


def setup(app: Sphinx) -> dict[str, bool]:
    # Sphinx calls a visitor and then its counterpart, or skips both the children and the counterpart.
    from docutils.nodes import SkipNode

    def skipping(write):
        def visit(writer, node):
            write(writer, node)
            raise SkipNode

        return visit

    app.add_html_math_renderer("mathml", (skipping(_inline), None), (skipping(_block), None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
