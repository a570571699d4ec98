"""Verdicts against a linear program, instances whose answer is known by hand, and every proof through the checker."""

import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loadstone
from loadstone.problems.arrays import Arrays
from loadstone.problems.instance import Instance
from loadstone.problems.numpy_pass import ExactPass
from loadstone.proofs.certificate import check_proof, write_proof
from loadstone.proofs.conditioned import Conditioned
from loadstone.proofs.verdict import Outcome
from loadstone.solvers import newton
from loadstone.solvers.decide import ProofLimits, decide
from loadstone.streams.stream import Stream
from tests.solvers.linear_program import largest_margin


def arrays_of(inputs, outputs, targets=None):
    inputs, outputs = np.asarray(inputs, float), np.asarray(outputs, float)
    return Arrays(inputs, outputs, np.arange(len(inputs)) if targets is None else np.asarray(targets))


def proved(arrays, tmp_path, **arguments):
    """The verdict, after its proof has passed the checker."""
    verdict = decide(arrays, **arguments)
    assert verdict.verdict != "undecided", verdict.reason
    write_proof(tmp_path / "proof.npz", arrays, verdict=verdict)
    checked = check_proof(tmp_path / "proof.npz", arrays)
    assert checked.valid and checked.verdict == verdict.verdict, checked.reason
    return verdict


@pytest.mark.parametrize("kind", ["original", "decoupled"])
def test_agrees_with_a_linear_program_across_the_threshold(kind, tmp_path):
    seen = set()
    for seed in range(16):
        arrays = Instance(Stream(seed, 6), 12 + seed % 8, kind=kind).arrays()
        verdict = proved(arrays, tmp_path)
        margin = largest_margin(arrays)
        assert abs(margin) > 1e-6 or margin < 1e-9, "too close for the linear program to say"
        assert verdict.verdict == ("storable" if margin > 1e-6 else "not storable")
        seen.add(verdict.verdict)
    assert seen == {"storable", "not storable"}


@settings(max_examples=25)
@given(st.integers(1, 5), st.integers(1, 12), st.integers(2, 9), st.integers(0, 10**6))
def test_agrees_on_any_facts_several_inputs_may_share_an_output(d, n, m, seed):
    random = np.random.default_rng(seed)
    arrays = arrays_of(random.standard_normal((n, d)), random.standard_normal((m, d)), random.integers(0, m, n))
    margin = largest_margin(arrays)
    if 1e-9 < margin < 1e-6:
        return
    assert decide(arrays).verdict == ("storable" if margin > 1e-6 else "not storable")


def drawn(n, d, m=None, seed=0):
    random = np.random.default_rng(seed)
    return random.standard_normal((n, d)), random.standard_normal((m or n, d))


def rotation(seed):
    return np.linalg.qr(drawn(8, 8, seed=seed)[0])[0]


FEW, OUTPUTS = drawn(5, 10, 6, seed=1)
#: The middle can tie with both ends, never beat them. Moved outwards by a little it is a corner.
BETWEEN = np.array([[1.0, 0.0, 2.0], [3.0, -4.0, 0.0], [2.0, -2.0, 1.0]])
KNOWN = {
    "orthonormal": (arrays_of(rotation(0), rotation(1)), "storable"),  # W = sum u e^T has margins of 1
    "different targets": (arrays_of(FEW, OUTPUTS, range(5)), "storable"),
    "an input with two targets": (arrays_of([*FEW, FEW[0]], OUTPUTS, range(6)), "not storable"),
    "an output between two others": (arrays_of([[1.0, 2.0, -1.0]], BETWEEN, [2]), "not storable"),
    "a corner": (arrays_of([[1.0, 2.0, -1.0]], BETWEEN + [[0, 0, 0], [0, 0, 0], [1e-3, 0, 0]], [2]), "storable"),
    "a zero input": (arrays_of(np.zeros((1, 3)), np.eye(3), [0]), "not storable"),
    "two equal outputs": (arrays_of(np.eye(3)[:2], [[1.0, 0, 0], [1, 0, 0], [0, 1, 0]], [0, 2]), "not storable"),
    "far from the origin": (arrays_of(drawn(6, 4)[0], drawn(6, 4)[1] + 1e6), "storable"),
    # The loss then has no minimiser: most associations run off to infinity while a few hold each other.
    "a contradiction among a few": (Instance(Stream(136, 12), 38).arrays(), "not storable"),
    "fewer facts than dimensions": (Instance(Stream(3, 20), 5, kind="decoupled").arrays(), "storable"),
    "one dimension": (Instance(Stream(3, 1), 2, kind="decoupled").arrays(), "storable"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_verdicts_that_are_known(name, tmp_path):
    arrays, expected = KNOWN[name]
    verdict = proved(arrays, tmp_path)
    assert verdict.verdict == expected


@pytest.mark.parametrize("size", [1e-320, 1e-170, 1e-80, 1e-20, 1e20, 1e160, 1e308])
def test_no_scale_makes_a_storable_instance_unstorable(size):
    for scaled in ((size, 1.0), (1.0, size), (size, size)):
        with np.errstate(all="ignore"):
            verdict = decide(arrays_of(np.eye(3) * scaled[0], np.eye(3) * scaled[1]))
        assert verdict.verdict == "storable"


@pytest.mark.parametrize("size", [1e-310, 1e-170, 1e170, 1e305])
@pytest.mark.parametrize("p, expected", [(12, "storable"), (40, "not storable")])
def test_the_scale_of_an_instance_does_not_matter(size, p, expected, tmp_path):
    arrays = Instance(Stream(1, 6), p).arrays()
    lengths = np.where(np.arange(p) % 3 == 0, size, 1.0)[:, None]
    assert proved(arrays_of(arrays.inputs * lengths, arrays.outputs), tmp_path).verdict == expected
    assert proved(arrays_of(arrays.inputs, arrays.outputs.astype(float) * size), tmp_path).verdict == expected


@pytest.mark.parametrize("factor", [1e4, 1e9])
def test_an_outlier_does_not_make_a_storable_instance_unstorable(factor):
    for seed in range(2):
        random = np.random.default_rng(seed)
        inputs, outputs = random.standard_normal((2, 20, 12))
        assert decide(arrays_of(inputs, outputs)).verdict == "storable"
        longer = inputs * np.where(np.arange(20) == 4, factor, 1.0)[:, None]
        # Lengths of inputs do not matter at all.
        assert decide(arrays_of(longer, outputs)).verdict == "storable"
        far = outputs * np.where(np.arange(20) == 7, factor, 1.0)[:, None]
        for instance in (arrays_of(inputs, far), arrays_of(longer, far)):
            assert decide(instance).verdict != "not storable"


@pytest.mark.parametrize("gap", [1e-6, 1e-9, 1e-11])
def test_nearly_equal_inputs_are_told_apart_or_left_undecided(gap):
    for seed in range(3):
        random = np.random.default_rng(seed)
        inputs, outputs = random.standard_normal((6, 8)), random.standard_normal((6, 8))
        inputs[1] = inputs[0] + gap * random.standard_normal(8)
        assert decide(arrays_of(inputs, outputs)).verdict != "not storable"


@pytest.mark.parametrize("make", [
    lambda: loadstone.original(Stream(0, 8), 20), lambda: loadstone.decoupled(Stream(0, 8), 20, hold="stored"),
    lambda: loadstone.decoupled(Stream(0, 8), 20, hold="regenerated"),
    lambda: loadstone.decoupled(Stream(0, 8), 20, hold="stored", dtype="float16"),
    lambda: loadstone.facts(np.eye(4), np.eye(4)),
])  # fmt: skip
def test_problems_of_every_kind(make, tmp_path):
    problem = make()
    arrays = problem.arrays()
    np.testing.assert_array_equal(arrays.target_outputs, problem.target_outputs)
    assert decide(problem).verdict == proved(arrays, tmp_path).verdict


@pytest.mark.parametrize("p", [80, 95])
def test_a_start_changes_the_way_but_not_the_verdict(p, tmp_path):
    instance = Instance(Stream(2, 20), p)
    cold = decide(instance.arrays())
    warm = proved(instance.arrays(), tmp_path, start=decide(instance.first(88).arrays()).last)
    huge = proved(instance.arrays(), tmp_path, start=1e12 * np.random.default_rng(0).standard_normal((20, 20)))
    assert cold.verdict == warm.verdict == huge.verdict


def test_above_the_capacity_two_steps_lead_to_a_certificate():
    """The multipliers of a step leave no residual: they are one as soon as none of them is negative."""
    for n in (42, 50):
        verdicts = [decide(arrays_of(*drawn(n, 10, seed=seed))) for seed in range(3)]
        assert all(one.verdict == "not storable" and one.newton_steps <= 2 for one in verdicts)


def test_too_few_steps_are_undecided_and_say_so():
    verdict = decide(Instance(Stream(0, 20), 88).arrays(), ProofLimits(steps=1))
    assert verdict.verdict == "undecided" and "1 Newton steps were not enough" in verdict.reason
    assert verdict.witness is None and verdict.certificate is None


def test_arrays_on_an_accelerator_take_the_same_way(monkeypatch):
    """The code that an accelerator runs, on this machine: jax.numpy in the place of NumPy."""
    for p in (10, 24):
        arrays = Instance(Stream(7, 6), p, kind="decoupled" if p == 10 else "original").arrays()
        with jax.enable_x64(True):
            found = newton.NewtonSearch(Conditioned(arrays), jnp, np.zeros((6, 6))).run()
        assert found.outcome == decide(arrays).verdict
    here = decide(arrays)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    there = decide(arrays)  # switches on float64
    assert (there.verdict, there.newton_steps) == (here.verdict, here.newton_steps)


def test_all_products_are_counted():
    # Even a verdict from the very first step has solved one system.
    verdict = decide(Instance(Stream(0, 20), 5).arrays())
    assert verdict.newton_steps == 0 and verdict.cg_products > 0


def test_progress_is_told_step_by_step():
    told = []
    arrays = Instance(Stream(0, 12), 45).arrays()
    verdict = decide(arrays, progress=lambda step, words: told.append((step, words)))
    assert [step for step, _ in told] == list(range(verdict.newton_steps + 1))
    losses = [float(re.fullmatch("loss (.*), smallest margin .*", words)[1]) for _, words in told]
    assert all(a >= b for a, b in zip(losses, losses[1:]))


IDENTITY = arrays_of(np.eye(3), np.eye(3))
REFUSED = [
    *((lambda given=given: decide(given), f"instance is 'a {kind}', but must be a problem, such as facts.*or Arrays")
      for given, kind in ((np.eye(3), "ndarray"), ("facts.npz", "str"), (None, "NoneType"), (Arrays, "type"))),
    *((lambda start=start: decide(IDENTITY, start=start), sentence) for start, sentence in (
        (np.eye(2), r"start.shape is \(2, 2\), but must be \(3, 3\)"), (np.ones(9), r"start.shape is \(9,\)"),
        (np.full((3, 3), np.nan), r"start\[0, 0\] is nan, but must be finite"),
        (np.eye(3) * 1j, "start is 'complex128"), ("start", "start is"),
        ([[1.0], [2.0, 3.0]], "start is 'a list', but must be a rectangular array of numbers"))),
    *((lambda steps=steps: ProofLimits(steps=steps), f"steps is {steps}, but must be a whole number of at least 1")
      for steps in (0, 2.5, True, np.inf)),
    (lambda: ProofLimits(budget=10**9), "budget is 1000000000"),
    (lambda: ProofLimits(budget="8GiB"), r"budget is '8GiB', but must be None or a Budget, such as Budget.parse"),
    (lambda: decide(IDENTITY, 200), "limits is 200, but must be a ProofLimits"),
]  # fmt: skip


@pytest.mark.parametrize("call, sentence", REFUSED)
def test_what_is_refused_gets_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_verdict_equals_the_plain_word():
    verdict = decide(arrays_of(np.eye(3), np.eye(3)))
    assert verdict.verdict is Outcome.STORABLE and verdict.verdict == "storable" == str(verdict.verdict)
    assert json.dumps(verdict.verdict) == '"storable"'
    # Orthonormal vectors: no margin can be above |u_target - u_rho| |e|, and W = 1 reaches sqrt(1/6) of it.
    assert verdict.margin == pytest.approx(1 / 3**0.5, rel=0.5)


@pytest.mark.parametrize("gap", [1e-10, 1e-15, 1e-30])
def test_margins_however_small_are_never_excluded(gap):
    """Two inputs with different answers that differ by so little: storable, and no multipliers may deny it."""
    for inputs in ([[1.0, 0.0], [1.0, gap]], [[1.0, 0.0, 1.0], [1.0, gap, 1.0]]):
        assert decide(arrays_of(inputs, np.eye(len(inputs[0]))[:2])).verdict != "not storable"
    one = decide(arrays_of([[1.0, 0.0], [1.0, 1e-14]], np.eye(2)))
    assert one.verdict == "storable" and 0 < one.margin < 1e-14


def test_an_answer_next_to_a_point_between_two_others_is_never_excluded():
    """Moved towards the two it is theirs; moved away by the last digit it is a corner, and the loss can be zero."""
    for last_digit, possible in ((0.0, "not storable"), (2.0**-52, "not storable"), (-(2.0**-52), None)):
        outputs = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0], [1.0, last_digit]])
        verdict = decide(arrays_of([[1.0, 2.0]], outputs, [3])).verdict
        assert verdict == possible if possible else verdict != "not storable"


@pytest.mark.parametrize("rate, least", [(0.2, 5.0), (0.9, 1 / 0.9), (1.0, 1.0), (1.3, 1 / 1.3), (100.0, 0.01)])
def test_the_length_of_a_step_is_known_to_ten_percent(rate, least):
    """Two facts pull in opposite directions, the second from a lead of 2: the loss is least where they are even."""
    exact = ExactPass(arrays_of(np.ones((2, 1)), np.ones((2, 1))))
    scores, change = np.array([[0.0, 0.0], [0.0, 2.0]]), rate * np.array([[1.0, 0.0], [1.0, 0.0]])
    found = newton._line_search(scores, change, exact, np)
    assert 0.89 * least < found <= least * (1 + 1e-12)


def test_no_step_is_endless_and_none_goes_uphill(monkeypatch):
    exact = ExactPass(arrays_of(np.ones((1, 1)), np.ones((2, 1)), [0]))
    downhill = np.array([[1e-9, 0.0]])
    assert newton._line_search(np.zeros((1, 2)), downhill, exact, np) == 2.0**20
    assert np.isnan(newton._line_search(np.zeros((1, 2)), -downhill, exact, np))
    for length in (np.nan, 0.0):
        monkeypatch.setattr(newton, "_line_search", lambda *given, length=length: length)
        found = decide(Instance(Stream(3, 6), 16).arrays())
        assert found.verdict == "undecided" and found.newton_steps == 0
        assert found.reason == "no step lowers the loss any more, because of rounding errors."
