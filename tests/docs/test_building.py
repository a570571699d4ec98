"""The parts of the site that are computed: included files, formulas that would be loaded, points of the figures."""

import re

import numpy as np
import pytest

from docs.building import explorer, figures, shipped
from docs.building.links import ROOT
from docs.building.offline import loaded_from_elsewhere
from docs.building.pages import expanded, with_download
from loadstone.theory.capacity import capacity_associations

NOTE = (ROOT / "docs" / "note.md").read_text()


def test_an_included_file_brings_its_text_with_links_that_hold_on_the_page():
    page = ROOT / "docs" / "benchmarks.md"
    text = expanded(page.read_text(), page)
    assert text.startswith("# Benchmarks") and "[cpu.json](../benchmarks/cpu.json)" in text
    assert "](../docs/" not in text
    assert "## loadstone predict" in expanded("# A\n\n```{generated} commands\n```\n", page)


def test_a_notebook_gets_a_link_to_itself_below_its_title():
    text = with_download("---\nfile_format: mystnb\n---\n\n# A title\n\nWords\n\n# Another\n", "notebooks/a")
    assert text.count('href="a.ipynb"') == 1
    assert text.index("# A title") < text.index('href="a.ipynb"') < text.index("Words")


def test_the_explorer_lies_beside_the_page_that_shows_it(tmp_path):
    explorer.write(tmp_path)
    (name,) = (path.name for path in tmp_path.iterdir())
    assert f'src="{name}"' in expanded("```{generated} explorer\n```", ROOT / "docs" / "index.md")
    assert "How many facts fit?" in (tmp_path / name).read_text(encoding="utf-8")


def test_what_a_page_would_load_from_a_network_is_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="https://fine.example">x</a><script src="https://cdn.example/a.js"></script>'
        "<link rel=stylesheet href='//cdn.example/b.css'><img src=\"c.png\">"
    )
    (tmp_path / "b.css").write_text("@import 'https://fonts.example/d'; p { background: url(e.png) }")
    assert loaded_from_elsewhere(tmp_path) == [
        "a.html: https://cdn.example/a.js", "a.html: //cdn.example/b.css", "b.css: https://fonts.example/d",
    ]  # fmt: skip


def row(solver, d, seed, **found):
    return {"solver": solver, "problem": "original", "d": d, "seed": seed, "kappa": 1.0, "law": "gaussian"} | found


def test_points_of_the_law_take_the_narrowest_bracket_of_a_stream_and_proofs_first(monkeypatch):
    rows = [
        row("reach", 200, 0, stored=3900, not_stored=3940),
        row("reach", 200, 0, stored=3930, not_stored=3934),
        row("reach", 200, 1, stored=3950, not_stored=3951),
        row("reach", 12, 0, stored=1, not_stored=2),
        row("capacity", 12, 0, p_c=40),
        row("capacity", 12, 1, p_c=42),
        row("capacity", 12, 2, p_c=50) | {"family": "symmetric"},
        row("capacity", 12, 3, p_c=50) | {"answers": 7},
        row("reach", 12, 4, stored=5, not_stored=6) | {"kappa": 0.5},
    ]
    monkeypatch.setattr(shipped, "thresholds", lambda: rows)
    points = {(point.problem, point.d): point for point in shipped.full_rank_points()}
    small, large = points["original", 12], points["original", 200]
    assert (small.way, small.streams, small.p) == ("proved", 2, 41.5)
    assert (large.way, large.streams, large.p) == ("stored", 2, (3932 + 3950.5) / 2)
    assert small.predicted == capacity_associations(12) and 0.5 < small.error < 3
    # d = 8 has no records here, and comes from the table of the benchmark.
    assert points["decoupled", 8].streams == 400 and abs(points["decoupled", 8].p - 22.24) < 1e-9


def test_the_figure_of_the_law_shows_every_point(monkeypatch):
    ways = {8: "proved", 64: "stored"}
    points = [shipped.Point("original", d, way, 3, 1.01 * capacity_associations(d), 1.0) for d, way in ways.items()]
    above, below = figures.law(points, [(32, 100), (128, 1800)]).axes
    ratios = [y for line in below.lines for y in line.get_ydata() if len(line.get_xdata()) == 1]
    assert np.allclose(ratios, 1.01)
    keys = {text.get_text() for text in above.get_legend().get_texts()}
    at_least = "shared outputs, stored and proved (more was not tried)"
    assert keys >= {"shared outputs, proved", "shared outputs, stored by L-BFGS", at_least}
    # A large memory is shown where no capacity is known: beyond d = 64.
    assert [list(line.get_xydata()[0]) for line in above.lines if line.get_label() == at_least] == [[128, 1800]]


def test_large_runs_are_those_that_are_proved():
    assert shipped.large_runs() == [(1024, 68484), (2048, 239703), (4096, 780000)]


@pytest.mark.soak
def test_the_table_of_the_note_says_what_the_records_say():
    points = {(point.problem, point.d): point for point in shipped.full_rank_points()}
    checked = 0
    for problem, what, numbers in re.findall(r"^\| (\w+) \| full W, (.*?) \| (.*?) \|$", NOTE, re.MULTILINE):
        dimensions = [int(one) for one in re.findall(r"(?<!\()\b(\d+)\b(?! streams)", re.sub(r"\([^)]*\)", "", what))]
        for d, (value, error) in zip(dimensions, re.findall(r"(\d\.\d{3})\((\d)\)", numbers), strict=True):
            point = points[problem, d]
            assert abs(point.p / point.predicted - float(value)) <= 0.00051, (problem, d)
            assert abs(1000 * point.error / point.predicted - int(error)) <= 0.51, (problem, d)
            checked += 1
    assert checked == 20
