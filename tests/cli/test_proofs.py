"""certify, check and capacity as a user runs them: real processes, real files, exit codes."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from loadstone.theory.capacity import capacity_associations

LOADSTONE = Path(sys.executable).with_name("loadstone")


def process(*arguments, **options):
    """A command as a process of its own, where that is the point: it takes seconds to start."""
    return subprocess.run([LOADSTONE, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)


@pytest.mark.parametrize(
    "problem, p, verdict",
    [("original", 70, "storable"), ("decoupled", 110, "not storable"), ("groups:3", 108, "not storable")],
)
def test_certify_writes_a_proof_that_check_accepts(problem, p, verdict, tmp_path, command):
    proof, instance = tmp_path / "proof.npz", tmp_path / "instance.npz"
    done = command("certify", "--problem", problem, "--d", 20, "--p", p, "--seed", 3, "--out", proof, "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record.keys() >= {"verdict", "margin", "bound", "newton_steps", "cg_products", "seconds"}
    assert record["verdict"] == verdict
    assert (record["margin"] is None) == (verdict == "not storable")

    command("instance", "--problem", problem, "--d", 20, "--p", p, "--seed", 3, "--out", instance)
    checked = command("check", proof, "--instance", instance, "--json")
    found = json.loads(checked.stdout)
    assert checked.returncode == 0 and found["valid"] and found["verdict"] == verdict
    assert found["margin"] == pytest.approx(record["margin"]) and found["bound"] == pytest.approx(record["bound"])


def test_the_problem_of_a_file_is_what_it_holds(tmp_path, command):
    random = np.random.default_rng(0)
    np.savez(tmp_path / "shared.npz", inputs=random.standard_normal((3, 4)), outputs=random.standard_normal((3, 4)))
    np.savez(tmp_path / "apart.npz", inputs=random.standard_normal((3, 4)), outputs=random.standard_normal((3, 3, 4)))
    refused = command("certify", "--instance", tmp_path / "shared.npz", "--problem", "decoupled")
    assert refused.returncode == 2 and "problem is 'decoupled', but must be left out, because" in refused.stderr
    assert command("certify", "--instance", tmp_path / "apart.npz", "--problem", "decoupled").returncode == 0


def test_an_instance_from_a_file_and_a_proof_about_another(tmp_path, command):
    instance, other, proof = tmp_path / "facts.npz", tmp_path / "other.npz", tmp_path / "proof.npz"
    random = np.random.default_rng(0)
    facts = {"inputs": random.standard_normal((9, 4)), "outputs": random.standard_normal((5, 4))}
    np.savez(instance, **facts, targets=np.arange(9) % 5)
    np.savez(other, **facts, targets=(np.arange(9) + 1) % 5)
    assert command("certify", "--instance", instance, "--out", proof).returncode == 0
    assert command("check", proof, "--instance", instance).returncode == 0
    refused = command("check", proof, "--instance", other, "--json")
    assert refused.returncode == 1
    assert json.loads(refused.stdout) | {"verdict": None} == {
        "valid": False, "verdict": None, "margin": None, "bound": None, "share": None, "family": "full",
        "reason": "the proof is about another instance.",
    }  # fmt: skip


def test_families(tmp_path, command):
    proof, mask = tmp_path / "proof.npz", tmp_path / "mask.npy"
    np.save(mask, np.eye(6) + np.eye(6, k=1))
    given = {"blocks:count=2": "blocks:2", "masked:0.6": "masked", f"masked:{mask}": "masked"}
    for family, name in given.items():
        for p, verdict in ((3, "storable"), (24, "not storable")):
            done = command("certify", "--d", 6, "--p", p, "--family", family, "--out", proof, "--json")
            found = json.loads(done.stdout)
            assert done.returncode == 0 and found["verdict"] == verdict and found["family"] == name
            checked = json.loads(command("check", proof, "--json").stdout)
            assert checked["valid"] and checked["verdict"] == verdict and checked["family"] == name
            assert f"of the family '{name}'" in checked["reason"]
    done = json.loads(command("capacity", "--d", 6, "--seeds", 2, "--family", "symmetric", "--json").stdout)
    assert done["dimensions"] == 21 and done["undecided"] == 0 and done["predicted_interval"] is None
    assert done["predicted_p_c"] == pytest.approx(float(capacity_associations(np.sqrt(21))))
    assert all(3 <= p <= 15 for p in done["p_c"])
    assert "d = 6, skew" in command("capacity", "--d", 6, "--seeds", 1, "--family", "skew").stdout


def test_undecided_has_an_exit_code_of_its_own_and_leaves_no_proof(tmp_path, command):
    done = command("certify", "--d", 20, "--p", 88, "--steps", 1, "--out", tmp_path / "proof.npz", "--json")
    assert done.returncode == 3 and json.loads(done.stdout)["verdict"] == "undecided"
    assert "Newton steps were not enough" in json.loads(done.stdout)["reason"]
    assert not list(tmp_path.iterdir())


def test_capacity_of_a_few_streams(command):
    done = command("capacity", "--problem", "decoupled", "--d", 8, "--seeds", 3, "--json")
    record = json.loads(done.stdout)
    assert done.returncode == 0 and len(record["p_c"]) == len(record["alpha_c"]) == 3
    low, high = record["predicted_interval"]
    assert low <= record["predicted_p_c"] <= high and record["undecided"] == 0
    assert all(12 < p < 32 for p in record["p_c"])
    assert "Exact capacity, original problem, d = 6" in command("capacity", "--d", 6, "--seeds", 1).stdout


def test_capacity_with_groups(command):
    found = {
        problem: json.loads(command("capacity", "--problem", problem, "--d", 8, "--seeds", 2, "--json").stdout)
        for problem in ("original", "groups:1", "groups:3", "groups:900", "decoupled")
    }
    assert found["groups:1"]["p_c"] == found["original"]["p_c"]
    assert found["groups:900"]["p_c"] == found["decoupled"]["p_c"] != found["groups:3"]["p_c"]
    assert found["groups:3"]["problem"] == "groups:3" and found["groups:3"]["undecided"] == 0
    # Three groups of four answers show 3 x 3 directions, which are all.
    asked = ("capacity", "--d", 8, "--seeds", 1, "--answers", 4, "--json", "--problem")
    records = [json.loads(command(*asked, problem).stdout) for problem in ("original", "groups:2", "groups:3")]
    shown = [record["predicted_p_c"] for record in records]
    assert shown == pytest.approx([shown[2] * 3 / 8, shown[2] * 6 / 8, shown[2]])


def test_capacity_with_answers(command):
    done = command("capacity", "--d", 5, "--answers", 3, "--frequencies", "balanced", "--seeds", 2, "--json")
    record = json.loads(done.stdout)
    assert done.returncode == 0 and (record["answers"], record["frequencies"]) == (3, "balanced")
    # Three outputs show two of five directions: 5 * 2 / D(3) = 10 / (5 / 6).
    assert record["predicted_p_c"] == pytest.approx(12) and len(record["p_c"]) == 2
    low, high = record["predicted_interval"]
    assert low < 12 < high
    skewed = command("capacity", "--d", 4, "--answers", 3, "--frequencies", "zipf:1", "--seeds", 1, "--json")
    assert json.loads(skewed.stdout)["predicted_p_c"] is None
    assert "not known for these answers" in command(
        "capacity", "--d", 4, "--answers", 3, "--frequencies", "zipf:1", "--seeds", 1
    ).stdout  # fmt: skip


def test_a_proof_about_facts_with_answers(command, tmp_path):
    proof, instance = tmp_path / "proof.npz", tmp_path / "instance.npz"
    asked = ("--d", 5, "--facts", 40, "--answers", 3, "--frequencies", "zipf:1")
    done = command("certify", *asked, "--out", proof, "--json")
    record = json.loads(done.stdout)
    assert record["verdict"] == "not storable" and (record["p"], record["answers"]) == (40, 3)
    assert command("instance", *asked, "--out", instance).returncode == 0
    assert command("check", proof, "--instance", instance).returncode == 0


BAD = {
    "one answer": (("certify", "--d", 5, "--p", 4, "--answers", 1), "answers is 1, but must be a whole number of at"),
    "frequencies of nothing": (("capacity", "--d", 5, "--frequencies", "zipf:1"), "uniform unless a number of answers"),
    "no such frequencies": (("train", "--d", 5, "--p", 4, "--answers", 2, "--frequencies", "a.txt"), "or a file with"),
    "answers of a file": (("certify", "--instance", "x.npz", "--answers", 5), "given twice"),
    "no size": (("certify",), "give --d with --p or --load, or a file with --instance"),
    "no p": (("certify", "--d", 5), "give either --load or --p"),
    "size and file": (("certify", "--instance", "x.npz", "--d", 5), "given twice"),
    "no such instance": (("certify", "--instance", "nowhere.npz"), "nowhere.npz is not a file"),
    "no such proof": (("check", "nowhere.npz"), "nowhere.npz is not a file"),
    "one association": (("certify", "--d", 5, "--p", 1), "p is 1"),
    "unknown problem": (("certify", "--d", 5, "--p", 4, "--problem", "both"), "problem is 'both', but must be one of"),
    "unknown problem of a file": (("certify", "--instance", "x.npz", "--problem", "both"), "problem is 'both'"),
    "seed of a file": (("certify", "--instance", "x.npz", "--seed", 3), "seed is 3, but must be left out with"),
    "law of a file": (("certify", "--instance", "x.npz", "--law", "sphere"), "but must be left out with --instance"),
    "streams of own facts": (("capacity", "--instance", "x.csv", "--vectors", "v", "--seeds", 2), "seeds is 2"),
    "no steps": (("certify", "--d", 5, "--p", 4, "--steps", 0), "steps is 0"),
    "odd file name": (("certify", "--d", 5, "--p", 4, "--out", "proof.txt"), "must end in .npz"),
    "no such folder": (("certify", "--d", 5, "--p", 4, "--out", "nowhere/proof.npz"), "nowhere is not a folder"),
    "no file name": (("certify", "--d", 5, "--p", 4, "--out", ""), "out is ''"),
    "a name too long": (("certify", "--d", 5, "--p", 4, "--out", 300 * "n" + ".npz"), "(File name too long)"),
    "no name for an instance": (("instance", "--d", 5, "--p", 4, "--out", ""), "out is ''"),
    "instance with a name too long": (("instance", "--d", 5, "--p", 4, "--out", 300 * "n" + ".npz"), "name too long"),
    "blocks of no size": (("certify", "--d", 5, "--p", 5, "--family", "blocks:2"), "count is 2, but must be a divisor"),
    "a cone": (("capacity", "--d", 5, "--family", "psd"), "family is 'psd', but must be linear for an exact verdict"),
    "no mask": (("certify", "--d", 5, "--p", 5, "--family", "masked:none.npy"), "none.npy is not a file"),
    "no streams": (("capacity", "--d", 5, "--seeds", 0), "seeds is 0"),
    "d of zero": (("capacity", "--d", 0), "d is 0"),
    "budget in words": (("certify", "--d", 5, "--p", 4, "--budget", "much"), "budget is 'much'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_sentence(name, command, tmp_path):
    arguments, sentence = BAD[name]
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == "", done.stderr
    assert sentence in done.stderr and done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content, sentence", [
    ({"inputs": np.ones((3, 2))}, "has no outputs"),
    ({"inputs": np.ones((3, 2)), "outputs": np.ones((3, 4))}, "outputs.shape is (3, 4)"),
    ({"inputs": np.ones(3), "outputs": np.ones((3, 4))}, "inputs.shape is (3,)"),
    ({"inputs": np.full((2, 2), np.nan), "outputs": np.ones((2, 2))}, "inputs[0, 0] is nan, but must be finite"),
    ({"inputs": np.ones((3, 2)), "outputs": np.ones((2, 2))}, "targets is None, but must be given"),
    ({"inputs": np.ones((2, 2)), "outputs": np.ones((2, 2)), "targets": np.array([0.5, 1])}, "targets is"),
    ({"inputs": np.array(["a"]), "outputs": np.ones((2, 2))}, "inputs is"),
])  # fmt: skip
def test_an_instance_file_that_is_none_is_refused(content, sentence, command, tmp_path):
    np.savez(tmp_path / "bad.npz", **content)
    done = command("certify", "--instance", tmp_path / "bad.npz")
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1


def test_a_csv_given_as_an_instance_is_refused(command, tmp_path):
    (tmp_path / "facts.csv").write_text("1.0,2.0\n3.0,4.0\n")
    done = command("certify", "--instance", tmp_path / "facts.csv")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "cannot be read as an instance: it is text, not an archive of arrays. An instance is an .npz" in done.stderr


def test_both_commands_say_what_a_certificate_leaves_open(tmp_path, command):
    np.savez(tmp_path / "facts.npz", inputs=np.ones((2, 2)), outputs=np.eye(2))
    sentence = "a W whose margins are all positive but smaller is not excluded."
    done = command("certify", "--instance", tmp_path / "facts.npz", "--out", tmp_path / "proof.npz")
    assert done.returncode == 0 and done.stdout.startswith("not storable: No W has all margins above ")
    assert sentence in done.stdout
    checked = command("check", tmp_path / "proof.npz")
    assert checked.returncode == 0 and checked.stdout.startswith("valid: not storable. No W has all margins above ")
    assert sentence in checked.stdout
    record = json.loads(command("check", tmp_path / "proof.npz", "--json").stdout)
    assert record["reason"].endswith(sentence) and 0 < record["share"] < 2e-13


def test_an_interrupt_stops_cleanly(tmp_path):
    process = subprocess.Popen(
        [LOADSTONE, "capacity", "--d", "40", "--seeds", "200"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    first = process.stderr.readline()  # it is at work
    assert "d = 40" in first
    process.send_signal(signal.SIGINT)
    began = time.perf_counter()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and out == "" and "interrupted" in err and "Traceback" not in err, err
    assert time.perf_counter() - began < 30


def own(folder, facts):
    """Facts in words and their vectors as files: orthogonal subjects and answers, but that 'c2' is three times 'c'."""
    (folder / "facts.csv").write_text("country,capital\n" + "".join(f"{a},{b}\n" for a, b in facts))
    words = {name: row for name, row in zip("abcdwxyz", np.eye(8).tolist())}
    words |= {"c2": (3 * np.eye(8)[2]).tolist()}
    (folder / "words.txt").write_text("".join(f"{name} {' '.join(map(str, row))}\n" for name, row in words.items()))
    return "--instance", folder / "facts.csv", "--vectors", folder / "words.txt", "--columns", "country,capital"


def test_own_facts_are_certified_and_counted(command, tmp_path):
    facts, proof = [("a", "w"), ("b", "x"), ("c", "y"), ("d", "z")], tmp_path / "proof.npz"
    for more, verdict in (([], "storable"), ([("c2", "x")], "not storable")):
        asked = own(tmp_path, facts + more)
        done = json.loads(command("certify", *asked, "--out", proof, "--json").stdout)
        assert (done["verdict"], done["p"], done["answers"], done["d"]) == (verdict, 4 + len(more), 4, 8)
        assert command("check", proof).stdout.startswith(f"valid: {verdict}.")
        counted = json.loads(command("capacity", *asked, "--json").stdout)
        assert (counted["p_c"], counted["first_out"]) == (4, "c2 -> x" if more else None)
    shown = command("capacity", *asked)
    assert "the first 4 can be stored, and no W stores c2 -> x beside them" in shown.stdout
    undecided = command("capacity", *asked, "--seconds", 1e-9)
    assert undecided.returncode == 3 and "at most 4" in undecided.stdout


@pytest.mark.parametrize("arguments, sentence", [
    (("capacity",), "No facts are given: give --d, or a file with --instance and --vectors."),
    (("capacity", "--instance", "x.csv"), "need both"), (("capacity", "--vectors", "x.txt"), "need both"),
    (("capacity", "--d", 5, "--instance", "x.csv", "--vectors", "v.txt"), "given twice"),
    (("capacity", "--problem", "decoupled", "--instance", "x.csv", "--vectors", "v.txt"), "problem is 'decoupled'"),
    (("certify", "--vectors", "x.txt"), "give their file with --instance"),
    (("certify", "--instance", "x.csv", "--vectors", "v.txt"), "x.csv"),
])  # fmt: skip
def test_own_facts_that_are_incomplete_are_refused(arguments, sentence, command, tmp_path):
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1
