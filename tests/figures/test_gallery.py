"""Figures from real records: drawn, faithful to their numbers, and the same bytes every time."""

import json

import numpy as np
import pytest

from loadstone.cli.reproduce import FIGURES
from loadstone.experiments.catalogue import CATALOGUE
from loadstone.experiments.result import perform
from loadstone.experiments.spec import Spec
from loadstone.figures import entropy
from loadstone.figures.comparisons import COMPARISONS
from loadstone.figures.gallery import GALLERY
from loadstone.figures.style import COLOURS, NothingToDrawError, colour
from loadstone.figures.thresholds import trained_thresholds
from loadstone.solvers.gradient import Protocol
from loadstone.theory.load import load

SHORT = Protocol(steps=60)
TRAINED = [
    Spec(problem, 10, p, seed, kappa, protocol=SHORT)
    for problem in ("original", "decoupled")
    for p in (15, 36)
    for kappa in (0.5, 1.0)
    for seed in range(2)
]
HEBBIAN = [Spec("original", 10, p, seed, solver="hebbian") for p in (15, 36) for seed in range(2)]
FULL = [spec for spec in TRAINED if spec.kappa == 1]
SPECS = {
    "equivalence": FULL,
    "accuracy": TRAINED + HEBBIAN,
    "spectra": [spec for spec in TRAINED if spec.p == 36],
    "scores": FULL,
    "single": FULL,
    "loss": TRAINED + HEBBIAN,
    "finite-size": FULL
    + [Spec("decoupled", 6, 12, seed, solver="capacity") for seed in range(3)],
    "initial-spectra": [Spec("original", 60, 2, seed, k, solver="initial") for k in (0.5, 0.9999) for seed in range(2)],
    "hebbian": HEBBIAN,
    "curves": FULL,
    "phase": TRAINED + HEBBIAN,
    "beyond": FULL,
    "entropy": [],
    "capacity": [Spec(kind, 6, 12, seed, solver="capacity") for kind in ("original", "decoupled") for seed in range(3)]
    + [Spec("original", 6, p, seed, protocol=SHORT) for p in (6, 12) for seed in range(2)],
}  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    # A few samples take the same way as many.
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(entropy, "_SAMPLES", {10: 20, 100: 10, 1000: 4})
    found = {}
    for specs in SPECS.values():
        for spec in specs:
            if spec not in found:
                (record,) = perform([spec])
                found[spec] = record.spec | record.result
    yield {name: [found[spec] for spec in specs] for name, specs in SPECS.items()}
    monkeypatch.undo()
    entropy._finite.cache_clear()


def test_names_agree_everywhere():
    assert set(FIGURES) == set(GALLERY) == set(SPECS) and set(GALLERY) <= set(CATALOGUE)


@pytest.mark.parametrize("name", GALLERY)
def test_each_is_written_four_times_with_the_same_bytes_from_the_same_rows(name, rows, tmp_path):
    contents = []
    for turn in ("first", "second"):
        (tmp_path / turn).mkdir()
        paths = GALLERY[name](rows[name], tmp_path / turn / name)
        assert [path.name for path in paths] == [f"{name}.{ending}" for ending in ("svg", "pdf", "png", "json")]
        contents.append([path.read_bytes() for path in paths])
    assert contents[0] == contents[1]
    assert contents[0][2].startswith(b"\x89PNG") and len(contents[0][2]) > 10_000


def test_curves_are_means_and_deviations_of_the_runs(rows, tmp_path):
    GALLERY["accuracy"](rows["accuracy"], tmp_path / "a")
    curves = json.loads((tmp_path / "a.json").read_text())["curves"]
    assert len(curves) == 2 * 2 + 1
    for curve in curves:
        for place, p in enumerate(curve["p"]):
            names = ("problem", "solver", "kappa", "d")
            chosen = [
                row["accuracy"] for row in rows["accuracy"]
                if row["p"] == p and all(row[name] == curve[name] for name in names)
            ]  # fmt: skip
            assert curve["seeds"][place] == len(chosen) == 2 and curve["load"][place] == pytest.approx(load(p, 10))
            assert curve["mean"][place] == pytest.approx(np.mean(chosen))
            assert curve["deviation"][place] == pytest.approx(np.std(chosen, ddof=1))


def test_densities_have_the_mass_that_they_should(rows, tmp_path):
    for name in ("spectra", "initial-spectra"):
        GALLERY[name](rows[name], tmp_path / name)
        for one in json.loads((tmp_path / f"{name}.json").read_text())["histograms"]:
            mass = np.sum(np.diff(one["edges"]) * one["density"])
            assert mass == pytest.approx(one["kappa"] if name == "initial-spectra" else 1)
    for name in ("scores", "hebbian"):
        GALLERY[name](rows[name], tmp_path / name)
        for one in json.loads((tmp_path / f"{name}.json").read_text())["panels"]:
            for part in ("target", "others"):
                assert np.sum(np.diff(one["edges"]) * one[part]) == pytest.approx(1)


def test_a_threshold_is_between_the_last_success_and_the_first_failure():
    protocol, names = {"stop": "exact"}, ("stop rule met", "step limit")
    rows = [
        {"problem": "original", "d": 10, "kappa": 1, "solver": "adam", "protocol": protocol, "seed": seed, "p": p}
        | {"status": names[p >= first]}
        for seed, first in enumerate((30, 40, 10, 99))
        for p in (10, 20, 30, 40)
    ]
    (point,) = trained_thresholds(rows)
    # The third seed fails at once and the fourth never: they say nothing.
    ends = [[load(20, 10), load(30, 10)], [load(30, 10), load(40, 10)]]
    middles = np.mean(ends, axis=1)
    assert point["seeds"] == 2 and point["p"] == 30 and point["alpha"] == pytest.approx(middles.mean())
    step = max(np.diff(ends, axis=1))[0]
    assert point["error"] == pytest.approx(np.hypot(np.std(middles, ddof=1) / np.sqrt(2), step / np.sqrt(12)))


def test_the_papers_dimensions_have_colours_of_their_own():
    assert sorted(colour(d) for d in (50, 100, 150, 300, 400, 500)) == sorted(COLOURS) and colour(20) != colour(40)


@pytest.mark.parametrize("name", COMPARISONS)
def test_one_seed_is_weighed_only_where_no_scatter_is_needed(name, rows):
    single = [row for row in rows[name] if row["seed"] == 0]
    for chosen in (single, rows[name]):
        # JSON knows neither NaN nor infinities.
        json.dumps([one.as_row() for one in COMPARISONS[name](chosen)], allow_nan=False)


@pytest.mark.parametrize("name", [name for name in GALLERY if name != "entropy"])
def test_records_that_are_missing_leave_a_picture_or_a_sentence(name, rows, tmp_path):
    for chosen in ([], rows[name][:1], [row for row in rows[name] if row["problem"] == "original"]):
        try:
            GALLERY[name](chosen, tmp_path / name)
        except NothingToDrawError:
            assert not list(tmp_path.iterdir())
        for path in tmp_path.iterdir():
            path.unlink()
