"""The explorer in a real browser: two settings side by side, and drawings as files."""

import re
from xml.etree import ElementTree

import pytest

from loadstone.theory.prediction import predict

SPACES = re.compile("[\u202f\u00a0]")


def table(page):
    """{row: (kept, now)}."""
    rows = page.eval_on_selector_all("#compared tr", "rows => rows.map(row => [...row.cells].map(c => c.innerText))")
    return {name: tuple(SPACES.sub("", cell) for cell in cells) for name, *cells in rows}


def differing(page):
    return page.eval_on_selector_all("#compared .differs th", "heads => heads.map(head => head.innerText)")


def test_two_settings_stand_side_by_side_with_the_numbers_of_the_theory(page, explorer):
    page.goto(f"{explorer.as_uri()}#d=100&p=500&answers=200&family=blocks:8&margin=0.1")
    assert page.is_hidden("#comparison")
    page.click("#keep")
    page.wait_for_selector("#comparison", state="visible")
    assert differing(page) == []
    page.fill("#d-field", "1024")
    page.select_option("#family", "symmetric")
    # The page draws after each change: the last one must be there.
    page.wait_for_function("() => element('compared').innerText.includes('symmetric')")
    found = table(page)
    for column, (d, family) in enumerate([(100, "blocks:8"), (1024, "symmetric")]):
        full, facts = predict(d, 500), predict(d, 500, answers=200, family=family, margin=0.1)
        expected = {
            "embedding width d": str(d),
            "number of facts p": "500",
            "number of answers M": "200",
            "memories of full rank": family,
            "margin": "0.1",
            "capacity of this d": str(int(full.p_c)),
            "least d for this p": str(full.d_c),
            "bits per parameter at capacity": f"{full.bits_per_parameter_at_capacity:.4f}",
            "capacity, with these": str(int(facts.facts_c)),
        }
        assert {name: found[name][column] for name in expected} == expected
    assert "number of facts p" not in differing(page) and "capacity of this d" in differing(page)


def test_the_comparison_is_in_the_address_and_can_be_exchanged_and_forgotten(page, explorer, open_page):
    page.goto(f"{explorer.as_uri()}#d=100&p=500&answers=200")
    page.click("#keep")
    page.fill("#answers-field", "")
    page.fill("#p-field", "900")
    wanted = "#d=100&kappa=1&p=900&kept-d=100&kept-kappa=1&kept-p=500&kept-answers=200&kept-family=full&kept-margin=0"
    page.wait_for_function("wanted => location.hash === wanted", arg=wanted)
    before = table(page)
    shared = open_page(explorer)
    shared.goto(explorer.as_uri() + wanted)
    shared.wait_for_selector("#comparison", state="visible")
    assert table(shared) == before and before["number of answers M"] == ("200", "as many as facts")
    page.click("#exchange")
    page.wait_for_function("() => element('p-field').value === '500' && element('answers-field').value === '200'")
    assert table(page) == {name: (now, kept) for name, (kept, now) in before.items()}
    page.click("#forget")
    page.wait_for_function("() => location.hash === '#d=100&kappa=1&p=500&answers=200'")
    assert page.is_hidden("#comparison") and page.evaluate("document.activeElement.id") == "keep"


@pytest.mark.parametrize(
    "words, sentence",
    [("kept-d=many", "d is “many”, but must be a whole number"), ("kept-d=5&kept-family=<b>", "family is “<b>”"),
     ("kept-p=9&kept-answers=1", "answers is “1”, but must be"), ("kept-margin=-1", "margin is “-1”, but must be")],
)  # fmt: skip
def test_an_address_with_a_setting_that_cannot_be_used_gets_a_sentence(page, explorer, words, sentence):
    page.goto(f"{explorer.as_uri()}#d=50&p=100&{words}")
    page.wait_for_function("() => element('comparison-error').textContent !== ''")
    said = page.inner_text("#comparison-error")
    assert said.startswith(f"The address names a setting to compare with, but its {sentence}")
    assert page.is_hidden("#comparison") and page.evaluate("state.d") == 50


@pytest.mark.parametrize("width, height", [(360, 800), (1200, 900)])
def test_the_comparison_fits_on_a_phone_and_a_desk(open_page, explorer, width, height):
    page = open_page(explorer, width, height)
    page.goto(f"{explorer.as_uri()}#d=32768&p=100000000&kept-d=12288&kept-p=6584663&kept-family=nonnegative")
    page.wait_for_selector("#comparison", state="visible")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(
    "name", ["chance", "magnified", *(pytest.param(name, marks=pytest.mark.soak) for name in ("spectrum", "scores"))]
)
def test_a_drawing_is_saved_as_it_is_seen(page, explorer, name, tmp_path):
    page.goto(f"{explorer.as_uri()}#d=50&p=300")
    page.wait_for_function("() => element('p-field').value === '300'")
    with page.expect_download() as download:
        page.click(f"[data-picture='{name}']")
    assert download.value.suggested_filename == f"{name}-d50-p300.svg"
    download.value.save_as(tmp_path / "saved.svg")
    root = ElementTree.parse(tmp_path / "saved.svg").getroot()
    drawing = "{http://www.w3.org/2000/svg}"
    words = [text.text for text in root.iter(f"{drawing}text")]
    assert words == page.eval_on_selector_all(f"#{name} text", "texts => texts.map(text => text.textContent)")
    assert root.find(f"{drawing}title").text == page.get_attribute(f"#{name}", "aria-label")
    assert root.find(f"{drawing}rect").get("fill") == "#ffffff"
    curves = [path for path in root.iter(f"{drawing}path") if path.get("stroke") == "rgb(176, 0, 32)"]
    assert curves and not any(part.get("class") for part in root.iter())


def test_there_is_no_magnified_part_to_save_below_full_rank(page, explorer):
    page.goto(f"{explorer.as_uri()}#d=50&p=300&kappa=0.5")
    page.wait_for_function("() => element('kappa-field').value === '0.5'")
    assert page.is_hidden("[data-picture='magnified']") and page.is_visible("[data-picture='chance']")
