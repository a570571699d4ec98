"""certify, check and capacity as a user runs them: files and exit codes."""

import json

import numpy as np
import pytest

from loadstone.theory.capacity import capacity_associations


@pytest.mark.parametrize(
    "problem, p, verdict",
    [("original", 70, "storable"), ("decoupled", 110, "not storable"), ("groups:3", 108, "not storable")],
)
def test_certify_writes_a_proof_that_check_accepts(problem, p, verdict, tmp_path, command):
    proof, instance = tmp_path / "proof.npz", tmp_path / "instance.npz"
    done = command("certify", "--problem", problem, "--d", 20, "--p", p, "--seed", 3, "--out", proof, "--json")
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record.keys() >= {"verdict", "margin", "reason", "newton_steps", "cg_products", "seconds"}
    assert record["verdict"] == verdict
    assert (record["margin"] is None) == (verdict == "not storable")

    command("instance", "--problem", problem, "--d", 20, "--p", p, "--seed", 3, "--out", instance)
    checked = command("check", proof, "--instance", instance, "--json")
    found = json.loads(checked.stdout)
    assert checked.returncode == 0 and found["valid"] and found["verdict"] == verdict
    assert found["margin"] == pytest.approx(record["margin"]) and found["reason"] == record["reason"]


def test_the_problem_of_a_file_is_what_it_holds(command, folder):
    done = command("certify", "--instance", "apart.npz", "--problem", "decoupled", "--json", cwd=folder)
    assert (done.returncode, json.loads(done.stdout)["problem"]) == (0, "decoupled")
    assert json.loads(command("certify", "--instance", "x.npz", "--json").stdout)["problem"] == "original"


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
        "valid": False, "verdict": None, "margin": None, "remainder": None, "family": "full",
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


def test_capacity_of_a_subspace_in_a_file(command, tmp_path):
    """Its dimension is known, and with it the prediction, unless there are too few outputs to show all of it."""
    np.save(tmp_path / "mask.npy", np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]]))
    asked = ("capacity", "--d", 3, "--seeds", 1, "--family", "masked:mask.npy")
    record = json.loads(command(*asked, "--json", cwd=tmp_path).stdout)
    assert (record["dimensions"], record["family"], record["predicted_interval"]) == (6, "masked:mask.npy", None)
    assert record["predicted_p_c"] == pytest.approx(float(capacity_associations(np.sqrt(6))))
    assert "not known for these answers" in command(*asked, "--answers", 2).stdout


def test_a_capacity_that_is_not_decided_has_an_exit_code_of_its_own(command):
    asked = ("capacity", "--d", 10, "--seeds", 2, "--seed", 5, "--steps", 1)
    done = command(*asked)
    assert done.returncode == 3 and "undecided, undecided" in done.stdout and "none decided" in done.stdout
    record = json.loads(command(*asked, "--json").stdout)
    assert (record["seeds"], record["p_c"], record["undecided"]) == ([5, 6], [None, None], 2)


def test_a_proof_about_facts_with_answers(command, tmp_path):
    proof, instance = tmp_path / "proof.npz", tmp_path / "instance.npz"
    asked = ("--d", 5, "--facts", 40, "--answers", 3, "--frequencies", "zipf:1")
    done = command("certify", *asked, "--out", proof, "--json")
    record = json.loads(done.stdout)
    assert record["verdict"] == "not storable" and (record["p"], record["answers"]) == (40, 3)
    assert command("instance", *asked, "--out", instance).returncode == 0
    assert command("check", proof, "--instance", instance).returncode == 0


@pytest.mark.parametrize("content, sentence", [
    ({"inputs": np.ones((3, 2))}, "has no outputs"),
    ({"inputs": np.full((2, 2), np.nan), "outputs": np.ones((2, 2))}, "inputs[0, 0] is nan, but must be finite"),
])  # fmt: skip
def test_an_instance_file_that_is_none_is_refused(content, sentence, command, tmp_path):
    np.savez(tmp_path / "bad.npz", **content)
    done = command("certify", "--instance", tmp_path / "bad.npz")
    assert done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1


def test_both_commands_say_what_is_proved(tmp_path, command):
    np.savez(tmp_path / "facts.npz", inputs=np.ones((2, 2)), outputs=np.eye(2))
    done = command("certify", "--instance", tmp_path / "facts.npz", "--out", tmp_path / "proof.npz")
    assert done.returncode == 0 and done.stdout.startswith("not storable: No W stores every association. (")
    checked = command("check", tmp_path / "proof.npz")
    assert checked.returncode == 0 and checked.stdout == "valid: not storable. No W stores every association.\n"
    assert json.loads(command("check", tmp_path / "proof.npz", "--json").stdout)["remainder"] is None


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
