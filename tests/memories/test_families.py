"""Families of memories: gradients, training, files, names."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file

import loadstone
from loadstone.memories.families import FAMILIES, initial_memory, is_linear, subspace_of
from loadstone.memories.files import load_memory, save_memory
from loadstone.memories.subspaces.given import Given
from loadstone.memories.subspaces.masked import Masked
from loadstone.problems.decoupled import decoupled
from loadstone.problems.loss import mean_loss
from loadstone.problems.original import original
from loadstone.runs.result import perform
from loadstone.runs.spec import Spec
from loadstone.solvers.solve import solve, solve_batch
from loadstone.streams.stream import Stream

D = 6
BASIS = np.random.default_rng(0).standard_normal((20, D, D))
NAMES = ["symmetric", "traceless", "skew", "masked:0.5", "blocks:2", "diagonal", "circulant", "given"]
CONES = ["nonnegative", "psd"]


def start(name, d=D, seed=1):
    return initial_memory(d, seed=seed, family=Given(BASIS) if name == "given" else name)


@cache
def problems():
    """Shared outputs on a CPU take the fused step, which is given the matrix; decoupled ones ask for queries. Made when
    they are first needed: every process of the suite reads this file, and one of them runs it."""
    return original(Stream(0, D), 9), decoupled(Stream(0, D), 9)


def of_entries(name, entries, memory):
    """W of a memory of this family, by NumPy in float64."""
    if name == "nonnegative":
        return entries**2
    return entries @ entries.T if name == "psd" else subspace_of(memory, D).projected(entries)


def losses(weights):
    """The losses of both problems in plain NumPy."""
    total = 0.0
    for arrays in (problem.arrays() for problem in problems()):
        outputs = arrays.outputs if arrays.decoupled else np.broadcast_to(arrays.outputs, (9, 9, D))
        scores = np.einsum("nmi,ij,nj->nm", outputs.astype(float), weights, arrays.inputs.astype(float))
        total += (np.log(np.exp(scores).sum(axis=1)) - np.diagonal(scores)).mean()
    return total


@pytest.mark.parametrize("name", ["traceless", "masked:0.5", "circulant", "given", *CONES])
def test_gradients_are_those_of_finite_differences(name):
    memory = start(name)
    entries = np.asarray(jax.tree.leaves(memory)[0], float)
    both = problems()
    gradient = jax.jit(jax.grad(lambda memory: sum(mean_loss(each, memory)[0] for each in both), allow_int=True))
    found = np.asarray(jax.tree.leaves(gradient(memory))[0], float)
    slopes = np.empty((D, D))
    for index in np.ndindex(D, D):
        step = np.zeros((D, D))
        step[index] = 1e-5
        ends = (losses(of_entries(name, entries + sign * step, memory)) for sign in (1, -1))
        slopes[index] = (next(ends) - next(ends)) / 2e-5
    np.testing.assert_allclose(found, slopes, atol=1e-5 * np.abs(slopes).max())
    if name not in CONES:
        np.testing.assert_allclose(subspace_of(memory, D).projected(found), found, atol=1e-6 * np.abs(found).max())


@pytest.mark.parametrize("name", ["full", "rank", *NAMES, *CONES, "relu:width=3", "gelu:width=3", "rounded:bits=3"])
def test_inputs_of_another_dimension_are_refused(name):
    memory = start(name)
    assert memory.queries(jnp.ones((2, D))).shape == (2, D)
    with pytest.raises(ValueError, match=r"^inputs.shape is \(2, 5\), but must be \(n, 6\), because the memory"):
        memory.queries(jnp.ones((2, D - 1)))


#: The rank of a memory of seed 1, and entries 1 and 2 of each of its arrays of real numbers, times 1000.
STARTS = {
    "full": (6, [-243.7282, 92.7836]),
    "rank:3": (3, [-243.7282, 92.7836], [38.5004, 136.8787]),
    "symmetric": (6, [-119.2549, 54.1752]),
    "traceless": (6, [-119.2549, 54.1752]),
    "skew": (6, [-124.4733, 38.6084]),
    "masked:0.5": (6, [0.0, 92.7836]),
    "blocks:2": (6, [-243.7282, 92.7836]),
    "diagonal": (6, [0.0, 0.0]),
    "circulant": (6, [44.1314, 73.3774]),
    "nonnegative": (6, [333.622, 436.6573]),
    "psd": (6, [-30.466, 11.5979]),
    "relu:3": (3, [12.7824, 38.1309], [38.5004, 136.8787]),
    "gelu:9": (6, [12.7824, 38.1309], [38.5004, 136.8787]),
    "attention:9": (6, [12.7824, 38.1309], [1079.1589, 3836.679]),
    "rounded:2": (6, [-243.7282, 92.7836]),
}


@pytest.mark.parametrize("name", STARTS)
def test_starts_are_those_of_their_seed(name):
    """For good, on every device."""
    memory = start(name)
    rank, *numbers = STARTS[name]
    arrays = [np.asarray(leaf) for leaf in jax.tree.leaves(memory) if leaf.dtype == jnp.float32]
    np.testing.assert_allclose([1000 * array.ravel()[1:3] for array in arrays], numbers, rtol=1e-5)
    assert memory.rank == rank


@pytest.mark.parametrize("name", ["masked:0.5", "given", "nonnegative", "psd"])
def test_what_is_stored_stays_in_the_family(name):
    problem, memory = original(Stream(0, D), 4), start(name)
    solution = solve(problem, memory)
    assert solution.status == "stored" and loadstone.measure(problem, solution.memory).violations == 0
    weights = np.asarray(solution.memory.matrix())
    if name == "masked:0.5":
        assert memory.subspace.contains(weights.astype(float))
    elif name == "given":
        np.testing.assert_allclose(memory.subspace.projected(weights), weights, atol=1e-6 * np.abs(weights).max())
        assert (memory.subspace.orthonormal == solution.memory.subspace.orthonormal).all()  # a basis is not trained
    else:
        assert (weights >= 0).all() if name == "nonnegative" else (np.linalg.eigvalsh(weights) > -1e-6).all()


@pytest.mark.parametrize("name", NAMES + CONES)
def test_into_a_file_and_back(name, tmp_path):
    memory = start(name)
    save_memory(tmp_path / "memory.safetensors", memory, about={"family": "not this"})
    again = load_memory(tmp_path / "memory.safetensors")
    assert type(again) is type(memory) and jax.tree.structure(again) == jax.tree.structure(memory)
    for one, other in zip(jax.tree.leaves(again), jax.tree.leaves(memory)):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("changes, sentence", [
    ({"weights": None}, r"weights is 'of shape \(0,\)', but must be such that they make a d x d memory"),
    ({"weights": np.zeros((2, 3), np.float32)}, r"weights is 'of shape \(2, 3\)'"),
    ({"weights": np.zeros((6, 6, 6), np.float32)}, r"weights is 'of shape \(6, 6, 6\)'"),
    ({"weights": np.zeros((0, 0), np.float32)}, r"weights is 'of shape \(0, 0\)'"),
    ({"mask": None}, "one that holds a memory of its family .*'masked', but must be given with mask"),
    ({"mask": np.zeros((D, D), bool)}, "one that holds a memory of its family .*empty in row 0"),
    ({"mask": np.ones((D - 1, D - 1), bool)}, r"one that holds a memory of its family .*must be \(6, 6\)"),
    ({"basis": BASIS}, "one that holds a memory of its family .*family parameter is 'basis'"),
])  # fmt: skip
def test_files_that_hold_no_memory_of_their_family_are_refused(changes, sentence, tmp_path):
    arrays = {"weights": np.zeros((D, D), np.float32), "mask": np.ones((D, D), bool)} | changes
    there = {name: array for name, array in arrays.items() if array is not None}
    save_file(there, tmp_path / "x", {"family": "masked"})
    with pytest.raises(ValueError, match=sentence):
        load_memory(tmp_path / "x")


def test_memories_with_different_masks_are_trained_together():
    problems = [original(Stream(seed, 10), 9) for seed in range(3)]
    memories = [initial_memory(10, seed=seed, family="masked:0.5") for seed in range(3)]
    assert (np.asarray(memories[0].subspace.mask) != memories[1].subspace.mask).any()
    for memory, solution in zip(memories, solve_batch(problems, memories)):
        assert solution.status == "stored"
        assert (np.asarray(solution.memory.matrix())[~np.asarray(memory.subspace.mask)] == 0).all()


def test_a_basis_is_kept_with_all_its_digits(tmp_path):
    """Training is in float32, but the subspace is that of the given numbers."""
    found = solve(original(Stream(0, D), 4), start("given")).memory
    assert found.weights.dtype == jnp.float32
    save_memory(tmp_path / "memory.safetensors", found)
    for memory in (found, load_memory(tmp_path / "memory.safetensors")):
        subspace = subspace_of(memory, D)
        np.testing.assert_array_equal(subspace.basis, BASIS)
        assert subspace.orthonormal.dtype == np.float64


def test_a_spec_spells_its_family_in_one_way(tmp_path):
    spec = Spec("original", 12, 20, family="blocks:4", solver="lbfgs", stop="exact")
    assert spec.family == "blocks:4" and spec == replace(spec, family="blocks:count=4")
    assert spec.identity()["family"] == "blocks:count=4"
    assert Spec.from_identity(spec.identity()) == spec and spec.key != replace(spec, family="full").key
    (record,) = perform([Spec("original", 8, 6, family="masked:0.6", solver="lbfgs", stop="exact")])
    assert record.spec["family"] == "masked:density=0.6" and record.result["violations"] == 0


def test_arrays_from_files(tmp_path):
    np.save(tmp_path / "mask.npy", np.eye(D, dtype=bool))
    np.save(tmp_path / "basis.npy", BASIS)
    (tmp_path / "text.npy").write_text("no array")
    memory = initial_memory(D, family=f"masked:{tmp_path / 'mask.npy'}")
    assert isinstance(memory.subspace, Masked) and (np.asarray(memory.matrix()) != 0).sum() == D
    assert (initial_memory(D, family=f"given:{tmp_path / 'basis.npy'}").subspace.basis == BASIS).all()
    with pytest.raises(FileNotFoundError, match="none.npy is not a file"):
        initial_memory(D, family="masked:none.npy")
    with pytest.raises(ValueError, match="the name of an array in a .npy file"):
        initial_memory(D, family=f"masked:{tmp_path / 'text.npy'}")
    with pytest.raises(ValueError, match="one that its name says everything about, because a file can change"):
        Spec("original", D, 4, family=f"masked:{tmp_path / 'mask.npy'}")


@pytest.mark.parametrize("call, sentence", [
    (lambda: initial_memory(6, family="symetric"), r"must be one of full, rank, .*did you mean 'symmetric'"),
    (lambda: initial_memory(6, family=3), "family is 3, but must be one of"),
    (lambda: initial_memory(6, family="blocks:4"), "count is 4, but must be a divisor of d = 6"),
    (lambda: initial_memory(6, family="blocks"), "family is 'blocks', but must be given with count"),
    (lambda: initial_memory(6, family="masked"), "family is 'masked', but must be given with density"),
    (lambda: initial_memory(6, family="psd:2"), "family is 'psd:2', but must be psd with no parameters"),
    (lambda: initial_memory(6, 0.5, family="skew"), "kappa is 0.5, but must be 1 for the family 'skew'"),
    (lambda: Spec("original", 10, 4, family="blocks:4"), "count is 4, but must be a divisor of d = 10"),
    (lambda: Spec("original", 6, 4, family="psd", solver="capacity"), "family 'psd', but must be 1 and full or linear"),
    (lambda: Spec("original", 6, 4, family="skew", solver="hebbian"), "must be 1 and full for the Hebbian rule"),
    (lambda: subspace_of("nonnegative", 6), "family is 'nonnegative', but must be linear for an exact verdict"),
    (lambda: subspace_of(initial_memory(6, 0.5), 6), "family is 'LowRank', but must be linear for an exact verdict"),
    (lambda: subspace_of(initial_memory(6, family="relu:3"), 6), "family is 'TwoLayers', but must be linear"),
    (lambda: subspace_of("masked:0.5", 6), "a density needs a seed"),
    (lambda: initial_memory(6, 0.5, family="nonnegative"), "kappa is 0.5, but must be 1 for the family 'nonnegative'"),
    (lambda: initial_memory(4, family="relu"), "width, which has no default"),
    (lambda: initial_memory(4, family="relu:0"), "width is 0, but must be a whole number of at least 1"),
    (lambda: initial_memory(4, family="relu:1000001"), "width is 1000001, but must be"),
    (lambda: initial_memory(4, 0.5, family="gelu:3"), "kappa is 0.5, but must be 1"),
    (lambda: subspace_of("gelu:3", 4), "'gelu:3', but must be linear for an exact verdict"),
    (lambda: initial_memory(0), "d is 0, but must be a whole number of at least 1"),
    (lambda: initial_memory(6, 0.0), r"kappa is 0.0, but must be a number in \(0, 1\]"),
    (lambda: initial_memory(6, family="symmetric:2"), "symmetric"),
    (lambda: initial_memory(6, family="blocks:mask.npy"), "count"),
])  # fmt: skip
def test_what_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_family_of_a_memory_or_by_name_is_the_same():
    assert subspace_of("full", 6) is None is subspace_of(initial_memory(6), 6)
    assert subspace_of("symmetric", 6) == subspace_of(start("symmetric"), 6)
    drawn = subspace_of("masked:0.5", 6, seed=1)
    np.testing.assert_array_equal(drawn.mask, subspace_of(start("masked:0.5"), 6).mask)
    assert isinstance(drawn.mask, np.ndarray)
    linear = {name for name in FAMILIES if is_linear(name)}
    assert linear == set(FAMILIES) - {"rank", "nonnegative", "psd", "relu", "gelu", "attention", "rounded"}
    assert initial_memory(1).matrix().shape == (1, 1) and initial_memory(4, family="relu:1").rank == 1


@pytest.mark.parametrize("d, sentence", [
    (2**31, "d is 2147483648, but must be a whole number of at least 1 and at most 2147483647"),
    (2**31 - 1, "budget is .*, but a memory of this size needs .* lower p or d"),
    (10**6, "budget is .*, but a memory of this size needs .* lower p or d"),
])  # fmt: skip
def test_a_memory_too_large_for_the_machine_is_refused_before_it_is_drawn(d, sentence):
    with pytest.raises(ValueError, match=sentence):
        initial_memory(d)
