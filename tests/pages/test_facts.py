"""The page about a book, in a real browser: its numbers are the book's, names are never markup, and many facts open."""

import json
import re

import numpy as np
import pytest

from loadstone.books.book import Book
from loadstone.books.budget import budget_of
from loadstone.books.report import report_of, whitened_spectrum
from loadstone.books.storing import remember
from loadstone.pages.facts import facts_page

STRANGE = [
    "</script><script>document.title = 'broken'</script>", '<img src=x onerror="document.title = \'broken\'">',
    "<!--<script>", "&lt;b&gt;", '"quoted" \\ back', "line\nbreak\u2028and\0more", "\u202egnihtyna",
    "é" * 10_000, "$data ${1+1}",
]  # fmt: skip


def book_of(n=30, d=7):
    random = np.random.default_rng(0)
    names, answers = [f"Land {i}" for i in range(n)], [f"City {i}" for i in range(n)]
    names[: len(STRANGE)] = STRANGE
    answers[n - len(STRANGE) :] = STRANGE
    vectors = {name: random.standard_normal(d) for name in dict.fromkeys(names + answers)}
    vectors[names[20]] = 2 * vectors[names[12]]
    return remember(list(zip(names, answers)), vectors, seconds=20)


def written(path, book, shuffles=1):
    path.write_text(facts_page("b <1>.safetensors", report_of(book, budget_of(book, shuffles=shuffles))), "utf-8")
    return path


def test_the_law_of_singular_values_is_drawn_from_one_end_to_the_other():
    """A quarter circle: 2 / pi high at 0, and gone at 2."""
    page = facts_page("b", {})
    curve = np.array(json.loads(re.search(r'"quarterCircle": ?(\[\[.*?\]\])', page)[1]))
    np.testing.assert_allclose(curve[[0, -1]], [[0, 2 / np.pi], [2, 0]], atol=1e-5)
    np.testing.assert_allclose(curve[:, 1], np.sqrt(4 - curve[:, 0] ** 2) / np.pi, atol=1e-3)


@pytest.fixture(scope="module")
def book():
    return book_of()


@pytest.fixture(scope="module")
def path(tmp_path_factory, book):
    return written(tmp_path_factory.mktemp("facts") / "facts.html", book)


@pytest.fixture
def page(open_page, path):
    return open_page(path)


def table(page):
    """The rows that exist now, as texts."""
    return page.evaluate(
        "[...document.querySelectorAll('#body tr:not(.space)')].map(r => [...r.cells].map(c => c.textContent))"
    )


def number(text):
    raised = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    plain = re.sub(r" × 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda found: f"e{found[1].translate(raised)}", text)
    return float(plain.replace("−", "-").replace("\u202f", ""))


def test_names_are_never_markup(page, book):
    assert page.title() == "b <1>.safetensors – loadstone" and page.inner_text("h1") == "b <1>.safetensors"
    assert page.evaluate("document.images.length") == 0 and page.evaluate("document.scripts.length") == 5
    rows = table(page)
    assert [row[0] for row in rows[: len(STRANGE)]] == STRANGE
    held = page.evaluate("[report.subjects, report.answers, report.conflicts]")
    assert held == [list(book.subjects), list(book.answers), book.conflicts()]


def test_a_script_that_is_not_the_pages_own_does_not_run(path, browser, tmp_path):
    # Even if a name got into the markup: the policy knows the page's scripts by their hashes.
    hurt = path.read_text("utf-8").replace("<h1>", "<script>document.title = 'broken'</script><h1>")
    (tmp_path / "hurt.html").write_text(hurt, "utf-8")
    opened = browser.new_page()
    opened.goto((tmp_path / "hurt.html").as_uri())
    assert opened.title() == "b <1>.safetensors – loadstone" and opened.locator("#body tr").count() > 10
    opened.close()


def test_every_fact_has_its_margin_and_rival(page, book):
    scores = book.inputs @ book.weights.T @ book.outputs.T
    rows = table(page)
    assert page.inner_text("#found") == "30 facts"
    for row, (subject, answer, margin, rival, stored) in enumerate(rows):
        own = scores[row].copy()
        target, own[book.targets[row]] = own[book.targets[row]], -np.inf
        assert (subject, answer) == (book.subjects[row], book.answers[book.targets[row]])
        assert rival == book.answers[own.argmax()] and stored == ("yes" if book.stored[row] else "no")
        assert number(margin) == pytest.approx(target - own.max(), rel=1e-3)


def test_rows_are_searched_and_sorted(page, book):
    page.fill("#search", "land 1")
    assert {row[0] for row in table(page)} == {f"Land {i}" for i in (1, *range(10, 20))} & set(book.subjects)
    page.fill("#search", "<SCRIPT>")
    # As subject, as answer or as rival.
    assert all(any("<script>" in text for text in row) for row in table(page)) and len(table(page)) >= 4
    page.fill("#search", "nowhere to be found")
    assert table(page) == [] and page.inner_text("#found") == "0 of 30"
    page.fill("#search", "")
    for column, index in {"margin": 2, "subject": 0, "answer": 1, "rival": 3, "stored": 4}.items():
        head = page.locator(f"th[data-column='{column}']")
        orders = []
        for direction in ("ascending", "descending"):
            head.locator("button").click()
            assert head.get_attribute("aria-sort") == direction and page.locator("th[aria-sort]").count() == 1
            orders.append([row[index] for row in table(page)])
        assert orders[0] == orders[1][::-1]
        if column == "margin":
            shown = [number(text) for text in orders[0]]
            assert shown == sorted(shown)
        if column == "subject":
            assert orders[0].index("Land 9") < orders[0].index("Land 10")
    page.check("#only-missing")
    assert {row[0] for row in table(page)} == {one.subject for one in book.failures()} != set()


def test_the_numbers_of_the_budget_are_said(page, book):
    held = page.evaluate("report.budget")
    law, stored = budget_of(book, shuffles=0).law, int(book.stored.sum())
    assert held["law"]["capacity"] == law.capacity and held["stored"] == stored
    words = page.inner_text("#gauge-note")
    assert f"{round(law.capacity)} random facts" in words and f"{100 * law.load:.3g}\u00a0% full" in words
    assert "With their answers shuffled" in words and f"{stored} stored" in page.inner_text("#summary")
    assert page.get_attribute("#gauge", "aria-label") == words
    assert page.locator("#conflicts li").count() == len(book.conflicts()) > 0
    assert page.locator("#conflicts bdi").first.inner_text() == book.conflicts()[0][0]
    assert page.locator("#caveats li").all_inner_texts() == list(law.caveats)


def test_the_histogram_counts_every_margin(page, book):
    bars = page.evaluate("histogram([-1, 0, 0.5, 1, 3], -1, 1, 4).map(({count}) => count)")
    assert bars == [1, 0, 1, 2]
    margins = book.margins()
    note = page.inner_text("#margins-note")
    assert number(note.split("smallest is ")[1].split(",")[0]) == pytest.approx(margins.min(), rel=1e-3)
    assert number(note.split("median ")[1].split(". ")[0].rstrip(".")) == pytest.approx(np.sort(margins)[15], rel=1e-3)
    assert page.locator("#margins path.stored").count() > 0


def test_singular_values_stand_beside_the_quarter_circle(page, book):
    values = np.array(page.evaluate("report.singular_values"))
    assert len(values) == 7 and np.mean(values**2) == pytest.approx(1)
    # An invertible map of both sides, undone in W, leaves them as they are.
    random = np.random.default_rng(1)
    a, b = random.standard_normal((2, 7, 7))
    weights = np.linalg.inv(a).T @ book.weights @ np.linalg.inv(b)
    words = book.subjects, book.answers, book.targets
    mapped = Book(weights, *words, book.inputs @ b.T, book.outputs @ a.T + 3, book.stored)
    np.testing.assert_allclose(whitened_spectrum(mapped), values, rtol=1e-6)
    assert page.locator("#spectrum path.prediction").count() == 1 and "quarter circle" in page.inner_text(
        "#spectrum-note"
    )


def test_where_no_law_is_known_the_page_says_why(open_page, tmp_path):
    random = np.random.default_rng(2)
    vectors = {f"s{i}": random.standard_normal(9) for i in range(12)} | {
        f"a{i}": random.standard_normal(9) for i in range(4)
    }
    pairs = [(f"s{i}", f"a{i % 4}") for i in range(12)]
    page = open_page(written(tmp_path / "few.html", remember(pairs, vectors), 0))
    assert page.locator("#spectrum path.prediction").count() == 0
    assert "these vectors show a 3 × 9 part of W" in page.inner_text("#spectrum-note")
    assert "control was left out" in page.inner_text("#gauge-note") and "Everything is stored" in page.inner_text(
        "#conflicts-note"
    )
    page = open_page(written(tmp_path / "symmetric.html", remember(pairs[:8], vectors, family="symmetric"), 0))
    assert "No law of singular values is known for the family symmetric" in page.inner_text("#spectrum-note")


@pytest.mark.parametrize("width, height", [(360, 800), (1200, 900)])
def test_nothing_is_wider_than_the_page_in_light_and_dark(open_page, path, width, height):
    page = open_page(path, width, height)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        cut = """[...document.querySelectorAll('svg text')].filter(text => {
            const box = text.getBoundingClientRect(), frame = text.ownerSVGElement.getBoundingClientRect();
            return box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1;
        }).map(text => text.textContent)"""
        assert page.evaluate(cut) == []


def test_fifty_thousand_facts_open_and_follow_the_wheel(open_page, tmp_path):
    n, random = 50_000, np.random.default_rng(0)
    report = {
        "d": 100, "family": "full", "proved": False, "subjects": [f"subject {i}" for i in range(n)],
        "answers": [f"answer {i}" for i in range(n)], "targets": list(range(n)),
        "rivals": random.integers(n, size=n).tolist(), "margins": random.standard_normal(n).round(5).tolist(),
        "missing": list(range(0, n, 7)), "conflicts": [[f"{i}", "x"] for i in range(900)], "without_vector": [],
        "singular_values": [1.0] * 100,
    }  # fmt: skip
    small = budget_of(remember(*_three())).described()
    report["budget"] = small | {"facts": n, "stored": n - len(report["missing"])}
    path = tmp_path / "many.html"
    path.write_text(facts_page("many", report), "utf-8")
    assert path.stat().st_size < 5e6
    page = open_page(path)
    assert page.inner_text("#found") == "50\u202f000 facts" and page.locator("#body tr").count() < 80
    assert page.locator("#conflicts li").count() == 200 and "700 more are not shown" in page.inner_text(
        "#conflicts-note"
    )
    page.evaluate("element('rows').scrollTop = 25000 * ROW_HEIGHT")
    page.wait_for_function("() => document.querySelector('#body').textContent.includes('subject 25001')")
    assert page.locator("#body tr").count() < 80
    page.evaluate("element('rows').scrollTop = element('rows').scrollHeight")
    page.wait_for_function("() => document.querySelector('#body').textContent.includes('subject 49999')")
    times = page.evaluate("""() => ['answer 4', 'subject 49', ''].map(words => {
        const start = performance.now();
        element('search').value = words;
        list();
        return performance.now() - start;
    })""")
    # Some 20 ms on an idle machine; tests share theirs with others, so that only the fastest tells.
    assert min(times) < 500
    page.click("th[data-column='margin'] button")
    smallest = int(np.argmin(report["margins"]))
    assert table(page)[0][0] == f"subject {smallest}"


def _three():
    vectors = {name: [float(i == j) for j in range(4)] for i, name in enumerate(("a", "b", "x", "y"))}
    return [("a", "x"), ("b", "y")], vectors


def test_the_page_is_one_file_that_asks_for_nothing(path):
    text = path.read_text("utf-8")
    assert not re.search(r"https?:|@import|url\(|import\(", text.split('id="data"')[0])
    assert text.count("<script") == text.count("</script>") == 5
    assert json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])["d"] == 7


def test_a_book_that_stores_nothing_opens(book, open_page, tmp_path):
    words = book.subjects, book.answers, book.targets, book.inputs, book.outputs
    empty = Book(np.zeros((7, 7)), *words, np.zeros(30, bool))
    page = open_page(written(tmp_path / "empty.html", empty))
    assert "0 stored, 30 not. This is not proved" in page.inner_text("#summary")
    assert "The smallest is 0" in page.inner_text("#margins-note") and len(table(page)) == 30
