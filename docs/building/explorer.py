"""The explorer on the first page of the site: as high as it is, so that it scrolls with the page around it."""

from __future__ import annotations

from pathlib import Path

from loadstone.pages.explorer import explorer_page

#: The page of its own, beside the first page.
NAME = "explore.html"
_FRAME = f"""<iframe class="explorer" src="{NAME}" title="How many facts fit: an interactive page"></iframe>
<script>
addEventListener("message", ({{ source, data }}) => {{
  const frame = document.querySelector("iframe.explorer");
  if (source === frame.contentWindow && Number.isFinite(data?.height)) frame.style.height = `${{data.height}}px`;
}});
</script>"""


def markdown() -> str:
    """A frame with the explorer, and a link to it."""
    return f'{_FRAME}\n\n<p><a href="{NAME}">The same on a page of its own</a>, which works without a network.</p>'


def write(folder: Path) -> None:
    """Write the explorer into the folder of the site."""
    (folder / NAME).write_text(explorer_page(), encoding="utf-8")
