"""Padded problems give the same results as those without padding, whatever the padding contains."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.measurements.accuracy import measure
from loadstone.measurements.scores import scores, single_scores
from loadstone.memories.families import initial_memory
from loadstone.problems.decoupled import decoupled
from loadstone.problems.facts import facts
from loadstone.problems.original import original
from loadstone.problems.padded import padded
from loadstone.proofs.certificate import check_proof, write_proof
from loadstone.runs.spec import Spec
from loadstone.solvers.decide import decide
from loadstone.solvers.gradient import Paper
from loadstone.solvers.solve import solve, solve_batch
from loadstone.streams.stream import Stream
from loadstone.tasks.batches import rows_of

D, P, ROWS = 12, 30, 48
SHORT = {"solver": Paper(steps=40), "stop": "none"}


def make(form, seed=1, p=P, rows=None):
    make_one = original if form == "original" else partial(decoupled, hold=form)
    return make_one(Stream(seed, D), p) if rows is None else padded(make_one(Stream(seed, D), rows), p)


# One program each: outside of one, every operation would be compiled alone.
recall = jax.jit(lambda problem, queries: problem.recall(queries))
slopes = jax.jit(lambda problem, queries: problem.slopes(queries))


@pytest.mark.parametrize("form", ["original", "stored", "regenerated"])
def test_a_pass_is_the_same_and_padding_is_neutral(form):
    queries = jnp.asarray(np.random.default_rng(0).standard_normal((ROWS, D)), jnp.float32)
    plain, filled = recall(make(form), queries[:P]), recall(make(form, rows=ROWS), queries)
    for one, other in zip(plain, filled):
        np.testing.assert_allclose(np.asarray(other)[:P], one, rtol=2e-6, atol=2e-6)
    assert not np.asarray(filled.loss)[P:].any() and np.asarray(filled.stored)[P:].all()
    slope = np.asarray(slopes(make(form, rows=ROWS), queries)[1])
    assert not slope[P:].any()


@pytest.mark.parametrize(
    "form, kappa",
    [("original", 1.0), pytest.param("original", 0.5, marks=pytest.mark.soak), ("stored", 1.0), ("regenerated", 0.5)],
)
def test_training_and_measurements_are_the_same(form, kappa):
    plain, filled, memory = make(form), make(form, rows=ROWS), initial_memory(D, kappa, seed=1)
    one, other = solve(plain, memory, **SHORT), solve(filled, memory, **SHORT)
    np.testing.assert_allclose(one.loss, other.loss, rtol=1e-5)
    np.testing.assert_allclose(one.accuracy, other.accuracy, atol=1e-6)
    found, again = measure(plain, one.memory), measure(filled, one.memory)
    assert found.violations == again.violations and found.margin == pytest.approx(again.margin, rel=1e-5)
    first, second = scores(plain, one.memory), scores(filled, one.memory)
    assert first.counts.sum() == second.counts.sum() and np.abs(first.counts - second.counts).sum() <= 2
    assert second.first.rival == pytest.approx(first.first.rival, rel=1e-5) and len(second.first.others) == P - 1


@pytest.mark.parametrize("form", ["original", "stored"])
def test_problems_of_different_sizes_train_as_one_batch(form):
    sizes = ((1, 30), (2, 40), (3, 48))
    memories = [initial_memory(D, 1.0, seed=seed) for seed, _ in sizes]
    together = solve_batch([make(form, seed, p, ROWS) for seed, p in sizes], memories, **SHORT)
    for (seed, p), memory, solution in zip(sizes, memories, together):
        alone = solve(make(form, seed, p), memory, **SHORT)
        np.testing.assert_allclose(solution.loss, alone.loss, rtol=1e-5)


def test_fewer_rows_than_associations_are_refused():
    for form in ("original", "stored"):
        with pytest.raises(ValueError, match="p is 30, but must be a whole number of at least 2 and at most 29"):
            make(form, rows=29)


def test_few_programs_serve_many_sizes_on_an_accelerator_and_none_is_padded_on_a_cpu():
    loads = [Spec("original", 500, p) for p in range(10_800, 24_700, 500)]
    assert {rows_of(spec, "cpu") for spec in loads} == {None}
    assert {rows_of(spec, "gpu") for spec in loads} == {16_384, 24_576}
    decoupled_sizes = {rows_of(Spec("decoupled", 150, p), "gpu") for p in range(1260, 2840, 20)}
    assert decoupled_sizes == {1536, 2048, 3072}
    for problem in ("original", "decoupled"):
        assert {rows_of(Spec(problem, 50, p), "gpu") for p in range(190, 420, 10)} == {512}
    assert rows_of(Spec("original", 1024, 60_000), "gpu") is None


@pytest.mark.parametrize("form", ["original", "stored", "regenerated"])
def test_padding_is_no_rival_in_a_proof(form, tmp_path):
    """p = 40 at d = 20 is storable by far; with padding among the rivals it would be 'not storable'."""
    make_one = original if form == "original" else partial(decoupled, hold=form)
    filled, plain = padded(make_one(Stream(0, 20), 64), 40), make_one(Stream(0, 20), 40)
    verdict = decide(filled)
    assert verdict.verdict == "storable"
    for name in ("inputs", "outputs", "targets"):
        assert np.array_equal(getattr(filled.arrays(), name), getattr(plain.arrays(), name))
    write_proof(tmp_path / "proof.npz", filled.arrays(), verdict=verdict)
    assert check_proof(tmp_path / "proof.npz", plain.arrays()).valid


@pytest.mark.parametrize("form", ["original", "stored", "regenerated"])
def test_padding_has_no_score(form):
    memory = initial_memory(D, 1.0, seed=1)
    plain, filled = single_scores(make(form), memory, row=7), single_scores(make(form, rows=ROWS), memory, row=7)
    assert filled.others.shape == (P - 1,) and np.isfinite(filled.others).all()
    np.testing.assert_allclose(filled.others, plain.others, rtol=1e-5, atol=1e-6)
    assert filled.target == pytest.approx(plain.target, rel=1e-5)
    with pytest.raises(ValueError, match=f"row is {P}, but must be a whole number of at least 0 and at most {P - 1}"):
        single_scores(make(form, rows=ROWS), memory, row=P)
    everything = make(form, rows=ROWS).scores(jnp.ones((1, D)), jnp.asarray([0]))
    assert (np.asarray(everything)[0, P:] == -np.inf).all()


def test_only_problems_that_pair_inputs_with_outputs_are_filled_up():
    other = facts(np.eye(4), np.eye(4), targets=[1, 0, 3, 2])
    with pytest.raises(ValueError, match="problem is 'one with other targets', but must be"):
        padded(other, 3)


@pytest.mark.parametrize("form", ["original", "stored", "regenerated"])
def test_shares_are_those_of_the_associations_alone(form):
    shares = np.linspace(0.5, 1.5, ROWS).astype(np.float32)
    problem = padded(make(form, p=ROWS).weighted(shares), P)
    assert not np.asarray(problem.shares)[P:].any()
    plain = problem.unpadded()
    np.testing.assert_array_equal(plain.shares, shares[:P])
    assert plain.inputs.shape == plain.target_outputs.shape == (P, D)
