"""Proofs and instances in the formats of exact solvers, as a user writes them."""

import sys

import pytest

from tests.proofs.exact_files import check_vipr, read_lp


def test_a_proof_as_vipr_and_an_instance_as_a_linear_program(tmp_path, command):
    proof, vipr, lp = tmp_path / "proof.npz", tmp_path / "proof.vipr", tmp_path / "i.lp"
    asked = ("--d", 4, "--family", "symmetric")
    for p, shown in ((3, "feasible"), (12, "infeasible")):
        assert command("certify", *asked, "--p", p, "--out", proof).returncode == 0
        done = command("check", proof, "--vipr", vipr)
        assert done.returncode == 0 and done.stdout.startswith("valid: ") and str(vipr) in done.stderr
        assert command("instance", *asked, "--p", p, "--lp", lp).returncode == 0
        found, unknowns, rows = check_vipr(vipr)
        assert found == shown and (unknowns, rows.keys()) == (read_lp(lp)[0], read_lp(lp)[1].keys())
    assert lp.read_text().startswith("\\ original problem, p = 12, d = 4, seed 0, gaussian, symmetric\n")
    assert command("certify", "--d", 20, "--p", 70, "--out", proof).returncode == 0
    done = command("check", proof, "--vipr", tmp_path / "no.vipr")
    assert done.returncode == 2 and "'of 4830 margins in 400 unknowns', but must be of at most 1000000" in done.stderr
    assert not (tmp_path / "no.vipr").exists()
    (tmp_path / "none.npz").write_text("nothing")
    assert command("check", tmp_path / "none.npz", "--vipr", tmp_path / "no.vipr").returncode == 1
    assert not (tmp_path / "no.vipr").exists()


@pytest.mark.parametrize("options, sentence", [
    ((), "out and lp are both left out"),
    (("--lp", "a.txt"), "lp is 'a.txt', but must end in .lp"),
    (("--out", "a.npz", "--family", "skew"), "family is 'skew', but an instance is the same for all families"),
    (("--lp", "no/a.lp"), "no is not a folder"),
    (("--d", 100, "--p", 200, "--lp", "a.lp"), "instance is 'of 39800 margins in 10000 unknowns', but must be of at"),
])  # fmt: skip
def test_files_of_instances_that_are_refused(options, sentence, command, tmp_path):
    done = command("instance", "--d", 3, "--p", 3, *options, cwd=tmp_path)
    assert done.returncode == 2 and sentence in done.stderr and not list(tmp_path.iterdir())


@pytest.mark.soak
def test_weights_of_more_digits_than_python_usually_writes(command, tmp_path):
    proof, vipr, most = tmp_path / "proof.npz", tmp_path / "proof.vipr", sys.get_int_max_str_digits()
    assert command("certify", "--d", 12, "--p", 46, "--out", proof).returncode == 0
    assert command("check", proof, "--vipr", vipr).returncode == 0
    assert sys.get_int_max_str_digits() == most < max(map(len, vipr.read_text().split()))
    sys.set_int_max_str_digits(0)
    try:
        assert check_vipr(vipr)[0] == "infeasible"
    finally:
        sys.set_int_max_str_digits(most)
