"""Verdicts within linear families, against a general solver of linear programs; and the Hessian that finds them."""

import numpy as np
import pytest

import loadstone
from loadstone.memories.families import subspace_of
from loadstone.memories.projected import Projected
from loadstone.memories.subspaces.given import Given
from loadstone.memories.subspaces.masked import Masked
from loadstone.problems.budget import Budget
from loadstone.problems.instance import Instance
from loadstone.problems.numpy_pass import ExactPass
from loadstone.proofs.certificate import check_proof, write_proof
from loadstone.solvers import restricted
from loadstone.solvers.decide import ProofLimits, decide
from loadstone.solvers.hessian import Hessian, dense_bytes
from loadstone.solvers.restricted import RestrictedHessian
from loadstone.streams.stream import Stream
from loadstone.tasks.capacity import exact_capacity
from tests.solvers.linear_program import largest_margin

D = 6
BASIS = np.random.default_rng(5).standard_normal((15, D, D))
#: Families, and numbers of facts on both sides of what fits.
SIZES = {
    "symmetric": (6, 9, 12), "traceless": (6, 9, 12), "skew": (5, 7, 9), "masked:0.6": (6, 9, 12),
    "blocks:2": (6, 8, 11),    "diagonal": (3, 4, 6), "circulant": (3, 4, 6), "given": (5, 7, 9),
}  # fmt: skip


def subspace(name, d=D, seed=0):
    return Given(BASIS) if name == "given" else subspace_of(name, d, seed=seed)


@pytest.mark.parametrize("name", SIZES)
def test_verdicts_are_those_of_linear_programs_and_their_proofs_are_accepted(name, tmp_path):
    seen = set()
    for kind in ("original", "decoupled"):
        for seed in range(2):
            family = subspace(name, seed=seed)
            for p in SIZES[name]:
                arrays = Instance(Stream(seed, D), p, kind=kind).arrays()
                verdict = decide(arrays, family=family)
                expected = "storable" if largest_margin(arrays, family.axes(D)) > 1e-7 else "not storable"
                assert verdict.verdict == expected, (kind, seed, p, verdict.reason)
                seen.add(expected)
                write_proof(tmp_path / "proof.npz", arrays, verdict=verdict)
                found = check_proof(tmp_path / "proof.npz", arrays)
                assert (
                    found.valid
                    and found.verdict == expected
                    and found.family == (name if name == "blocks:2" else name.partition(":")[0])
                )
    assert seen == {"storable", "not storable"}


@pytest.mark.parametrize("name, p", [("symmetric", 30), ("circulant", 6), ("masked:0.5", 40)])
def test_streamed_products_come_to_the_same_verdicts(name, p):
    arrays, family = Instance(Stream(1, 16), p).arrays(), subspace(name, 16, 1)
    expected = decide(arrays, family=family).verdict
    assert decide(arrays, ProofLimits(budget=Budget(1000)), family=family).verdict == expected != "undecided"


@pytest.mark.parametrize("name", SIZES)
def test_the_hessian_of_a_family_is_that_of_all_matrices_seen_along_its_axes(name):
    """Of families of few dimensions it is summed in their coordinates, of others taken from that of all matrices."""
    arrays, family, numbers = Instance(Stream(0, D), 30).arrays(), subspace(name), np.random.default_rng(0)
    exact = ExactPass(arrays)
    softmax = numbers.dirichlet(np.ones(30), 30)
    whole = Hessian(exact.inputs, exact.spreads(softmax, exact.mean(softmax), exact.mean(softmax)), np)
    axes = family.axes(D)
    expected = np.array([[(one * whole.product(other)).sum() for other in axes] for one in axes])
    target = np.tensordot(numbers.standard_normal(len(axes)), axes, 1)
    solution = np.tensordot(np.linalg.solve(expected, axes.reshape(len(axes), -1) @ target.ravel()), axes, 1)
    hessian = RestrictedHessian(whole, family)
    assert hessian._mean_of_diagonal() == pytest.approx(np.trace(expected) / len(expected), rel=1e-9)
    np.testing.assert_allclose(hessian.dense(target), solution, rtol=1e-8, atol=1e-10 * np.abs(solution).max())
    found, reached = hessian.conjugate_gradients(target, 1e-12, 200)
    assert reached
    np.testing.assert_allclose(found, solution, rtol=1e-7, atol=1e-9 * np.abs(solution).max())


@pytest.mark.parametrize("name", SIZES)
def test_a_singular_system_with_a_solution_is_solved(name):
    """Two facts leave most directions of a family free."""
    exact, family = ExactPass(Instance(Stream(0, D), 2).arrays()), subspace(name)
    softmax = np.full((2, 2), 0.5)
    hessian = RestrictedHessian(Hessian(exact.inputs, exact.spreads(softmax, *[exact.mean(softmax)] * 2), np), family)
    image = hessian.product(np.random.default_rng(0).standard_normal((D, D)))
    np.testing.assert_allclose(hessian.product(hessian.dense(image)), image, atol=1e-8 * np.abs(image).max())


def test_the_capacity_of_a_stream_in_a_family():
    found = exact_capacity(Instance(Stream(3, 10), 14, kind="decoupled"), family="masked:0.5")
    family = subspace_of("masked:0.5", 10, seed=3)
    fits = Instance(Stream(3, 10), found.p_c, kind="decoupled")
    assert largest_margin(fits.arrays(), family.axes(10)) > 1e-7
    assert largest_margin(fits.first(found.p_c + 1).arrays(), family.axes(10)) < 1e-7
    assert (found.witness[~family.mask] == 0).all()


def test_a_start_outside_of_the_family_is_projected():
    arrays = Instance(Stream(0, D), 5).arrays()
    start = np.random.default_rng(0).standard_normal((D, D))
    verdict = decide(arrays, family="symmetric", start=start)
    assert verdict.verdict == "storable" and (verdict.witness == verdict.witness.T).all()
    assert isinstance(verdict.memory, Projected)
    assert loadstone.measure(loadstone.facts(arrays.inputs, arrays.outputs), verdict.memory).violations == 0


def test_a_memory_says_which_family_is_meant():
    arrays, mask = Instance(Stream(0, D), 4).arrays(), np.tril(np.ones((D, D), bool))
    memory = loadstone.initial_memory(D, family=Masked(mask))
    assert (decide(arrays, family=memory).witness[~mask] == 0).all()
    assert decide(arrays, family=loadstone.initial_memory(D)).family is None
    for family, sentence in (
        ("psd", "family is 'psd', but must be linear"),
        (Masked(mask[:5, :5]), r"mask.shape is \(5, 5\), but must be \(6, 6\)"),
        ("masked:0.5", "a density needs a seed"),
        (3, "family is 3, but must be one of"),
    ):
        with pytest.raises(ValueError, match=sentence):
            decide(arrays, family=family)


def test_work_and_room_of_a_dense_solve_by_hand():
    """In a small family the sum over associations is less work than the matrix of d^2 by d^2."""
    n, d = 10, 4
    assert restricted.restricted_work(n, d, 5) == 10 * 25 * 4 + 125 / 3
    assert restricted.restricted_bytes(n, d, 5, np) == 8 * (3 * 10 * (20 + 16) + 5 * 16 + 3 * 25)
    assert restricted.restricted_work(n, 2, 2) == 10 * 16 / 2 + 2 * 16 + 8 / 3  # as much either way
    assert restricted.restricted_work(n, d, 6) == 10 * 256 / 2 + 2 * 256 + 72
    assert restricted.restricted_bytes(n, d, 6, np) == dense_bytes(n, d, np) + 8 * (2 * 6 * 16 + 3 * 36)
