"""The note as a PDF: Markdown to Typst by pandoc, Typst to PDF, both installed as Python packages."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pypandoc
import typst

from docs.building.links import ROOT
from loadstone.files import write_whole

NOTE = ROOT / "docs" / "note.md"
#: Where `make docs` writes it; the page of the note links to it.
PDF = ROOT / "out" / "site" / "note.pdf"
_STYLE = """
#set page(paper: "a4", margin: (x: 2.1cm, y: 2.2cm), numbering: "1")
#set text(size: 10pt, lang: "en")
#set par(justify: true)
#set heading(numbering: none)
#show heading.where(level: 1): it => align(center, text(size: 17pt, it.body)) + v(0.8em)
#set table(stroke: 0.4pt + luma(70%), inset: 4pt)
#show table: set text(size: 8.5pt)
#show table: set par(justify: false)
#show table: set align(left)
#show figure: set block(breakable: false)
#show figure.caption: set text(size: 9pt)
// Text flows round figures, so that no page ends early. Only wide ones need the whole width to be readable.
#show figure.where(kind: image): set figure(placement: auto)
#set image(width: 100%)
#show image: it => context {
  let size = measure(it, width: 10cm)
  if size.width > 2.4 * size.height { it } else { box(width: 72%, it) }
}
#let horizontalrule = line(length: 100%, stroke: 0.4pt + luma(70%))
"""


def as_typst(markdown: str) -> str:
    """The Typst source of a note: style first, then the text as pandoc converts it, without links to the PDF itself."""
    reader = "markdown-implicit_figures+implicit_figures+tex_math_dollars+pipe_tables-auto_identifiers"
    text = re.sub(rf'^<a href="{PDF.name}">.*</a>$', "", markdown, flags=re.MULTILINE)
    # Rows of tables that are longer than a line of `columns` would get columns of equal width.
    options = ["--wrap=none", "--columns=10000"]
    return _STYLE + pypandoc.convert_text(text, "typst", format=reader, extra_args=options)


def as_pdf(markdown: str, folder: Path) -> bytes:
    """The note as a PDF; its images are looked for in `folder`."""
    with tempfile.NamedTemporaryFile("w", suffix=".typ", dir=folder, prefix=".note-") as file:
        file.write(as_typst(markdown))
        file.flush()
        return typst.compile(file.name, root=str(ROOT))


def main() -> None:
    """Write out/site/note.pdf."""
    made = as_pdf(NOTE.read_text(), NOTE.parent)
    PDF.parent.mkdir(parents=True, exist_ok=True)
    write_whole(PDF, lambda file: file.write(made))
    print(f"{PDF.relative_to(ROOT)}: {len(made) // 1024} KiB")


if __name__ == "__main__":
    main()
