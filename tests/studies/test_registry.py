"""Figures from real records: drawn, faithful to their numbers, and the same bytes every time."""

import json
import math
import os
import subprocess
import sys
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pytest

from loadstone.runs.result import perform
from loadstone.runs.spec import Spec
from loadstone.studies.capacity import draw_shares
from loadstone.studies.kit import panels as style
from loadstone.studies.kit.panels import COLOURS, NothingToDrawError, colour, counted
from loadstone.studies.kit.rows import row_of
from loadstone.studies.registry import SCALES, STUDIES, named_sweep, study_of
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import load
from tests.studies.drawing import compared, drawn
from tests.studies.shipped import shipped_records

SHORT = {"steps": 60}
#: At d = 10: few enough to be stored in 60 steps, and the first size above capacity, which is 30.6.
SIZES = (6, 31)
TRAINED = [
    Spec(problem, 10, p, seed, kappa, parameters=SHORT)
    for problem in ("original", "decoupled")
    for p in SIZES
    for kappa in (0.5, 1.0)
    for seed in range(2)
]
HEBBIAN = [Spec("original", 10, p, seed, solver="hebbian") for p in SIZES for seed in range(2)]
FULL = [spec for spec in TRAINED if spec.kappa == 1]
INITIAL = [Spec("original", 60, 2, seed, kappa, solver="initial") for kappa in (0.5, 0.9999) for seed in range(2)]
PROVED = [Spec(kind, 6, 12, seed, solver="capacity") for kind in ("original", "decoupled") for seed in range(3)]
GROUPED = [Spec("groups:2", 6, 12, seed, solver="capacity") for seed in range(3)]
TRIED = [Spec("original", 6, p, seed, parameters=SHORT) for p in (6, 12) for seed in range(2)]
REACHED = [Spec("original", 6, 18, seed, solver="reach") for seed in range(2)]
ANSWERED = [
    Spec(kind, 5, 8, seed, solver="capacity", answers=4) for kind in ("original", "decoupled") for seed in range(2)
]
LINEAR = [
    Spec("decoupled", 6, 8, seed, solver="capacity", family=name)
    for name in ("symmetric", "blocks:2")
    for seed in range(2)
]
MARGINS = [Spec(kind, 6, 5, seed, solver="margin") for kind in ("original", "decoupled") for seed in range(2)]
#: Here colours do not stand for dimensions, or only within the figure.
OTHER_COLOURS = {"finite-size", "capacity", "law", "optimisers", "answers", "families", "rank", "shift", "skew"}
OTHER_COLOURS |= {"pruning", "layers", "edits", "topk", "witnesses", "peers", "stored-spectra", "typical"}
OTHER_COLOURS |= {"overlaps", "lengths", "robustness"}
BY_LBFGS = [
    Spec(problem, 10, p, seed, solver="lbfgs", stop="exact")
    for problem in ("original", "decoupled")
    for p in (6, 60)
    for seed in range(2)
]
EDITED = [
    Spec("original", 6, 7, seed, solver="edits", parameters={"method": method, "action": action, "edits": 7})
    for action in ("add", "change")
    for method in ("rank-one", "batch", "refit")
    for seed in range(2)
]
ROUNDED = [Spec("original", 6, 14, seed, solver="bits", parameters={"bits": 3}) for seed in range(4)]
SAMPLED = [Spec("decoupled", 3, 2, seed, solver="space") for seed in range(2)]
NEARLY = {"optimiser": "adam:100.0", "passes": 200, "enough": "99%", "digits": "float32"}
CONTROLLED = [
    Spec("original", 10, 31, seed, parameters=SHORT, precision=digits)
    for digits in ("float16", "float32")
    for seed in range(2)
]
OTHERS_DID = [Spec("original", 6, 12, seed, law="sphere", solver="reach", parameters=NEARLY) for seed in range(2)]
OTHERS_DID += [
    Spec("original", 6, 12, seed, law=law, solver="capacity") for law in ("sphere", "gaussian") for seed in range(3)
]


def shipped(sweep, chosen):
    """Some runs whose records come with a checkout: real ones, and nothing has to be compiled for them."""
    return [spec for spec in named_sweep(sweep, "paper") if chosen(spec, dict(spec.parameters))]


APPROACHED = shipped("optimisers", lambda spec, said: spec.d == 30 and spec.seed < 2 and (
    spec.law != "gaussian" or said.get("optimiser", "lbfgs") in ("lbfgs", "perceptron", "newton")))  # fmt: skip
RANKED = shipped("rank", lambda spec, said: (spec.problem, spec.d) == ("original", 20) and spec.seed < 2 and (
    spec.solver == "capacity" or spec.kappa in (0.3, 0.5)))  # fmt: skip
TWO_PRUNED = ("pruning:density=0.5,rounds=1", "pruning:density=0.5,rounds=4")
PRUNED = shipped("pruning", lambda spec, said: spec.d == 20 and spec.seed < 4 and (
    spec.solver == "capacity" or said["optimiser"] in TWO_PRUNED))  # fmt: skip
LAYERED = shipped("layers", lambda spec, said: spec.family in ("relu:5", "gelu:5") and spec.seed == 0)
LISTED = shipped("topk", lambda spec, said: (spec.problem, spec.d) == ("original", 20) and spec.seed < 3 and (
    said.get("rivals", 1) <= 2))  # fmt: skip
HALF_FULL = shipped("lengths", lambda spec, said: (spec.d, spec.p) == (8, 11) and spec.seed < 2)
EIGHT = shipped("space", lambda spec, said: (spec.d, spec.p) == (8, 11) and spec.seed < 8)
SCORED = shipped("solution-scores", lambda spec, said: (spec.d, spec.p) == (8, 11) and spec.seed < 2)
PACKS = ("optimisers", "rank", "pruning", "one_law", "layers", "topk", "space", "solutions")


class Case(NamedTuple):
    """A few small runs for a figure, and how many numbers are compared with the first seed alone and with all of them.

    Where the error is estimated from the scatter of seeds or streams, one of them leaves nothing to compare.
    """

    specs: list[Spec]
    with_one_seed: int
    with_all: int


CASES = {
    "equivalence": Case(FULL + BY_LBFGS, 0, 4),
    "accuracy": Case(TRAINED + HEBBIAN + BY_LBFGS, 3, 4),
    "spectra": Case([spec for spec in TRAINED if spec.p == SIZES[1]], 4, 4),
    "stored-spectra": Case(TRAINED + HEBBIAN + BY_LBFGS, 0, 0),
    "scores": Case(FULL, 4, 18),
    "single": Case(FULL, 0, 0),
    "loss": Case(TRAINED + HEBBIAN, 0, 2),
    "finite-size": Case(FULL + PROVED[3:], 2, 7),
    "initial-spectra": Case(INITIAL, 2, 2),
    "hebbian": Case(HEBBIAN, 4, 4),
    "capacity": Case(PROVED + TRIED, 0, 10),
    "witnesses": Case(PROVED, 0, 7),
    "law": Case(REACHED, 0, 1),
    "optimisers": Case(APPROACHED, 0, 0),
    "answers": Case(ANSWERED, 0, 2),
    "families": Case(LINEAR, 0, 2),
    "rank": Case(RANKED, 0, 2),
    "margin": Case(MARGINS, 0, 4),
    "skew": Case([spec for spec in ANSWERED if spec.problem == "original"], 0, 1),
    "shift": Case(PROVED + REACHED + GROUPED, 0, 4),
    "pruning": Case(PRUNED, 0, 2),
    "layers": Case(LAYERED, 0, 0),
    "edits": Case(EDITED, 0, 0),
    "topk": Case(LISTED, 0, 2),
    "peers": Case(OTHERS_DID, 0, 3),
    "space": Case(SAMPLED, 0, 2),
    "overlaps": Case(EIGHT, 0, 4),
    "lengths": Case(HALF_FULL, 0, 4),
    "typical": Case(SAMPLED, 0, 1),
    "solution-scores": Case(SCORED, 0, 6),
    "robustness": Case([spec for spec in EIGHT if spec.seed < 3], 0, 12),
    "bits": Case(ROUNDED, 0, 1),
    "curves": Case(FULL, 0, 4),
    "phase": Case(TRAINED + HEBBIAN, 8, 10),
    "beyond": Case(FULL, 0, 4),
    "control": Case(CONTROLLED, 0, 2),
    "entropy": Case([], 0, 0),
}


@pytest.fixture(scope="module")
def rows(few_samples_throughout):
    specs = {spec for case in CASES.values() for spec in case.specs}
    records = shipped_records({spec.key for spec in specs}, *PACKS)
    made = {spec: records.get(spec.key) or perform([spec])[0] for spec in specs}
    return {name: [row_of(made[spec].spec, made[spec].result) for spec in case.specs] for name, case in CASES.items()}


def test_each_name_leads_to_a_figure_of_that_name():
    assert set(STUDIES) == set(CASES), "a figure needs a few small runs in CASES"
    for name in STUDIES:
        figure = study_of(name)
        assert figure.name == name
        assert all(text.strip() for text in vars(figure.caption).values())


def test_names_need_no_plotting_and_drawing_needs_no_jax():
    """Commands know the names at once, and figures can be drawn where no accelerator's software is loaded."""
    program = """
import sys
import loadstone.cli.reproduce
assert not {"matplotlib", "scipy", "jax"} & set(sys.modules)
from loadstone.studies.registry import STUDIES, study_of
for name in STUDIES:
    study_of(name)
assert "jax" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


#: All figures are drawn and saved by the same few functions. So these are written in all formats, and twice, to see
#: that nothing differs; `make soak` does it with all figures.
FULLY_TESTED = ("accuracy", "spectra", "rank")
IN_ALL_FORMATS = set(STUDIES if "LOADSTONE_SOAK" in os.environ else FULLY_TESTED)


@pytest.fixture(scope="module", params=STUDIES)
def finished(request, rows, tmp_path_factory):
    """The name of a study and its files: once for all tests of it."""
    name = request.param
    with pytest.MonkeyPatch.context() as monkeypatch:
        if name not in IN_ALL_FORMATS:
            monkeypatch.setattr(style, "FORMATS", (".png",))
        return name, written(name, rows, tmp_path_factory.mktemp(name))


def test_each_is_written_in_four_formats(finished):
    name, contents = finished
    assert contents[".png"].startswith(b"\x89PNG") and len(contents[".png"]) > 10_000
    if name in IN_ALL_FORMATS:
        assert list(contents) == [".svg", ".pdf", ".png", ".json"]
        assert contents[".svg"].startswith(b"<?xml") and contents[".pdf"].startswith(b"%PDF")


@pytest.mark.parametrize(
    "finished",
    [name if name in FULLY_TESTED else pytest.param(name, marks=pytest.mark.soak) for name in STUDIES],
    indirect=True,
)
def test_the_same_rows_give_the_same_bytes(finished, rows, tmp_path):
    name, contents = finished
    again = written(name, rows, tmp_path)
    assert contents and all(again[suffix] == content for suffix, content in contents.items())


def written(name, rows, folder):
    study = study_of(name)
    paths = study.write(study.points(rows[name]), folder / name)
    assert [path.name for path in paths] == [f"{name}{suffix}" for suffix in (*style.FORMATS, ".json")]
    return {path.suffix: path.read_bytes() for path in paths}


def test_histograms_of_singular_values_have_the_mass_of_those_that_are_not_zero(rows):
    for name in ("spectra", "initial-spectra"):
        for one in study_of(name).points(rows[name]).histograms:
            mass = np.sum(np.diff(one["edges"]) * one["density"])
            assert mass == pytest.approx(one["kappa"] if name == "initial-spectra" else 1)


@pytest.mark.parametrize("dimensions", [(50, 100, 150, 300, 400, 500), (12, 20, 24, 30, 40, 60)])
def test_the_papers_dimensions_and_the_quick_ones_have_colours_of_their_own(dimensions):
    assert sorted(colour(d) for d in dimensions) == sorted(COLOURS)


@pytest.mark.parametrize("scale", SCALES)
def test_no_figure_shows_two_dimensions_in_one_colour(scale):
    for name in STUDIES.keys() - OTHER_COLOURS:
        dimensions = {spec.d for spec in study_of(name).runs(scale)}
        assert len({colour(d) for d in dimensions}) == len(dimensions), name


def test_sample_sizes_in_words():
    assert counted([3, 3], "seeds") == "3 seeds" and counted(iter([3, 5, 4]), "seeds") == "3 to 5 seeds"
    assert counted([1], "seeds") == "1 seed" and counted([1, 2], "streams") == "1 to 2 streams"


@pytest.fixture
def shown(rows):
    """The picture of a study, and its numbers, in place of files."""

    def draw(name, chosen=None):
        with drawn(name, rows[name] if chosen is None else chosen) as both:
            return both

    return draw


def test_the_legend_names_a_prediction_where_one_is_drawn(shown):
    for name, expected in (("accuracy", True), ("loss", False)):
        figure, _ = shown(name)
        labels = {text.get_text() for text in figure.legends[0].get_texts()}
        assert ("Hebbian, predicted" in labels) == expected
        # Each line says which solver it comes from.
        assert "original, Adam" in labels and ("original, L-BFGS" in labels) == expected
        assert "Adam: the paper's protocol" in figure.get_suptitle()


def test_titles_tell_how_many_seeds_there_are(shown):
    for name, count in (("scores", "2 seeds"), ("hebbian", "2 seeds"), ("single", "1 seed")):
        assert shown(name)[0].get_suptitle().endswith(f"({count})"), name


def test_the_title_of_spectra_says_at_which_share_of_the_capacity_they_are(rows, shown):
    """With twice as many associations in all rows it says twice as much."""
    full = [row for row in rows["spectra"] if row["kappa"] == 1 and row["problem"] == "original"]
    share = 100 * full[0]["p"] / float(capacity_associations(full[0]["d"], 1.0))
    assert f"at {share:.0f} % of the predicted capacity (" in shown("spectra", full)[0].get_suptitle()
    more = full + [row | {"p": 2 * row["p"]} for row in full]
    assert f"at {share:.0f} to {2 * share:.0f} % of the predicted" in shown("spectra", more)[0].get_suptitle()


def test_predicted_curves_begin_at_capacity_with_everything_stored(shown):
    for name in ("curves", "beyond"):
        figure, _ = shown(name)
        for panel, start in zip(figure.axes, (0, 1)):  # loss, accuracy
            x, y = panel.lines[0].get_data()
            assert x[0] == pytest.approx(load(float(capacity_associations(10)), 10)) and y[0] == start


def test_marks_grow_with_the_dimension_where_points_coincide(rows, shown):
    other = [row | {"d": 12, "p": {6: 8, 31: 45}[row["p"]]} for row in rows["beyond"]]
    for name, growth in (("curves", 0), ("beyond", 1.3)):
        panel = shown(name, rows[name] + other)[0].axes[0]
        sizes = {bars.lines[0].get_color(): bars.lines[0].get_markersize() for bars in panel.containers}
        assert sizes[colour(12)] - sizes[colour(10)] == pytest.approx(growth)


@pytest.mark.parametrize("middle", [40, 120])
def test_shares_of_streams_are_drawn_at_whole_numbers_of_associations(middle):
    """A share at a half would be that of the next whole number, drawn in the wrong place."""
    _, panel = plt.subplots()
    found = np.array([middle, middle + 1, middle + 5])
    draw_shares(panel, {"problem": "original", "p_c": found.tolist()}, middle)
    p, shares = panel.containers[0].lines[0].get_data()
    plt.close("all")
    assert (p == np.round(p)).all() and shares.tolist() == [np.mean(found >= one) for one in p]
    assert shares[0] == 1 and shares[-1] == 0


@pytest.mark.parametrize("name", STUDIES)
def test_one_seed_is_compared_only_where_no_scatter_is_needed(name, rows):
    single = [row for row in rows[name] if row["seed"] == 0]
    counts = []
    for chosen in (single, rows[name]):
        found = compared(name, chosen)
        counts.append(len(found))
        assert len({one.what for one in found}) == len(found)
        # A number that is known to no error at all, or to any, could be compared with nothing.
        assert all(0 < one.error < math.inf and one.dof > 0 and math.isfinite(one.deviations) for one in found)
        # JSON knows neither NaN nor infinities.
        json.dumps([one.as_row() for one in found], allow_nan=False)
    assert counts == [CASES[name].with_one_seed, CASES[name].with_all]


@pytest.mark.parametrize("name", [name for name in STUDIES if name != "entropy"])
def test_records_that_are_missing_leave_a_picture_or_a_sentence(name, rows, tmp_path, monkeypatch):
    # What is drawn is rendered by `make soak` alone, which takes twice as long.
    monkeypatch.setattr(style, "FORMATS", (".svg",) if "LOADSTONE_SOAK" in os.environ else ())
    original = [row for row in rows[name] if row["problem"] == "original"]
    # With no other problem nothing is missing.
    for chosen in ([], rows[name][:1], original if len(original) < len(rows[name]) else []):
        try:
            study = study_of(name)
            study.write(study.points(chosen), tmp_path / name)
        except NothingToDrawError:
            assert not list(tmp_path.iterdir())
        for path in tmp_path.iterdir():
            path.unlink()
