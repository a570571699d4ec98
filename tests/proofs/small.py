"""Small instances of all kinds, with all that makes verdicts hard: ties, duplicates, dependent vectors, few outputs."""

import numpy as np

from loadstone.memories.families import subspace_of
from loadstone.memories.subspaces.given import Given
from loadstone.memories.subspaces.masked import Masked
from loadstone.problems.arrays import Arrays


def small_instance(seed):
    """An instance in up to four dimensions, and a family or None, drawn from a seed."""
    random = np.random.default_rng(seed)
    d, m = int(random.integers(1, 5)), int(random.integers(2, 7))
    family = small_family(random, d)
    dimensions = d * d if family is None else family.dimension(d)
    # About as many facts as fit.
    n = int(random.integers(1, 3 + 2 * dimensions // min(m - 1, d)))
    numbers = random.choice([_integers, _signs, _floats, _few_digits])
    inputs = numbers(random, (n, d))
    outputs = numbers(random, (n, m, d) if random.random() < 0.3 else (m, d))
    for change in (_duplicates, _collinear, _dependent):
        if random.random() < 0.25:
            inputs = change(random, inputs)
        if random.random() < 0.15:
            outputs = change(random, outputs)
    if random.random() < 0.02:
        inputs = inputs * (1 + 1e-16 * random.standard_normal(inputs.shape))
    if random.random() < 0.25:
        inputs *= 2.0 ** random.integers(-20, 21, (n, 1))
    if random.random() < 0.15:
        outputs *= 2.0 ** random.integers(-2, 3, (*outputs.shape[:-1], 1))
    dtype = np.float32 if random.random() < 0.5 else np.float64
    return Arrays(inputs.astype(dtype), outputs.astype(dtype), random.integers(0, m, n)), family


def small_family(random, d):
    name = random.choice(["full"] * 5 + "symmetric traceless skew masked blocks diagonal circulant given".split())
    if name == "full" or (d == 1 and name in ("traceless", "skew")):
        return None
    if name == "masked":
        return Masked((random.random((d, d)) < 0.5) | (np.eye(d)[random.permutation(d)] > 0))
    if name == "given":
        count = int(random.integers(1, d * d + 1))
        return Given(np.linalg.qr(random.standard_normal((d * d, d * d)))[0][:count].reshape(-1, d, d).round(3))
    divisors = [count for count in range(1, d + 1) if d % count == 0]
    return subspace_of(f"blocks:{random.choice(divisors)}" if name == "blocks" else str(name), d)


def _integers(random, shape):
    return random.integers(-3, 4, shape).astype(float)


def _signs(random, shape):
    return random.choice([-1.0, 0.0, 1.0], shape)


def _floats(random, shape):
    return random.standard_normal(shape)


def _few_digits(random, shape):
    return random.standard_normal(shape).round(1)


def _duplicates(random, vectors):
    """Some vectors are copies of others."""
    flat = vectors.reshape(-1, vectors.shape[-1])
    return np.where(random.random((len(flat), 1)) < 0.3, flat[random.integers(0, len(flat))], flat).reshape(
        vectors.shape
    )


def _collinear(random, vectors):
    """Some vectors are multiples of the first."""
    flat = vectors.reshape(-1, vectors.shape[-1])
    times = random.choice([-2.0, -1.0, 0.5, 2.0], (len(flat), 1))
    return np.where(random.random((len(flat), 1)) < 0.4, flat[0] * times, flat).reshape(vectors.shape)


def _dependent(random, vectors):
    """All vectors lie in a hyperplane, exactly: their sums have few digits."""
    first = (vectors[..., :-1] * 64).round() / 64
    return np.concatenate([first, first.sum(axis=-1, keepdims=True)], axis=-1)
