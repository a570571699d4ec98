"""Runs in two precisions: pairs whose difference is known."""

import numpy as np
import pytest

from loadstone.studies.kit.comparison import Judgement
from loadstone.studies.precision import compare, points, precision_of


def run(seed, precision, accuracy, loss, device="float16", p=100):
    protocol = {"precision": precision, "stop": "paper"}
    row = {"solver": "adam", "d": 20, "p": p, "seed": seed, "accuracy": accuracy, "loss": loss, "protocol": protocol}
    return row | {"circumstances": {"auto_precision": device}}


def pairs(shift, scatter=0.002, seeds=5, precision="auto"):
    """Losses of about 2 that scatter by 0.3 from stream to stream, and differ by `shift` and a little noise."""
    random = np.random.default_rng(3)
    losses = 2 + 0.3 * random.standard_normal(seeds)
    noise = scatter * random.standard_normal(seeds)
    few = [run(seed, precision, 0.9, losses[seed] + shift + noise[seed]) for seed in range(seeds)]
    return few + [run(seed, "float32", 0.9, losses[seed]) for seed in range(seeds)]


def test_auto_is_what_the_device_took():
    assert precision_of(run(0, "auto", 1, 0)) == "float16"
    assert precision_of(run(0, "auto", 1, 0, "float32")) == "float32"
    assert precision_of(run(0, "float32", 1, 0)) == "float32"


@pytest.mark.parametrize("shift, verdict", [(0.0, Judgement.AGREES), (0.05, Judgement.DIFFERS)])
@pytest.mark.parametrize("precision", ["auto", "float16"])
def test_a_shift_is_seen_far_below_the_scatter_of_streams(shift, verdict, precision):
    accuracy, loss = compare(points(pairs(shift, precision=precision)))
    assert loss.verdict == verdict and loss.what == "loss, float16 - float32, d = 20, load 1.15"
    # Accuracies that are equal are known to be so to a part of one association.
    assert accuracy.verdict == Judgement.AGREES and accuracy.error == pytest.approx(0.01 / np.sqrt(12 * 5))


def test_runs_without_a_twin_are_left_out():
    rows = pairs(0.0)
    (point,) = points(rows[:-1])
    assert point["seeds"] == 4 and len(point["loss_differences"]) == 4
    assert points(rows[:5]) == points([]) == []
    assert compare(points([rows[0], rows[5]])) == []
