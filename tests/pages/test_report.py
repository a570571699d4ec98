"""The report: complete, the same bytes every time, and opened in a real browser."""

import re
from html import escape

import pytest

from loadstone.studies.kit.comparison import Comparison
from loadstone.studies.registry import STUDIES, study_of
from loadstone.studies.report.claims import CLAIMS
from loadstone.studies.report.html import report_page
from loadstone.studies.report.numbers import Section

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="200" height="100"><rect width="200" height="100"/></svg>'
KIND = "mean of the proved capacity, decoupled"
GOOD = Comparison(f"{KIND}, d = 12", 39.58, 39.85, 0.386, family=KIND)
BAD = Comparison("load at which training fails, <d = 20>", 0.97, 0.78, 0.04, note="training & its limits")
TIMES = {"NVIDIA <H200>": 1234.0, "cpu": 20.4}


@pytest.fixture
def page():
    return made()


def made():
    sections = [
        Section(study_of(name), SVG, 3, 4, [GOOD, BAD] if name == "capacity" else [], ["1 < 2."], TIMES)
        for name in STUDIES
    ]
    return report_page(sections, "quick", "1.2.3")


def test_the_page_says_all_there_is_to_say(page):
    assert page == made()
    assert "2 numbers with a prediction: 1 agree, 1 differ, for 0 the measurement cannot tell" in page
    assert page.count("1 of 4 runs are missing or diverged") == len(STUDIES)
    assert page.count("From 3 runs, 21 min on NVIDIA &lt;H200&gt;, 20 s on cpu. ") == len(STUDIES)
    assert "<!--" not in page and "&lt;d = 20&gt;" in page and "training &amp; its limits" in page
    assert page.count("<li>1 &lt; 2.</li>") == len(STUDIES)
    for name in STUDIES:
        caption = study_of(name).caption
        assert f"loadstone reproduce {name} --scale quick</code>" in page
        # In the contents and above the figure.
        assert page.count(f">{escape(caption.title)}</a>") == page.count(f"<h2>{escape(caption.title)}</h2>") == 1
        assert page.count(escape(caption.theory)) == 1 and page.count(escape(caption.drawn)) >= 2
    row = r"39\.58<td>39\.85<td>0\.386<td>\+0\.7<td>1\.3<td class=\"yes\">agrees within 3\.2 %"
    assert re.search(row, page)
    assert page.count('class="no">differs by -20(4) %') == 2  # in its section and among the thresholds


def test_without_thresholds_it_says_so():
    page = report_page([Section(study_of("single"), SVG, 3, 3, [])], "quick", "1")
    assert "missing or diverged" not in page
    assert "None of the figures chosen for this report shows a threshold" in page
    assert "None of the figures chosen for this report answers one of its questions" in page


@pytest.mark.parametrize("width", [1200, 360])
def test_it_opens_offline_with_every_picture(page, open_page, tmp_path, width):
    (tmp_path / "report.html").write_text(page)
    opened = open_page(tmp_path / "report.html", width)
    assert opened.locator("figure img").count() == len(STUDIES)
    assert opened.locator("article img").count() == 1  # one of the five questions is about the number that is there
    assert opened.evaluate("[...document.images].every(image => image.complete && image.naturalWidth === 200)")
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    opened.get_by_role("link", name=study_of("capacity").caption.title).click()
    assert opened.locator("#capacity h2").is_visible() and opened.url.endswith("#capacity")


def test_it_opens_with_statements_then_the_paper_then_everything(page):
    places = [page.index(f'id="{name}"') for name in ("statements", "paper", "everything", "thresholds", "equivalence")]
    assert places == sorted(places)
    opening = page[places[0] : places[1]]
    assert "where it is proved? Yes. " in opening and "1 agrees within 3.2 %" in opening
    claims = page[places[1] : places[2]]
    assert claims.count("<tr data-verdict=") == len(CLAIMS) and 'data-verdict="reproduced"' in claims
    assert 'data-verdict="not in this report"' in claims


def test_every_column_of_a_table_has_a_heading(page):
    tables = re.findall(r"<thead>(.*?)</thead><tbody>(.*?)</tbody>", page, re.DOTALL)
    assert tables
    for head, body in tables:
        rows = re.findall(r"<tr.*?</tr>", body, re.DOTALL)
        assert {row.count("<td") for row in rows} <= {head.count("<th")}


@pytest.fixture
def opened(page, open_page, tmp_path):
    (tmp_path / "report.html").write_text(page)
    return open_page(tmp_path / "report.html")


def test_a_figure_is_enlarged_and_closed_again(opened):
    opened.locator("#law .enlarge").click()
    assert opened.locator("dialog img").bounding_box()["width"] > 1000
    opened.keyboard.press("Escape")
    assert not opened.locator("dialog").is_visible()
    opened.locator("#law .enlarge").focus()
    opened.keyboard.press("Enter")
    opened.locator("dialog img").click()
    assert not opened.locator("dialog").is_visible()


def test_a_table_is_sorted_by_a_column_and_turned_round(opened):
    table = opened.locator("#capacity table")
    measured = lambda: table.locator("tbody td:nth-child(3)").all_inner_texts()  # noqa: E731
    assert measured() == ["39.85", "0.78"]
    button = table.get_by_role("button", name="measured")
    button.click()
    assert measured() == ["0.78", "39.85"] and table.locator("th[aria-sort=ascending]").count() == 1
    button.click()
    assert measured() == ["39.85", "0.78"] and table.locator("th[aria-sort=descending]").count() == 1
    # Numbers come before words, and words in the order of the numbers in them.
    order = "['beyond any', '-3', 'd = 20', '12', 'd = 3', ''].sort(compared).join()"
    assert opened.evaluate(order) == "-3,12,,beyond any,d = 3,d = 20"


def test_verdicts_that_are_not_ticked_are_hidden_everywhere(opened):
    rows = opened.locator("#capacity tbody tr")
    assert [rows.nth(place).is_visible() for place in range(2)] == [True, True]
    opened.get_by_label("differs").uncheck()
    assert [rows.nth(place).is_visible() for place in range(2)] == [True, False]
    assert opened.locator("tr[data-verdict=differs]:visible").count() == 0
    opened.get_by_label("differs").check()
    assert rows.nth(1).is_visible()


def test_dark_and_light_have_readable_words(opened):
    colours = {}
    for scheme in ("light", "dark"):
        opened.emulate_media(color_scheme=scheme)
        style = "(x) => getComputedStyle(document.body)[x].match(/[0-9]+/g).map(Number)"
        colours[scheme] = [sum(opened.evaluate(style, name)) / 765 for name in ("color", "backgroundColor")]
    assert colours["light"][1] - colours["light"][0] > 0.7 and colours["dark"][0] - colours["dark"][1] > 0.7
