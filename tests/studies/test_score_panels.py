"""Histograms of scores as densities, their panels in order, and the errors of their moments as samples scatter."""

import numpy as np
import pytest

from loadstone.studies.kit.score_panels import bin_edges, densities, moment_errors, of_each_panel

EDGES = np.linspace(-8, 8, 321)


def histogram(values):
    return np.histogram(values, EDGES)[0].tolist()


def test_densities_are_those_of_all_scores_together_in_wider_bins():
    draws = np.random.default_rng(0).standard_normal((2, 5000))
    scores = [{"low": -8.0, "high": 8.0, "target": histogram(one + 2), "others": histogram(one)} for one in draws]
    assert bin_edges(scores[0]) == pytest.approx(EDGES)
    for joined in (4, 8):
        shown = densities(scores, "others", "target", joined=joined)
        assert list(shown) == ["edges", "others", "target"] and shown["edges"] == pytest.approx(EDGES[::joined])
        for name, values in {"others": draws.ravel(), "target": draws.ravel() + 2}.items():
            assert shown[name] == pytest.approx(np.histogram(values, EDGES[::joined], density=True)[0])


def test_panels_go_by_size_and_show_the_original_problem_first():
    rows = [
        {"problem": problem, "d": 10, "p": p, "seed": seed}
        for p in (30, 6) for problem in ("decoupled", "original") for seed in range(2)
    ]  # fmt: skip
    panels = of_each_panel(rows[:-1], lambda group: {"read": [row["seed"] for row in group]})
    assert [(one["p"], one["problem"], one["seeds"], one["read"]) for one in panels] == [
        (6, "original", 1, [0]), (6, "decoupled", 2, [0, 1]), (30, "original", 2, [0, 1]), (30, "decoupled", 2, [0, 1])
    ]  # fmt: skip


def test_moments_of_normal_scores_scatter_as_their_errors_say():
    count, draws = 90, 20_000
    samples = np.random.default_rng(2).normal(1.0, 0.3, (draws, count))
    errors = moment_errors(0.3, count)
    # A deviation of so many nearly normal numbers is known to 1 / sqrt(2 draws): five times that.
    known = 5 / (2 * draws) ** 0.5
    assert errors["mean"] == pytest.approx(samples.mean(axis=1).std(), rel=known)
    # A deviation is a normal number only up to corrections of order 1 / count.
    assert errors["deviation"] == pytest.approx(samples.std(axis=1).std(), rel=known + 1 / count)
