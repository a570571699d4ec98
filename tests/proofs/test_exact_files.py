"""LP and VIPR files: exact, and judged by programs that share nothing with ours."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import loadstone
from loadstone.memories.families import subspace_of
from loadstone.memories.subspaces.given import Given
from loadstone.problems.arrays import Arrays
from loadstone.problems.instance import Instance
from loadstone.proofs.certificate import write_proof
from loadstone.proofs.inequalities import Inequalities
from loadstone.proofs.lp_file import write_lp
from loadstone.proofs.vipr import convert, write_vipr
from loadstone.streams.stream import Stream
from tests.proofs.exact_files import check_vipr, read_lp

D = 4
BASIS = np.random.default_rng(5).standard_normal((7, D, D))
FAMILIES = ["full", "symmetric", "traceless", "skew", "masked:0.6", "blocks:2", "diagonal", "circulant", "given"]


def subspace(name):
    return Given(BASIS) if name == "given" else subspace_of(name, D, seed=0)


def instance(p, kind="original"):
    return Instance(Stream(2, D), p, kind=kind).arrays()


def divided(rows):
    """Constraints divided by their right sides."""
    return {name: {unknown: number / right for unknown, number in row.items()} for name, (row, right) in rows.items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_an_instance_in_both_files_is_the_same_and_its_proof_holds(family, tmp_path):
    seen = set()
    for kind, p in (("original", 2), ("decoupled", 2), ("original", 12), ("decoupled", 12)):
        arrays, space = instance(p, kind), subspace(family)
        verdict = loadstone.decide(arrays, family=space or "full")
        write_lp(tmp_path / "i.lp", arrays, family=space, about="some words")
        write_proof(tmp_path / "p.npz", arrays, verdict=verdict)
        convert(tmp_path / "p.npz", tmp_path / "p.vipr")
        unknowns, rows = read_lp(tmp_path / "i.lp")
        shown, *program = check_vipr(tmp_path / "p.vipr")
        assert shown == {"storable": "feasible", "not storable": "infeasible"}[str(verdict.verdict)]
        assert program[0] == unknowns and len(unknowns) == (16 if space is None else space.dimension(D))
        assert divided(program[1]) == divided(rows) and len(rows) == p * (p - 1)
        seen.add(shown)
    assert seen == {"feasible", "infeasible"}


@pytest.mark.parametrize("family", FAMILIES)
def test_inequalities_are_the_margins(family):
    """Of some W of the family, written with its unknowns in exact numbers."""
    arrays, space = instance(3, "decoupled"), subspace(family)
    system = Inequalities(arrays, space)
    any_matrix = np.random.default_rng(1).integers(-4, 5, (D, D)).astype(float)
    values = system.nearest(any_matrix)
    member = any_matrix if space is None else space.projected(any_matrix)
    margins = np.array([float(row.unit * sum(c * x for c, x in zip(row.coefficients, values))) for row in system])
    queries = arrays.inputs @ member.T
    scores = np.einsum("nmd,nd->nm", arrays.outputs, queries)
    expected = [scores[n, arrays.targets[n]] - scores[n, m] for n in range(3) for m in range(3) if m != n]
    np.testing.assert_allclose(margins, expected, rtol=1e-6, atol=1e-6)
    assert len(system) == len(margins)


def test_coefficients_are_coprime_and_exact():
    arrays = Arrays(np.array([[0.1, -3.0]]), np.array([[1.0, 0.0], [0.3, 2.0**60]]), np.array([0]))
    (row,) = Inequalities(arrays)
    assert np.gcd.reduce(np.array(row.coefficients, object)) == 1
    true = [(Fraction(1.0) - Fraction(0.3)) * Fraction(0.1), (Fraction(1.0) - Fraction(0.3)) * -3]
    true += [-Fraction(2.0**60) * Fraction(0.1), Fraction(2.0**60) * 3]
    assert [row.unit * number for number in row.coefficients] == true


def test_a_tie_is_a_constraint_that_nothing_fulfils(tmp_path):
    arrays = Arrays(np.zeros((1, 2)), np.eye(2), np.array([0]))
    write_lp(tmp_path / "tie.lp", arrays)
    _, rows = read_lp(tmp_path / "tie.lp")
    assert rows == {"m_0_1": ({"W_0_0": 0}, 1)}
    write_vipr(tmp_path / "tie.vipr", arrays, multipliers=loadstone.decide(arrays).certificate)
    assert check_vipr(tmp_path / "tie.vipr")[0] == "infeasible"


def test_what_is_no_proof_is_not_written(tmp_path):
    arrays = instance(12)
    some = np.ones((12, 12))
    for evidence, words in (
        ({"multipliers": some}, "multipliers is 'not such"),
        ({"witness": np.eye(D)}, "witness is 'a matrix with a margin"),
        ({}, "both or none"),
    ):
        with pytest.raises(ValueError, match=words):
            write_vipr(tmp_path / "no.vipr", arrays, **evidence)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("family", ["full", "traceless", "given"])
def test_highs_reads_the_same_verdict(family, tmp_path):
    """In float64, so not at the threshold itself."""
    for p in (3, 12):
        space = subspace(family)
        write_lp(tmp_path / "i.lp", instance(p), family=space)
        unknowns, rows = read_lp(tmp_path / "i.lp")
        matrix = np.array([[-float(row.get(name, 0)) for name in unknowns] for row, _ in rows.values()])
        status = linprog(np.zeros(len(unknowns)), matrix, -np.ones(len(rows)), bounds=(None, None)).status
        assert {0: "storable", 2: "not storable"}[status] == loadstone.decide(
            instance(p), family=space or "full"
        ).verdict


@pytest.mark.parametrize("family", ["full", "symmetric"])
def test_z3_reads_the_same_verdict_in_exact_arithmetic(family, tmp_path):
    """An SMT solver (pip install z3-solver): PyPI's builds of SCIP and HiGHS have no exact arithmetic."""
    z3 = pytest.importorskip("z3")
    for p in (3, 7, 12):
        space = subspace(family)
        write_lp(tmp_path / "i.lp", instance(p), family=space)
        unknowns, rows = read_lp(tmp_path / "i.lp")
        reals = {name: z3.Real(name) for name in unknowns}
        solver = z3.SolverFor("QF_LRA")
        for row, right in rows.values():
            solver.add(z3.Sum([z3.RealVal(str(number)) * reals[name] for name, number in row.items()]) >= right)
        verdict = {"sat": "storable", "unsat": "not storable"}[str(solver.check())]
        assert verdict == loadstone.decide(instance(p), family=space or "full").verdict


def test_scip_reads_the_file_as_it_is(tmp_path):
    """PyPI's build of SCIP (pip install pyscipopt) computes in float64, but its reader is SCIP's."""
    scip = pytest.importorskip("pyscipopt")
    for p in (3, 12):
        write_lp(tmp_path / "i.lp", instance(p), about="one line")
        model = scip.Model()
        model.hideOutput()
        model.readProblem(str(tmp_path / "i.lp"))
        assert (model.getNVars(), model.getNConss()) == (D * D, p * (p - 1))
        model.optimize()
        verdict = {"optimal": "storable", "infeasible": "not storable"}[model.getStatus()]
        assert verdict == loadstone.decide(instance(p)).verdict
