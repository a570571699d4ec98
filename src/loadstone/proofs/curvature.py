"""The matrix H = sum_mu C_mu (x) e_mu e_mu^T: the Hessian of the loss, and what strict proofs factorise. NumPy only."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int


def matrix_of(
    inputs: Float64[np.ndarray, "n a"], covariances: Float64[np.ndarray, "n b b"]
) -> Float64[np.ndarray, "ab ab"]:
    """H[(i, j), (k, l)] = sum_mu C_mu[i, k] e_mu[j] e_mu[l]. Both factors are symmetric, so only pairs i <= k, j <= l
    are multiplied, which is a quarter of the work."""
    a, b = inputs.shape[1], covariances.shape[1]
    (i, k), (j, l) = np.triu_indices(b), np.triu_indices(a)  # noqa: E741
    packed = covariances[:, i, k].T @ (inputs[:, j] * inputs[:, l])
    of_outputs, of_inputs = _positions(b), _positions(a)
    whole = np.empty((b * a, b * a))
    for row in range(b):
        block = packed[of_outputs[row]][:, of_inputs]
        whole[row * a : (row + 1) * a] = block.transpose(1, 0, 2).reshape(a, b * a)
    return whole


def matrix_bytes(n: int, a: int, b: int) -> int:
    """Memory of the matrix, of the packed copy of a quarter of it, and of the arrays that it is made from."""
    return 8 * (5 * (a * b) ** 2 // 4 + n * (3 * b**2 // 2 + 3 * a**2 // 2))


def _positions(size: int) -> Int[np.ndarray, "size size"]:
    """For each entry of a symmetric matrix, its place among those of the upper triangle."""
    first, second = np.triu_indices(size)
    places = np.zeros((size, size), int)
    places[first, second] = places[second, first] = np.arange(len(first))
    return places
