"""A judge of storability that shares nothing with ours: a general solver of linear programs."""

import numpy as np
from scipy.optimize import linprog


def largest_margin(arrays) -> float:
    """The largest possible least margin of a W with entries in [-1, 1], by HiGHS."""
    n, d = arrays.inputs.shape
    rows = []
    for mu in range(n):
        outputs = np.asarray(arrays.outputs[mu] if arrays.decoupled else arrays.outputs, float)
        for rho in range(len(outputs)):
            if rho != arrays.targets[mu]:
                rows.append(np.outer(outputs[arrays.targets[mu]] - outputs[rho], arrays.inputs[mu]).ravel())
    matrix = np.hstack([-np.array(rows), np.ones((len(rows), 1))])
    best = linprog([0.0] * d**2 + [-1.0], matrix, np.zeros(len(rows)), bounds=[(-1, 1)] * d**2 + [(None, None)])
    assert best.status == 0
    return float(best.x[-1])
