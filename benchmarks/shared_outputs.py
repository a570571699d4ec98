"""How much more is stored because queries adapt to outputs that all inputs share? A second-order estimate, sampled.

    OPENBLAS_NUM_THREADS=1 python benchmarks/shared_outputs.py --sizes 12:40 20:86

A size is d:p. Given the outputs, the queries that recall output mu fill a fixed cone C_mu of R^d, and

    N_c / d = max over Q, min over B of  Tr(B Q) / mean over mu of E dist_B^2(Q^(1/2) xi, C_mu),

with Q the covariance of the queries and B their inverse response, both d x d. Q = B = 1 is the law p D(p) = d^2. To
second order in how unlike a sphere one set of outputs is, the logarithm of the maximum is larger by

    delta = beta G_QQ / (2 c^2) - G_QB / c,

G the mean products of the traceless parts of the derivatives of log E dist^2 with respect to Q and B, c = (1 - s) / d,
s the share of a move's square along the query (exact: `aligned`), and -beta the second derivative with respect to B.
That with respect to Q is 0, since on average over outputs E dist^2(x, C) is a multiple of |x|^2. Outputs are whitened,
which changes no capacity and makes all this small. The p with p D(p) = d^2 e^delta is larger by delta / (1 + dlog D /
dlog p). With g groups the derivatives are means over g sets, so delta falls as 1/g.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.optimize import nnls

from loadstone.theory.codimension import codimension
from loadstone.theory.cone import merge_law


def whitened(outputs: np.ndarray) -> np.ndarray:
    outputs = outputs - outputs.mean(axis=0)
    values, axes = np.linalg.eigh(outputs.T @ outputs / len(outputs))
    return outputs @ (axes / np.sqrt(values)) @ axes.T


def move(x: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """x minus the nearest v with normals v >= 0: a combination of -normals without a negative weight."""
    return -normals.T @ nnls(-normals.T, x, maxiter=5000)[0]


def traceless(matrix: np.ndarray) -> np.ndarray:
    symmetric = (matrix + matrix.T) / 2
    return symmetric - np.trace(symmetric) / len(symmetric) * np.eye(len(symmetric))


def slopes(outputs: np.ndarray, queries: int, random: np.random.Generator) -> np.ndarray:
    """Traceless derivatives of the mean of dist^2 over all targets with respect to Q and B, so many queries each."""
    p, d = outputs.shape
    total = np.zeros((2, d, d))
    for mu in range(p):
        normals = outputs[mu] - np.delete(outputs, mu, axis=0)
        for x in random.standard_normal((queries, d)):
            r = move(x, normals)
            total += np.outer(r, x), np.outer(r, r)
    return np.array([traceless(one) for one in total / (p * queries)])


def curvature(d: int, p: int, count: int, random: np.random.Generator) -> tuple[float, float]:
    """beta and its error: minus the second difference of E dist_B^2 along a traceless B of unit length, over D."""
    found, step = [], 0.35
    for _ in range(count):
        outputs, x = whitened(random.standard_normal((p, d))), random.standard_normal(d)
        direction = traceless(random.standard_normal((d, d)))
        values, axes = np.linalg.eigh(direction / np.linalg.norm(direction))
        squares = []
        for size in (step, 0.0, -step):
            root = np.sqrt(1 + size * values)
            r = move((axes * root) @ axes.T @ x, (outputs[0] - outputs[1:]) @ ((axes / root) @ axes.T))
            squares.append(r @ r)
        found.append((squares[0] - 2 * squares[1] + squares[2]) / step**2)
    cost = codimension(p)
    return -float(np.mean(found)) / cost, float(np.std(found) / np.sqrt(count)) / cost


def aligned(d: int, p: int) -> float:
    """s: on average over outputs, E r r^T for a query x is D/d ((1 - s) |x|^2 / d + s x x^T), and r x = |r|^2. With E
    |r|^4 = E k^2 + 2 E k for a projection that loses k dimensions."""
    law = merge_law(p)
    return ((law.mean**2 + law.variance + 2 * law.mean) / (law.mean * (d + 2)) - 1 / d) * d / (d - 1)


def estimate(d: int, p: int, sets: int, seed: int) -> dict[str, float]:
    random, cost = np.random.default_rng(seed), codimension(p)
    products = []
    for _ in range(sets):
        outputs = whitened(random.standard_normal((p, d)))
        # Products of independent halves have no bias from sampling.
        one, other = slopes(outputs, 6, random), slopes(outputs, 6, random)
        both = np.einsum("iab,jab->ij", one, other) / cost**2
        products.append((both[0, 0], (both[0, 1] + both[1, 0]) / 2))
    beta, beta_error = curvature(d, p, 30 * sets, random)
    c = (1 - aligned(d, p)) / d
    each = np.array([beta * by_q / (2 * c * c) - by_both / c for by_q, by_both in products])
    error = np.hypot(each.std(ddof=1) / np.sqrt(sets), beta_error * np.mean([q for q, _ in products]) / (2 * c * c))
    growth = 1 + np.log(codimension(p + 1) / codimension(p - 1)) / np.log((p + 1) / (p - 1))
    return {"d": d, "p": p, "beta": beta, "c": c, "delta": each.mean(), "error": float(error)} | {
        "excess": each.mean() / growth, "excess, error": float(error / growth)
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["12:40", "20:86"])
    parser.add_argument("--sets", type=int, default=500, help="sets of outputs of each size")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for size in arguments.sizes:
        d, p = map(int, size.split(":"))
        found = estimate(d, p, arguments.sets, arguments.seed)
        print({name: round(float(value), 5) for name, value in found.items()}, flush=True)


if __name__ == "__main__":
    main()
