"""Accuracy and loss against the load, by hand on small tables."""

import pytest
from matplotlib.figure import Figure

from loadstone.studies.kit.load_curves import draw_curves, load_curves
from loadstone.theory.hebbian import finite_accuracy
from loadstone.theory.load import load


def row(problem="original", d=10, p=20, seed=0, solver="adam", kappa=1.0, accuracy=1.0, loss=0.0):
    return vars()


def test_curves_have_mean_deviation_and_number_of_seeds_at_each_load():
    rows = [row(p=p, seed=seed, loss=p / 100 + seed) for p in (30, 20) for seed in range(2)]
    rows += [row(p=20, solver="hebbian", loss=3.0), row(kappa=0.5, loss=4.0), row("decoupled", loss=5.0)]
    half, decoupled, trained, hebbian = load_curves(rows, "loss")
    names = ("kappa", "problem", "solver", "d")
    assert [half[name] for name in names] == [0.5, "original", "adam", 10] and half["mean"] == [4.0]
    assert decoupled["problem"] == "decoupled" and decoupled["deviation"] == [0.0] and decoupled["seeds"] == [1]
    assert trained["p"] == [20, 30] and trained["seeds"] == [2, 2] and trained["load"] == [load(20, 10), load(30, 10)]
    assert trained["mean"] == pytest.approx([0.7, 0.8]) and trained["deviation"] == pytest.approx([0.5**0.5] * 2)
    assert hebbian["predicted"] == [finite_accuracy(20, 10)]
    assert not any("predicted" in curve for curve in (half, decoupled, trained))


def test_measured_and_predicted_curves_of_the_hebbian_rule_are_drawn():
    curves = load_curves([row(p=p, solver="hebbian", accuracy=0.9) for p in (20, 30)], "accuracy")
    draw_curves(figure := Figure(), curves, "accuracy", "Accuracy")
    measured, predicted, *_ = figure.axes[0].get_lines()
    assert list(measured.get_ydata()) == [0.9, 0.9] and list(predicted.get_ydata()) == curves[0]["predicted"]
    assert list(predicted.get_xdata()) == list(measured.get_xdata()) == curves[0]["load"]
