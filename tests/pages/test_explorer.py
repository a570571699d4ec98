"""The explorer in a real browser: its numbers are those of the theory, and every way of setting a size works."""

import re

import numpy as np
import pytest

from loadstone.cli.predict import MODEL_WIDTHS, rows_of_the_paper
from loadstone.pages.explorer import explorer_page
from loadstone.studies.kit.panels import COLOURS, PREDICTION, TARGET
from loadstone.theory.hebbian import score_moments
from loadstone.theory.prediction import predict
from loadstone.theory.scores import rival_density, target_density
from loadstone.theory.spectra import at_capacity, initial_factored

#: (d, p, kappa): tiny ones, those of the presets, below, at and above capacity, far from it, and not of full rank.
SIZES = [
    (1, 2, 1.0), (1, 3, 1.0), (2, 2, 1.0), (2, 3, 1.0), (3, 2, 1.0), (3, 7, 1.0), (5, 40, 1.0), (6, 2, 0.667),
    (10, 29, 1.0), (16, 57, 1.0), (20, 85, 1.0), (50, 380, 1.0), (50, 100, 0.3), (100, 1200, 1.0), (768, 41728, 1.0),
    (768, 41800, 1.0), (768, 8000, 1.0), (768, 90, 1.0), (1024, 69881, 1.0), (1024, 30000, 0.5), (1600, 500000, 0.01),
    (4096, 867136, 1.0), (4096, 867500, 1.0), (4096, 1500000, 0.25), (12288, 6584663, 1.0), (12288, 100, 0.9),
    (16384, 11237964, 1.0), (16384, 22000000, 1.0), (32768, 40000000, 0.75), (20, 10**8, 1.0), (32768, 2, 1.0),
]  # fmt: skip
#: Of Python's Fourier transform where p is large, and of 1 - epsilon where epsilon is nearly 1.
NOISE = {"probability_storable": 2e-9, "hebbian_accuracy": 5e-14, "hebbian_probability_all_stored": 1e-290}
NOISE["impossible"] = 1e-12
#: The rows of `loadstone predict` that the page shows too, letter for letter but for spaces.
SAME_WORDS = {
    "p_c": "capacity of this d, at finite size",
    "p_c_asymptotic": "  in the limit of large d",
    "p_hebbian": "  of the Hebbian rule, in the limit",
    "d_c": "least d for this p",
    "alpha": "load alpha = p log p / d^2",
    "alpha_c_finite": "  at capacity, for this p",
    "alpha_c": "  at capacity, in the limit",
    "bits_per_parameter": "bits per parameter, log2(p!) / parameters",
    "bits_per_parameter_at_capacity": "  at capacity",
    "parameters": "parameters, d^2 or 2 d m - m^2",
    "hebbian_accuracy": "Hebbian rule recalls",
    "hebbian_probability_all_stored": "  all of them with probability",
}


def show(page, d, p, kappa):
    page.evaluate("([d, p, kappa]) => { Object.assign(state, { d, p, kappa }); render(); }", [d, p, kappa])


def drawings(page):
    return {name: page.inner_html(f"#{name}") for name in ("chance", "magnified", "spectrum", "scores")}


def plain(text):
    """Words of the page as `loadstone predict` would print them."""
    text = re.sub("[\u202f\u00a0]", "", text)
    raised = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    return re.sub(r" × 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda found: f"e{int(found[1].translate(raised)):+03d}", text)


def test_numbers_are_those_of_the_theory(page):
    found = page.evaluate("sizes => sizes.map(([d, p, kappa]) => theory.predict(d, p, kappa))", SIZES)
    for (d, p, kappa), record in zip(SIZES, found):
        prediction = predict(d, p, kappa=kappa)
        for name, value in record.items():
            expected = getattr(prediction, name)
            if expected is None:
                assert value is None and kappa < 1
                continue
            assert value == pytest.approx(expected, rel=1e-8, abs=NOISE.get(name, 0)), (d, p, kappa, name)


def test_answers_and_families_are_those_of_the_theory(page):
    names = page.evaluate("families.names")
    few = [(8, 20, None), (8, 30, 5), (20, 60, 12), (20, 45, 300), (50, 371, None), (300, 10_000, 40), (300, 5000, 700)]
    # So many answers that single facts become impossible: a few of them, most, and nearly all.
    few += [(12, 20, 300), (8, 3, 1000), (8, 2, 10**6)]
    sizes = [(*size, name, 0) for name in names for size in few]
    sizes += [(*size, name, margin) for name in ("full", "symmetric") for size in few[1:8] for margin in (0.05, 1.5)]
    call = "families.predictFacts(d, p, m, name, margin)"
    found = page.evaluate(f"sizes => sizes.map(([d, p, m, name, margin]) => {call})", sizes)
    for (d, facts, answers, name, margin), record in zip(sizes, found):
        if record is None:
            with pytest.raises(ValueError, match="not known"):
                predict(d, facts, answers=answers, family=name)
            continue
        prediction = predict(d, facts, answers=answers, family=name, margin=float(margin))
        for key, value in record.items():
            where, expected = (d, facts, answers, name, margin, key), getattr(prediction, key)
            assert (value is None) == (expected is None), where
            assert value is None or value == pytest.approx(expected, rel=1e-8, abs=NOISE.get(key, 0)), where


def test_answers_and_family_can_be_set_and_are_in_the_address(page, explorer):
    page.goto(f"{explorer.as_uri()}#d=100&p=200&answers=200&family=blocks:8")
    page.wait_for_function("() => element('facts_c').textContent === '217'")
    assert page.input_value("#family") == "blocks:8" and page.input_value("#answers-field") == "200"
    assert page.inner_text("#delta") == "1252" and page.inner_text("#D") == "5.7511"
    page.select_option("#family", "psd")
    page.fill("#answers-field", "50")
    page.wait_for_function("() => location.hash.endsWith('&answers=50&family=psd')")
    assert page.inner_text("#facts_c") == "not known"
    page.fill("#answers-field", "1")
    assert page.inner_text("#answers-error").startswith("answers is “1”, but must be a whole number from 2")
    page.fill("#answers-field", "")
    page.select_option("#family", "full")
    page.wait_for_function("() => element('facts_c').textContent === element('p_c').textContent")
    page.wait_for_function("() => location.hash === '#d=100&kappa=1&p=200'")


def test_a_margin_can_be_set_and_impossible_facts_are_mentioned(page, explorer):
    page.goto(f"{explorer.as_uri()}#d=12&p=30&answers=300&margin=0.2")
    page.wait_for_function("() => element('facts_c').textContent === '20'")
    assert page.input_value("#margin-field") == "0.2" and page.inner_text("#D") == "7.1983"
    assert page.inner_text("#facts_probability") == "not known"
    (sentence,) = (one for one in predict(12, 30, answers=300).caveats if "even alone" in one)
    note = page.inner_text("#answers-note")
    assert note.startswith("0.84 of the 30 facts, on average, cannot be stored even alone") and sentence[:4] == note[:4]
    assert "margins are some 20 % smaller" in note and note.endswith("upper bound.")
    page.fill("#margin-field", "11")
    assert page.inner_text("#margin-error") == "margin is “11”, but must be a number from 0 to 10."
    page.fill("#margin-field", "")
    page.fill("#answers-field", "")
    page.wait_for_function("() => location.hash === '#d=12&kappa=1&p=30'")
    assert page.inner_text("#answers-note") == ""
    page.fill("#margin-field", "10")
    page.wait_for_function("() => element('facts_c').textContent === '2'")
    page.fill("#d-field", "6")
    page.wait_for_function("() => element('facts_c').textContent === 'fewer than two'")


def test_hebbian_scores_have_the_moments_of_the_theory(page):
    for d, p, _ in SIZES:
        found = page.evaluate("([p, d]) => theory.hebbianScores(p, d)", [p, d])
        _, mean, deviation = score_moments(p, d)
        assert (found["mean"], found["deviation"]) == pytest.approx((mean, deviation), rel=1e-12)


@pytest.mark.parametrize("sizes", [SIZES[::3], pytest.param(SIZES, marks=pytest.mark.soak)], ids=["some", "all"])
def test_words_are_those_of_the_command(page, sizes):
    for d, p, kappa in sizes:
        show(page, d, p, kappa)
        expected = predict(d, p, kappa=kappa)
        rows = rows_of_the_paper(expected)
        shown = page.evaluate("Object.fromEntries(Object.keys(FORMATS).map(x => [x, element(x).textContent]))")
        for name, row in SAME_WORDS.items():
            words = rows[row].removesuffix(" associations").removesuffix(" of them").replace(" %", "%")
            assert plain(shown[name]) == words, (d, p, kappa, name)
        probability = expected.probability_storable
        if probability is None:
            words = "known for κ = 1 only"
        elif 0.0001 <= probability <= 0.9999:
            words = f"{probability:.4f}"
        else:
            words = "> 0.9999" if probability > 0.5 else "< 0.0001"
        assert shown["probability_storable"].replace("\u00a0", " ") == words


def test_verdict_in_plain_words(page):
    words = {}
    for name, size in {"fits": (768, 30000, 1.0), "many": (768, 50000, 1.0), "edge": (768, 41728, 1.0),
                       "low rank": (768, 30000, 0.5), "far": (20, 10**6, 1.0)}.items():  # fmt: skip
        show(page, *size)
        words[name] = plain(page.inner_text("#verdict"))
    assert words["fits"] == "Fits: one 768 × 768 matrix can hold about 41728 facts, and 30000 are 71.9% of that."
    assert words["many"].startswith("Too many: one 768 × 768 matrix can hold about 41728 facts, and 50000 are 120% of")
    assert words["many"].endswith(f"They need a width of at least {predict(facts=50000).d}.")
    assert words["edge"].endswith("about 41728 facts; 41728 fit with probability 0.50.")
    assert "matrix of rank 384 can hold" in words["low rank"] and "times that" in words["far"]
    assert page.get_attribute("#verdict", "aria-live") == "polite"


@pytest.mark.parametrize("name, key, number, drawing", [
    ("kappa", "ArrowLeft", "probability_storable", "spectrum"),
    pytest.param("d", "ArrowRight", "p_c", "chance", marks=pytest.mark.soak),
    pytest.param("p", "ArrowRight", "alpha", "scores", marks=pytest.mark.soak),
])  # fmt: skip
def test_arrow_keys_on_a_slider_change_number_field_and_drawing(page, name, key, number, drawing):
    for d in (3, 768, 16384):
        show(page, d, max(2, predict(d=d).p // 2), 1.0)
        before, words, field = drawings(page), page.inner_text(f"#{number}"), page.input_value(f"#{name}-field")
        page.focus(f"#{name}-slider")
        page.keyboard.press(key)
        page.wait_for_function("before => element('chance').innerHTML !== before", arg=before["chance"])
        assert page.inner_text(f"#{number}") != words and drawings(page)[drawing] != before[drawing]
        assert page.input_value(f"#{name}-field") != field
        assert page.get_attribute(f"#{name}-slider", "aria-valuetext") == page.input_value(f"#{name}-field")


def test_everything_can_be_reached_by_the_tab_key_and_is_seen_there(page):
    reached = []
    for _ in range(14):
        page.keyboard.press("Tab")
        name = "({ id, dataset }) => id || dataset.width || dataset.picture"
        reached.append(page.evaluate(f"({name})(document.activeElement)"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert reached == [
        "d-field", "d-slider", "768", "1024", "4096", "12288", "kappa-field", "kappa-slider", "p-field", "p-slider",
        "fill", "keep", "chance", "magnified",
    ]  # fmt: skip


def test_presets_and_the_button_for_the_capacity(page):
    known = MODEL_WIDTHS | {1024: "BERT large"}
    for width in (768, 1024, 4096, 12288):
        button = page.locator(f"[data-width='{width}']")
        assert button.locator("small").inner_text() == known[width]
        button.click()
        page.wait_for_function("width => Number(element('d-field').value.replace(/\\s/g, '')) === width", arg=width)
        assert button.get_attribute("aria-pressed") == "true"
        page.click("#fill")
        page.wait_for_function("p => element('p-field').value.replace(/\\s/g, '') === p", arg=str(predict(d=width).p))
        assert page.inner_text("#verdict").startswith("On the edge:")


def test_typed_numbers_are_taken_and_others_get_a_sentence(page):
    for name, text in {"d": "1024", "kappa": "0.5", "p": "3e4"}.items():
        page.fill(f"#{name}-field", text)
    page.wait_for_function("plainText => element('p_c').textContent.replace(/\\s/g, '') === plainText", arg="63174")
    assert page.evaluate("state") == {"d": 1024, "kappa": 0.5, "p": 30000}
    before = page.inner_text("#p_c"), page.inner_text("#verdict")
    for name, allowed in {"d": "a whole number from 1 to 32\u202f768", "kappa": "a number from 0.000001 to 1",
                          "p": "a whole number from 2 to 100\u202f000\u202f000"}.items():  # fmt: skip
        for text in ("", "abc", "-5", "1e30", "9" * 400, "0", "<b>1</b>", "1,5"):
            page.fill(f"#{name}-field", text)
            sentence = page.inner_text(f"#{name}-error")
            assert sentence.startswith(f"{name} is ") and sentence.endswith(f", but must be {allowed}."), text
            assert page.get_attribute(f"#{name}-field", "aria-invalid") == "true"
    page.fill("#d-field", "2.5")
    assert "“2.5”" in page.inner_text("#d-error")
    # The sentences make the page longer, so drawings may have another height, but they are of the same sizes.
    assert page.evaluate("state") == {"d": 1024, "kappa": 0.5, "p": 30000}
    assert (page.inner_text("#p_c"), page.inner_text("#verdict")) == before
    page.focus("#kappa-slider")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => element('d-error').textContent === ''")
    assert page.input_value("#d-field") == "1024"


def test_the_address_holds_the_sizes(page, explorer):
    page.goto(f"{explorer.as_uri()}#d=4096&kappa=0.25&p=50000")
    page.wait_for_function("() => element('d-field').value === '4096'")
    assert page.evaluate("state") == {"d": 4096, "kappa": 0.25, "p": 50000}
    entries = page.evaluate("history.length")
    page.focus("#kappa-slider")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.hash === '#d=4096&kappa=0.28&p=50000'")
    assert page.evaluate("history.length") == entries
    page.evaluate("location.hash = '#d=many&p=1e3'")
    page.wait_for_function("() => element('p-field').value === '1000'")
    assert page.inner_text("#d-error").startswith("d is “many”, but must be")
    assert page.evaluate("state") == {"d": 4096, "kappa": 0.28, "p": 1000}


def test_laws_of_scores(page):
    for p in (2, 10, 376, 41729, 6584664):
        laws = page.evaluate("p => Object.entries(theory.scoreLaws(p)).map(([name, x]) => [name, [...x]])", p)
        tau, target, rival = (np.array(dict(laws)[name]) for name in ("tau", "target", "rival"))
        assert np.trapezoid(target, tau) == pytest.approx(1, abs=1e-9)
        assert np.trapezoid(rival, tau) == pytest.approx(1, abs=1e-9)
        np.testing.assert_allclose(target, target_density(tau, p), rtol=0, atol=1e-10)
        # The spline of scores.py is the coarser of the two.
        np.testing.assert_allclose(rival, rival_density(tau, p), rtol=0, atol=2e-8)


def test_spectra(page):
    for kappa in (1.0, 0.999, 0.5, 0.1, 0.01):
        for name, law in {"AtCapacity": at_capacity(kappa), "Initial": initial_factored(kappa)}.items():
            found = page.evaluate(f"kappa => theory.spectrum{name}(kappa, 2000)", kappa)
            # At full rank the law before training has no density at its first point, zero.
            s, density = np.array(found["points"][name == "Initial" :]).T
            np.testing.assert_allclose(density[1:-1], law.density(s[1:-1]), rtol=1e-8, atol=1e-12)
            assert np.trapezoid(density, s) == pytest.approx(kappa, rel=2e-3)
            assert found["lower"] == pytest.approx(law.lower, abs=1e-12)
            assert found["atom"] == pytest.approx(law.atom)


LOOKS = [(10, 29, 1.0), (2, 2, 1.0), (768, 30000, 1.0), (768, 2, 0.1), (12288, 6584663, 1.0), (32768, 10**8, 0.01)]


@pytest.mark.parametrize("width, height", [(360, 800), (1200, 900)])
def test_no_words_are_cut_or_overlap_on_a_phone_or_a_desk(open_page, explorer, width, height):
    page = open_page(explorer, width, height)
    page.add_script_tag(content=_LOOK)
    for size in LOOKS:
        show(page, *size)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), size
        assert page.evaluate("faults()") == [], size


#: Words that leave their drawing, or meet other words in it by more than the white around letters.
_LOOK = """
function faults() {
  const found = [];
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
    boxes.forEach(([words, box], i) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1) found.push(`${words} is cut`);
      for (const [others, other] of boxes.slice(i + 1)) {
        const across = Math.min(box.right, other.right) - Math.max(box.left, other.left);
        const down = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
        if (across > 1 && down > 4) found.push(`${words} meets ${others}`);
      }
    });
  }
  return found;
}
"""


def test_colours_are_those_of_the_figures_and_can_be_read_in_light_and_dark(page):
    def colours():
        names = ("prediction", "target", "hebbian", "rival", "ink", "soft", "card")
        read = "names => names.map(name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`))"
        return dict(zip(names, (value.strip() for value in page.evaluate(read, names))))

    light = colours()
    assert (light["prediction"], light["target"], light["hebbian"]) == (PREDICTION, TARGET, COLOURS[0])
    page.emulate_media(color_scheme="dark")
    dark = colours()
    assert dark["hebbian"] in COLOURS and brightness(dark["card"]) < 0.05 < 0.9 < brightness(light["card"])
    for scheme in (light, dark):
        for name in ("prediction", "hebbian", "ink", "soft"):
            assert contrast(scheme[name], scheme["card"]) > 4.5, (name, scheme)
        assert contrast(scheme["rival"], scheme["card"]) > 3


def brightness(colour):
    """Relative luminance of #rrggbb."""
    levels = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(levels <= 0.04045, levels / 12.92, ((levels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(first, second):
    low, high = sorted([brightness(first), brightness(second)])
    return (high + 0.05) / (low + 0.05)


def test_a_moving_slider_is_followed(page):
    show(page, 12000, 10**6, 1.0)
    times = page.evaluate("""() => [...Array(9)].map(() => {
        const start = performance.now();
        state.d += 96;
        render();
        return performance.now() - start;
    })""")
    # About 20 ms on an idle machine; tests share theirs with others, so that only the fastest tells.
    assert min(times) < 200


def test_the_command_writes_one_page_that_is_always_the_same(command, tmp_path):
    done = command("explore", "--out", "explore.html", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "") and done.stderr.startswith("Written: explore.html.")
    written = (tmp_path / "explore.html").read_bytes()
    assert written == explorer_page().encode() and len(written) < 300_000
    assert not re.search(rb"https?:|//[a-z]+\.|@import|url\(|import\(", written)
