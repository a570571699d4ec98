"""A judge of storability that shares nothing with ours: a general solver of linear programs."""

import numpy as np
from scipy.optimize import linprog


def largest_margin(arrays, axes=None, low=-1) -> float:
    """The largest possible least margin of a W = sum x_i A_i with coordinates x in [low, 1], by HiGHS.

    axes: the A_i; default: the matrices with a single 1, so that the coordinates are the entries of W.
    """
    n, d = arrays.inputs.shape
    axes = np.eye(d * d) if axes is None else np.reshape(axes, (-1, d * d))
    rows = []
    for mu in range(n):
        outputs = np.asarray(arrays.outputs[mu] if arrays.decoupled else arrays.outputs, float)
        for rho in range(len(outputs)):
            if rho != arrays.targets[mu]:
                rows.append(np.outer(outputs[arrays.targets[mu]] - outputs[rho], arrays.inputs[mu]).ravel())
    matrix = np.hstack([-np.array(rows) @ axes.T, np.ones((len(rows), 1))])
    bounds = [(low, 1)] * len(axes) + [(None, None)]
    best = linprog([0.0] * len(axes) + [-1.0], matrix, np.zeros(len(rows)), bounds=bounds)
    assert best.status == 0
    return float(best.x[-1])
