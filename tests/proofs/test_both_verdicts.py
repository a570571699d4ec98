"""No instance may have a valid proof that it is storable and another that it is not, at whatever scale.

The attack looks for the best of both: the point of least norm in the convex hull of the inequalities' normals, from
which come the W of largest margins and the multipliers of smallest residual.
"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from loadstone.problems.arrays import Arrays
from loadstone.proofs.certificate import check_proof, write_proof
from loadstone.proofs.rounding import least_margin
from loadstone.proofs.scaling import scaled
from loadstone.proofs.strict import excludes_all
from loadstone.proofs.verdict import Outcome, Verdict
from loadstone.solvers.decide import ProofLimits, decide

#: Just below it a square underflows to zero, just above to the smallest number there is.
_EDGE = 1.5717277847026287e-162


def candidates(arrays):
    """Witnesses and multipliers worth trying."""
    n, m = len(arrays.targets), arrays.outputs.shape[-2]
    rows, pairs = [], []
    for mu in range(n):
        outputs = arrays.outputs[mu] if arrays.decoupled else arrays.outputs
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            away = scaled(np.asarray(outputs, float) - np.asarray(outputs[arrays.targets[mu]], float), axis=1)[0]
        normals = away[:, :, None] * scaled(arrays.inputs[mu])[0]
        for rho in range(m):
            size = np.linalg.norm(normals[rho])
            if rho != arrays.targets[mu] and np.isfinite(size) and size > 0:
                rows.append(normals[rho].ravel() / size)
                pairs.append((mu, rho))
    witnesses, multipliers = [np.eye(arrays.inputs.shape[1]), -np.eye(arrays.inputs.shape[1])], [np.ones((n, m))]
    for mu in range(n):
        multipliers += [np.eye(1, n * m, mu * m + rho).reshape(n, m) for rho in range(m)]
    if rows:
        matrix = np.vstack([np.array(rows).T, np.ones(len(rows))])
        weights, _ = nnls(matrix, np.append(np.zeros(len(matrix) - 1), 1.0))
        found = np.zeros((n, m))
        found[tuple(np.array(pairs).T)] = weights
        multipliers.append(found)
        witnesses.append(-(matrix[:-1] @ weights).reshape(np.eye(arrays.inputs.shape[1]).shape))
        # The multipliers of the instance itself, whose normals are longer or shorter.
        lengths = np.array([np.linalg.norm(scaled(arrays.inputs[mu])[0]) for mu in range(n)])
        exponents = scaled(arrays.inputs, axis=1)[1]
        with np.errstate(all="ignore"):
            multipliers.append(np.ldexp(found / lengths[:, None], (exponents.min() - exponents)[:, None]))
    with np.errstate(all="ignore"):
        verdict = decide(arrays, ProofLimits(steps=10))
    witnesses += [verdict.witness] if verdict.witness is not None else []
    multipliers += [verdict.certificate] if verdict.certificate is not None else []
    return witnesses, multipliers


def proofs(arrays):
    """Whether the checker's rules accept one of each."""
    witnesses, multipliers = candidates(arrays)
    with np.errstate(all="ignore"):
        storable = any(w.any() and least_margin(arrays, w) >= 0 for w in witnesses)
        not_storable = any(excludes_all(arrays, each) for each in multipliers)
    return storable, not_storable


def numbers(dtype):
    """Of every size that the type has, with many that are equal, opposite, or neighbours of each other."""
    low, high = (-45, 38) if dtype == np.float32 else (-323, 308)
    wild = st.builds(lambda a, e: a * 10.0 ** float(e), st.floats(-9, 9, width=32), st.integers(low + 1, high - 1))
    near = st.builds(
        lambda base, steps: base * (1 + steps * 2.0**-52), st.sampled_from([1.0, _EDGE, -1.0]), st.integers(-40, 40)
    )
    few = st.sampled_from([0.0, 1.0, -1.0, 5e-324, 1e-45, 1e-160, 1e154, 1e300, -1e300])
    return st.one_of(wild, near, few).map(lambda x: dtype(x) if abs(x) < float(np.finfo(dtype).max) else dtype(1))


@st.composite
def instances(draw):
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    d, n, m = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(2, 4))
    fill = lambda *shape: np.array([draw(numbers(dtype)) for _ in range(np.prod(shape))], dtype).reshape(shape)  # noqa: E731
    outputs = fill(n, m, d) if draw(st.booleans()) else fill(m, d)
    return Arrays(fill(n, d), outputs, np.array([draw(st.integers(0, m - 1)) for _ in range(n)]))


def one_dimension(below, above):
    outputs = np.array([[_EDGE * (1 - below * 2.0**-52)], [_EDGE * (1 + above * 2.0**-52)]])
    return Arrays(np.array([[1.0]]), outputs, np.array([0]))


@settings(max_examples=30)
@given(instances())
@example(one_dimension(20, 20))
@example(Arrays(np.array([[1.0, 0.0], [1.0, 1e-14]]), np.eye(2), np.arange(2)))
@example(Arrays(np.array([[1.0, 0.0], [1.0, 1e-200]]), np.eye(2), np.arange(2)))
def test_no_instance_has_both_proofs(arrays):
    assert proofs(arrays) != (True, True)


def test_the_attack_finds_what_there_is_to_find():
    """Otherwise the test above could not fail."""
    assert proofs(Arrays(np.eye(2), np.eye(2), np.arange(2))) == (True, False)
    assert proofs(Arrays(np.ones((2, 2)), np.eye(2), np.arange(2))) == (False, True)
    for size in (1e-300, 1e-45, 1e38, 1e300):
        outputs = np.array([[1.0], [2.0], [3.0]]) * size
        assert proofs(Arrays(np.array([[size]]), outputs, np.array([2]))) == (True, False)
        assert proofs(Arrays(np.array([[size]]), outputs, np.array([1]))) == (False, True)


@pytest.mark.parametrize("below, above", [(20, 20), (3, 40), (40, 3)])
def test_squares_that_underflow_do_not_let_both_proofs_pass(tmp_path, below, above):
    """One dimension, two outputs a few roundings apart: W = -1 stores it."""
    arrays = one_dimension(below, above)
    witness, lambdas = np.array([[-1.0]]), np.array([[0.0, 1.0]])
    margin = least_margin(arrays, witness)
    write_proof(
        tmp_path / "yes.npz", arrays, verdict=Verdict(Outcome.STORABLE, 0, 0, 0, 0.0, witness=witness, margin=margin)
    )
    verdict = Verdict(Outcome.NOT_STORABLE, 0, 0, 0, 0.0, certificate=lambdas)
    write_proof(tmp_path / "no.npz", arrays, verdict=verdict)
    assert check_proof(tmp_path / "yes.npz").valid and not check_proof(tmp_path / "no.npz").valid
