"""loadstone predict as a user runs it, and the record behind it."""

import json
import re
import resource
from dataclasses import replace

import numpy as np
import pytest

from loadstone.cli.predict import MODEL_WIDTHS, intuition
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.prediction import predict
from loadstone.theory.question import least_dimension
from loadstone.theory.storable import probability_storable

KEYS = {"d", "p", "kappa", "alpha", "alpha_c", "alpha_c_finite", "p_c", "p_c_asymptotic", "p_hebbian", "D", "var_k",
        "probability_storable", "bits_per_parameter"}  # fmt: skip


@pytest.mark.parametrize("arguments", [("--d", 4096), ("--p", 1000), ("--d", 100, "--p", 1200),
                                       ("--d", 64, "--kappa", 0.25), ("--d", 100, "--load", 0.7),
                                       ("--p", 500, "--load", 0.7)])  # fmt: skip
def test_one_json_object_with_every_key(arguments, command):
    done = command("predict", *arguments, "--json")
    assert done.returncode == 0 and done.stdout.count("\n") == 1, done.stderr
    record = json.loads(done.stdout)
    assert record.keys() >= KEYS
    assert (record["probability_storable"] is None) == (record["kappa"] < 1)


def test_a_process_of_its_own_takes_a_second(process):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = process("predict --d 100 --p 1200 --json")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0 and json.loads(done.stdout).keys() >= KEYS
    # One second on an idle machine, two on a slow one. Time of the processor, because tests share theirs with others.
    assert after.ru_utime - before.ru_utime < 5


def test_figures_that_are_known(command):
    record = json.loads(command("predict", "--d", 20, "--p", 85, "--json").stdout)
    assert record["probability_storable"] == pytest.approx(0.71, abs=0.005)
    assert record["alpha_c"] == 0.5 and record["filled_in"] is None
    assert record["bound"] is False and record["family"] == "full" and record["delta"] == 400
    half = json.loads(command("predict", "--d", 20, "--kappa", 0.5, "--json").stdout)
    assert half["bound"] is True and half["family"] == "rank:10" and half["facts"] == half["answers"] == half["p"]
    assert predict(facts=100).D == pytest.approx(4.793319, abs=1e-6)
    assert predict(facts=100).var_k == pytest.approx(5.13661, abs=1e-5)
    assert predict(d=40).p == 261 and predict(d=40).filled_in == "facts"


#: Which numbers of --json the rows of the table show.
OF_THE_PAPER = (
    "facts_c capacity_interval p_c_asymptotic p_hebbian d_c alpha alpha_c_finite alpha_c probability_storable "
    "hebbian_accuracy hebbian_probability_all_stored bits_per_parameter bits_per_parameter_at_capacity parameters D "
    "var_k"
).split()
OF_ANSWERS = "facts_c delta D load probability_storable share_alone margin".split()


@pytest.mark.parametrize("words, names", [
    ("--d 20 --p 85", OF_THE_PAPER), ("--d 6 --p 13 --problem decoupled", OF_THE_PAPER),
    ("--d 4 --p 12 --curves", [*OF_THE_PAPER, "loss", "loss_error", "accuracy", "accuracy_error", "norm"]),
    ("--d 20 --p 85 --answers 30", OF_ANSWERS), ("--d 24 --family blocks:4 --facts 90 --problem decoupled", OF_ANSWERS),
    ("--d 4 --facts 20 --answers 100", OF_ANSWERS), ("--d 20 --facts 40 --margin 0", OF_THE_PAPER),
])  # fmt: skip
def test_the_table_has_the_numbers_of_json(words, names, command):
    record = json.loads(command("predict", *words.split(), "--json").stdout)
    record |= {"load": record["facts"] * record["D"] / record["delta"], "facts_c": int(record["facts_c"] * (1 + 1e-9))}
    record |= {name: 100 * (record[name] or 0) for name in ("hebbian_accuracy", "share_alone")}  # in per cent
    record |= {name: round(record[name] or 0) for name in ("p_c_asymptotic", "p_hebbian")}
    lines = [line.split("│") for line in command("predict", *words.split()).stdout.splitlines() if "│" in line]
    shown = re.findall(r"\d+\.?\d*(?:e[+-]?\d+)?", " ".join(value for _, _, value, _ in lines))
    expected = np.hstack([record[name] for name in names])
    np.testing.assert_allclose(np.array(shown, float), expected, rtol=6e-4, atol=5.1e-5)


def test_people_get_a_table_and_a_comparison(command):
    done = command("predict", "--d", 4096)
    assert "867136 associations" in done.stdout and "Llama 2 7B, can hold 867 136 facts" in done.stdout
    assert "p set to the capacity" in done.stdout


def test_how_sharp_the_threshold_is_is_said(command):
    """Of 95 % of all streams: at its ends the probability of being storable crosses 97.5 % and 2.5 %."""
    low, high = json.loads(command("predict", "--d", 300, "--json").stdout)["capacity_interval"]
    assert f"{low} to {high}" in command("predict", "--d", 300).stdout
    chance = {p: probability_storable(p, 300) for p in (low, low + 1, high, high + 1)}
    assert chance[low] >= 0.975 > chance[low + 1] and chance[high] >= 0.025 > chance[high + 1]


@pytest.mark.parametrize("arguments", [("--kappa", 0.5), ("--load", 0.1, "--d", 10**6)])
def test_how_sharp_it_is_is_not_said_where_it_is_not_known_or_takes_long(arguments, command):
    asked = arguments if "--d" in arguments else ("--d", 64, *arguments)
    assert json.loads(command("predict", *asked, "--json").stdout)["capacity_interval"] is None
    assert "95 %" not in command("predict", *asked).stdout


def test_a_family_has_the_name_that_other_commands_give_it(command):
    by_memory, by_family = (command("predict", "--d", 30, name, "blocks:5") for name in ("--memory", "--family"))
    assert by_memory.stdout == by_family.stdout and "blocks:5 memories" in by_family.stdout


def test_a_model_is_named_only_if_it_has_this_width():
    assert set(MODEL_WIDTHS) == {768, 1600, 4096, 5120, 8192, 12_288, 16_384}
    assert intuition(predict(4095)) is None and intuition(predict(4096, answers=5)) is None
    whole = predict(4096)
    assert intuition(whole) == ("For scale: one 4096 x 4096 matrix, the width of Llama 2 7B, can hold 867 136 facts.")
    assert "4096 x 4096 matrix of rank 0.5 d, the width" in intuition(predict(4096, kappa=0.5))
    assert intuition(replace(whole, facts_c=1.0)).endswith("can hold one fact.")
    assert intuition(replace(whole, facts_c=2 - 1e-10)).endswith("can hold 2 facts.")


def test_what_is_approximate_and_what_is_a_bound_is_said(command):
    small = " ".join(command("predict", "--d", 6, "--p", 13).stdout.split())
    assert "Below d = 8 the kinematic formula is an approximation" in small
    low = json.loads(command("predict", "--d", 50, "--kappa", 0.25, "--json").stdout)["caveats"]
    assert any("upper bound" in one for one in low) and any("rank 12, which is kappa = 0.24" in one for one in low)
    plain = json.loads(command("predict", "--d", 50, "--problem", "decoupled", "--json").stdout)["caveats"]
    assert len(plain) == 1 and "random" in plain[0]
    assert "derived for separate outputs" in " ".join(command("predict", "--d", 50).stdout.split())


def test_facts_answers_and_a_family(command):
    asked = ("--d", 100, "--facts", 200, "--answers", 200, "--memory", "blocks:8")
    record = json.loads(command("predict", *asked, "--json").stdout)
    assert record.keys() >= KEYS | {"facts_c", "delta", "family", "answers", "facts", "bound", "caveats"}
    # Four blocks of 13 and four of 12.
    assert record["delta"] == 4 * 13**2 + 4 * 12**2 and record["facts_c"] == pytest.approx(1252 / record["D"])
    assert 0.9 < record["probability_storable"] < 1 and record["family"] == "blocks:8" and record["p"] == 200
    shown = command("predict", *asked).stdout
    assert "217 facts" in shown and "200 answers, blocks:8 memories" in shown and "half of all instances" in shown
    assert "an upper bound" in command("predict", "--d", 20, "--memory", "rank:5").stdout


def test_as_many_answers_as_facts_has_the_new_keys_too(command):
    record = json.loads(command("predict", "--d", 64, "--facts", 300, "--kappa", 0.25, "--json").stdout)
    assert (record["facts"], record["answers"], record["family"], record["bound"]) == (300, 300, "rank:16", True)
    assert record["facts_c"] == record["p_c"] and record["delta"] == pytest.approx(2 * record["alpha_c"] * 64**2)


def test_a_rank_fraction_with_answers_is_a_family(command):
    record = json.loads(command("predict", "--d", 40, "--answers", 60, "--kappa", 0.25, "--json").stdout)
    assert record["family"] == "rank:10" and record["bound"] and record["filled_in"] == "facts"


def test_curves_of_a_subspace(command):
    asked = ("--d", 12, "--facts", 150, "--answers", 9, "--problem", "decoupled", "--memory", "symmetric", "--curves")
    record = json.loads(command("predict", *asked, "--json").stdout)
    assert record["minimiser"] == "above capacity" and record["decoupled"] and 0 < record["accuracy"] < 1
    assert "trained on the cross-entropy" in command("predict", *asked).stdout


def test_curves_give_loss_and_accuracy_above_capacity_and_say_so_below(command):
    above = json.loads(command("predict", "--d", 12, "--p", 60, "--curves", "--json").stdout)
    assert above["minimiser"] == "above capacity" and 0 < above["loss"] and 0 < above["accuracy"] < 1
    assert 0 < above["loss_error"] < 0.01 * above["loss"] and 0 < above["accuracy_error"] < 0.01
    below = json.loads(command("predict", "--d", 12, "--p", 20, "--curves", "--json").stdout)
    assert below["minimiser"] == "storable: no finite minimiser" and below["accuracy"] == 1 and below["norm"] is None


def test_least_dimension_is_the_least():
    for p in (2, 3, 50, 1000):
        for kappa in (1.0, 0.3):
            d = least_dimension(p, kappa)
            assert capacity_associations(d, kappa) >= p - 1e-6
            assert d == 1 or capacity_associations(d - 1, kappa) < p


def test_the_smallest_sizes():
    assert least_dimension(2) == 1  # p D(p) = d^2 holds exactly there, but for rounding
    assert predict(d=3, load=0.154).p == 2 and predict(facts=2, load=100).d == 1
    assert predict(d=10**8).d == predict(facts=predict(d=10**8).p).d == 10**8
    with pytest.raises(ValueError, match="load is 1e-50, but must be large enough for 10 facts to have it at d = "):
        predict(facts=10, load=1e-50)
