"""The built site in a real browser: every page, light, dark and as wide as a phone. `make docs` builds it first."""

import json
import re

import pytest

from docs.building.contents import pages
from docs.building.links import ROOT

SITE = ROOT / "out" / "site"
pytestmark = pytest.mark.soak


@pytest.fixture(scope="module", autouse=True)
def built():
    if not (SITE / "index.html").exists():
        pytest.fail("There is no site in out/site: run `make docs` first.")


@pytest.fixture(params=[("light", 1280), ("dark", 1280), ("light", 390)], ids=["light", "dark", "phone"])
def window(request, browser):
    """A page in a window, with all that it says and asks for, which must be nothing in the end."""
    scheme, width = request.param
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    page, heard = context.new_page(), []
    page.on("console", lambda message: heard.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else heard.append(asked.url))
    yield page
    context.close()
    assert heard == []


def test_every_page_opens_without_errors_and_fits_its_window(window):
    for name in ["index", *sorted(pages())]:
        window.goto((SITE / f"{name}.html").as_uri())
        assert window.locator("h1").first.inner_text().strip(), name
        too_wide = window.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert too_wide <= 1, f"{name} is {too_wide} pixels too wide"
        broken = window.evaluate("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)")
        assert broken == [], name


def test_formulas_are_drawn_with_roots_that_grow(window):
    window.goto((SITE / "theory" / "projection.html").as_uri())
    window.evaluate("document.fonts.ready")
    assert window.locator("math").count() > 30
    assert window.evaluate("document.fonts.check('16px \"STIX Two Math\"')")
    # A fraction under a root: the root has to be at least as high.
    root, inside = (window.locator(name).first.bounding_box() for name in ("msqrt:has(mfrac)", "msqrt mfrac"))
    assert root["height"] >= inside["height"] > 20


def test_links_lead_to_pages_and_anchors(window):
    """A link within the site that was changed wrongly would lead nowhere."""
    wanted = {}
    for name in ["index", *sorted(pages())]:
        window.goto((SITE / f"{name}.html").as_uri())
        for link in window.evaluate("[...document.querySelectorAll('article a[href]')].map(a => a.href)"):
            if link.startswith("file:"):
                wanted.setdefault(link, name)
    for link, name in wanted.items():
        path, _, anchor = link.removeprefix("file://").partition("#")
        text = (SITE / path).read_text() if path.endswith(".html") else ""
        assert (SITE / path).exists(), f"{name} links to {link}"
        assert not anchor or not text or f'id="{anchor}"' in text, f"{name} links to {link}"


def test_search_finds_a_page_without_a_server(window):
    window.goto((SITE / "search.html").as_uri() + "?q=certificate")
    window.wait_for_selector("#search-results li a")
    assert window.locator("#search-results li a").count() > 3


def test_notebooks_are_there_as_files_for_jupyter_with_their_pictures():
    names = [name for name in pages() if name.startswith("notebooks/")]
    assert len(names) >= 5
    for name in names:
        cells = json.loads((SITE / f"{name}.ipynb").read_text())["cells"]
        outputs = [one for cell in cells if cell["cell_type"] == "code" for one in cell["outputs"]]
        assert any("image/png" in one.get("data", {}) for one in outputs), name
        assert not [one for one in outputs if one["output_type"] == "error"], name


def test_the_note_is_there_as_a_pdf_of_at_most_ten_pages():
    content = (SITE / "note.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    count = max(int(number) for number in re.findall(rb"/Count (\d+)", content))
    assert 3 <= count <= 10


def test_the_first_page_has_the_explorer_at_its_full_height(window):
    window.goto((SITE / "index.html").as_uri())
    frame = window.frame(url=re.compile(r"explore\.html"))
    frame.fill("#d-field", "20")
    frame.wait_for_function("() => element('p_c').textContent === '86'")
    window.wait_for_function("() => document.querySelector('iframe.explorer').style.height !== ''")
    hidden = frame.evaluate("document.documentElement.scrollHeight - innerHeight")
    assert hidden <= 1
    frame.click("#keep")
    window.wait_for_timeout(500)
    assert frame.evaluate("document.documentElement.scrollHeight - innerHeight") <= 1
