"""Padded problems say the same as those without padding, and padding has no say at all."""

import jax.numpy as jnp
import numpy as np
import pytest

from loadstone.experiments.plan import padded_rows
from loadstone.experiments.spec import Spec
from loadstone.measurements.accuracy import measure
from loadstone.measurements.scores import _block, scores
from loadstone.memories.memory import initial_memory
from loadstone.problems.decoupled import decoupled
from loadstone.problems.original import original
from loadstone.problems.stream import Stream
from loadstone.solvers.gradient import Protocol, train, train_batch

D, P, ROWS = 12, 30, 48
SHORT = Protocol(steps=40, stop="none")


def make(form, seed=1, p=P, rows=None):
    if form == "original":
        return original(Stream(seed, D), p, rows=rows)
    return decoupled(Stream(seed, D), p, form=form, rows=rows)


@pytest.mark.parametrize("form", ["original", "stored", "regenerated"])
def test_a_pass_is_the_same_and_padding_is_neutral(form):
    queries = jnp.asarray(np.random.default_rng(0).standard_normal((ROWS, D)), jnp.float32)
    plain, padded = make(form).recall(queries[:P]), make(form, rows=ROWS).recall(queries)
    for one, other in zip(plain, padded):
        np.testing.assert_allclose(np.asarray(other)[:P], one, rtol=2e-6, atol=2e-6)
    assert not np.asarray(padded.loss)[P:].any() and np.asarray(padded.stored)[P:].all()
    slope = np.asarray(padded.pull - make(form, rows=ROWS).target_outputs)
    assert not slope[P:].any()


@pytest.mark.parametrize("kappa", [1.0, 0.5])
@pytest.mark.parametrize("form", ["original", "stored", "regenerated"])
def test_training_and_measurements_are_the_same(form, kappa):
    plain, padded, memory = make(form), make(form, rows=ROWS), initial_memory(D, kappa, 1)
    one, other = train(plain, memory, SHORT), train(padded, memory, SHORT)
    np.testing.assert_allclose(one.loss, other.loss, rtol=1e-5)
    np.testing.assert_allclose(one.accuracy, other.accuracy, atol=1e-6)
    found, again = measure(plain, one.memory), measure(padded, one.memory)
    assert found.violations == again.violations and found.margin == pytest.approx(again.margin, rel=1e-5)
    first, second = scores(plain, one.memory), scores(padded, one.memory)
    assert first.counts.sum() == second.counts.sum() and np.abs(first.counts - second.counts).sum() <= 2
    assert second.first.rival == pytest.approx(first.first.rival, rel=1e-5) and len(second.first.others) == P - 1


def test_scores_of_different_sizes_come_from_one_program():
    before = _block._cache_size()
    for p, most in ((30, 20 * ROWS), (18, 20 * ROWS), (12, 20 * ROWS)):
        counts = scores(make("original", p=p, rows=ROWS), initial_memory(D, 1.0, 1), most).counts
        assert counts.sum() == min(p, 20) * (p - 1)
    assert _block._cache_size() == before + 1


@pytest.mark.parametrize("form", ["original", "stored"])
def test_problems_of_different_sizes_train_as_one_batch(form):
    sizes = ((1, 30), (2, 40), (3, 48))
    memories = [initial_memory(D, 1.0, seed) for seed, _ in sizes]
    together = train_batch([make(form, seed, p, ROWS) for seed, p in sizes], memories, SHORT)
    for (seed, p), memory, solution in zip(sizes, memories, together):
        alone = train(make(form, seed, p), memory, SHORT)
        np.testing.assert_allclose(solution.loss, alone.loss, rtol=1e-5)


def test_a_proof_is_about_the_associations_alone():
    assert make("regenerated", rows=ROWS).arrays().inputs.shape == (P, D)
    assert make("stored", rows=ROWS).arrays().outputs.shape == (P, P, D)


def test_fewer_rows_than_associations_are_refused():
    for form in ("original", "stored"):
        with pytest.raises(ValueError, match="rows is 29, but must be a whole number of at least 30"):
            make(form, rows=29)


def test_few_programs_serve_many_sizes_on_an_accelerator_and_none_is_padded_on_a_cpu():
    loads = [Spec("original", 500, p) for p in range(10_800, 24_700, 500)]
    assert {padded_rows(spec, "cpu") for spec in loads} == {None}
    assert {padded_rows(spec, "gpu") for spec in loads} == {16_384, 24_576}
    decoupled_sizes = {padded_rows(Spec("decoupled", 150, p), "gpu") for p in range(1260, 2840, 20)}
    assert decoupled_sizes == {1536, 2048, 3072}
    for problem in ("original", "decoupled"):
        assert {padded_rows(Spec(problem, 50, p), "gpu") for p in range(190, 420, 10)} == {512}
    assert padded_rows(Spec("original", 1024, 60_000), "gpu") is None
