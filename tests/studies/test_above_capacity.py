"""Points above capacity beside the minimiser: which runs count, and two errors in one."""

import math

import pytest

from loadstone.studies.above_capacity import compare, loss_and_accuracy, points_on_both_sides, trained_law
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import load

D = 10
LAST = math.floor(capacity_associations(D))
P = LAST + 20


def rows(p=P, losses=(1.0, 2.0, 3.0), problem="original", kappa=1.0, solver="adam", status="step limit"):
    spec = {"problem": problem, "d": D, "p": p, "kappa": kappa, "solver": solver, "status": status}
    return [spec | {"seed": seed, "loss": loss, "accuracy": 0.5 + 0.1 * loss} for seed, loss in enumerate(losses)]


def compared(rows):
    return compare(points_on_both_sides(rows))


def test_points_are_trained_memories_of_full_rank():
    table = rows() + rows(losses=(7.0,), problem="decoupled") + rows(kappa=0.5) + rows(solver="hebbian")
    single, point = loss_and_accuracy(table)
    assert single == {
        "problem": "decoupled", "d": D, "p": P, "load": load(P, D), "seeds": 1, "stopped": 0,
        "loss": 7.0, "loss_deviation": 0.0, "accuracy": pytest.approx(1.2), "accuracy_deviation": 0.0,
    }  # fmt: skip
    assert (point["problem"], point["seeds"], point["loss"], point["loss_deviation"]) == ("original", 3, 2.0, 1.0)
    assert point["accuracy"] == pytest.approx(0.7) and point["accuracy_deviation"] == pytest.approx(0.1)


def test_loss_and_accuracy_are_compared_with_the_minimiser():
    law = trained_law(P, D)
    loss, accuracy = compared(rows())
    assert (loss.predicted, accuracy.predicted) == (law.loss, law.accuracy)
    assert loss.measured == 2.0 and accuracy.measured == pytest.approx(0.7)
    assert loss.dof == accuracy.dof == 2 and loss.note and accuracy.note
    assert loss.what == f"loss, original, d = {D}, load {load(P, D):.2f}"
    # The error of a mean of three with deviation 1 (0.1), and that of the prediction, which comes from samples too.
    assert law.loss_error > 0 and law.accuracy_error > 0
    assert loss.error**2 == pytest.approx(1 / 3 + law.loss_error**2, rel=1e-12)
    assert accuracy.error**2 == pytest.approx(0.01 / 3 + law.accuracy_error**2, rel=1e-12)


def test_nothing_is_compared_below_capacity_with_one_seed_or_where_a_stop_rule_ended_runs():
    assert not compared(rows(p=LAST)) and not compared(rows(losses=(1.0,)))
    assert not compared(rows(status="stop rule met"))
    assert len(compared(rows(p=LAST + 1))) == 2
