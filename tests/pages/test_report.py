"""The report: complete, the same bytes every time, and opened in a real browser."""

import re
from html import escape

import pytest

from loadstone.evidence.comparison import Comparison
from loadstone.figures.gallery import GALLERY, figure_of
from loadstone.pages.report import Section, report_page

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100"><rect width="200" height="100"/></svg>'
GOOD = Comparison("mean of the proved capacity, decoupled, d = 12", 39.58, 39.85, 0.386)
BAD = Comparison("load at which training fails, <d = 20>", 0.97, 0.78, 0.04, note="training & its limits")
TIMES = {"NVIDIA <H200>": 1234.0, "cpu": 20.4}


@pytest.fixture
def page():
    return made()


def made():
    sections = [
        Section(figure_of(name), SVG, 3, 4, [GOOD, BAD] if name == "capacity" else [], ["1 < 2."], TIMES)
        for name in GALLERY
    ]
    return report_page(sections, "quick", "1.2.3")


def test_the_page_says_all_there_is_to_say(page):
    assert page == made()
    assert "2 numbers with a prediction: 1 agree, 1 differ, for 0 the measurement cannot tell" in page
    assert page.count("1 of 4 runs are missing or diverged") == len(GALLERY)
    assert page.count("From 3 runs, 21 min on NVIDIA &lt;H200&gt;, 20 s on cpu. ") == len(GALLERY)
    assert "<!--" not in page and "&lt;d = 20&gt;" in page and "training &amp; its limits" in page
    for name in GALLERY:
        caption = figure_of(name).caption
        assert f"loadstone reproduce {name} --scale quick" in page
        assert page.count(escape(caption.title)) == 2  # in the contents and above the figure
        assert page.count(escape(caption.theory)) == 1 and page.count(escape(caption.drawn)) >= 2
    row = r"39\.58<td>39\.85<td>0\.386<td>\+0\.7<td>1\.3<td class=\"yes\">agrees within 3\.2 %"
    assert re.search(row, page)
    assert page.count('class="no">differs by -20(4) %') == 2  # in its section and among the thresholds


def test_without_thresholds_it_says_so():
    page = report_page([Section(figure_of("single"), SVG, 3, 3, [])], "quick", "1")
    assert "missing or diverged" not in page
    assert "None of the figures chosen for this report shows a threshold" in page


@pytest.mark.parametrize("width", [1200, 360])
def test_it_opens_offline_with_every_picture(page, open_page, tmp_path, width):
    (tmp_path / "report.html").write_text(page)
    opened = open_page(tmp_path / "report.html", width)
    assert opened.locator("img").count() == len(GALLERY)
    assert opened.evaluate("[...document.images].every(image => image.complete && image.naturalWidth === 200)")
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    opened.get_by_role("link", name=figure_of("capacity").caption.title).click()
    assert opened.locator("#capacity h2").is_visible() and opened.url.endswith("#capacity")
