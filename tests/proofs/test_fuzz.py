"""Newton's method, linear programs and exact arithmetic agree on small instances of all kinds."""

from collections import Counter

import numpy as np
import pytest
from scipy.optimize import linprog

from loadstone.proofs.certificate import check_proof, write_proof
from loadstone.solvers.decide import decide
from tests.proofs.exact_checker import check_exact
from tests.proofs.small import small_instance


def least_share(arrays, axes):
    """The largest possible least margin of a W = sum x_k A_k with |x_k| <= 1, by HiGHS; each margin is divided by the
    length of its inequality, so that a program in float64 can tell it from zero. A tie has margin zero."""
    rows = []
    for mu, target in enumerate(arrays.targets):
        outputs = np.asarray(arrays.outputs[mu] if arrays.decoupled else arrays.outputs, float)
        away = np.delete(outputs[target] - outputs, target, axis=0)
        rows.extend(np.einsum("mi,j,kij->mk", away, arrays.inputs[mu].astype(float), axes))
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not lengths.all():
        return 0.0
    matrix = np.hstack([-np.array(rows) / lengths, np.ones((len(rows), 1))])
    bounds = [(-1, 1)] * len(axes) + [(None, None)]
    return float(linprog([0.0] * len(axes) + [-1.0], matrix, np.zeros(len(rows)), bounds=bounds).x[-1])


def judged(seed, folder):
    """Verdicts of our solver and of a linear program, and the exit codes of the checkers; None where there is none."""
    arrays, family = small_instance(seed)
    verdict = decide(arrays, family=family or "full")
    d = arrays.inputs.shape[1]
    share = least_share(arrays, np.eye(d * d).reshape(-1, d, d) if family is None else family.axes(d))
    program = "storable" if share > 1e-7 else "not storable" if share < 1e-10 else None
    if verdict.verdict == "undecided":
        return None, program, None, None
    proof = folder / "proof.npz"
    write_proof(proof, arrays, verdict=verdict)
    return str(verdict.verdict), program, check_proof(proof, arrays).valid, check_exact.main(proof)


def disagreements(seeds, folder):
    """Seeds on which anything disagrees, with what was said, and how often each verdict came up."""
    wrong, counts = [], Counter()
    for seed in seeds:
        found = ours, program, valid, exact = judged(seed, folder)
        counts[ours] += 1
        counts["linear program undecided"] += program is None
        if ours is not None and (program not in (None, ours) or not valid or exact != 0):
            wrong.append((seed, *found))
    return wrong, counts


def test_a_hundred_small_instances(tmp_path):
    wrong, counts = disagreements(range(100), tmp_path)
    assert not wrong
    assert min(counts["storable"], counts["not storable"]) > 20 and counts[None] <= 1


@pytest.mark.soak
@pytest.mark.parametrize("thousand", range(10))
def test_ten_thousand_small_instances(thousand, tmp_path):
    wrong, counts = disagreements(range(1000 * thousand, 1000 * (thousand + 1)), tmp_path)
    print(dict(counts))
    assert not wrong
    assert counts[None] <= 5 and counts["linear program undecided"] <= 20
