import hashlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import kstest

from loadstone.streams import embeddings
from loadstone.streams.counters import stream_key
from loadstone.streams.normals import normal_table, normals
from loadstone.streams.stream import Stream

# Each is one program, as in the package: outside of one, every operation would be compiled alone.
vectors = jax.jit(embeddings.vectors, static_argnames=("d", "law"))
normals = jax.jit(normals)
ALL_OFFSETS = 2**15


def rows(count):
    return jnp.arange(count, dtype=jnp.uint32)


def numpy_normals(words: np.ndarray) -> np.ndarray:
    """The sampler written again in plain integers and float64, rounded once at the end."""
    centre, slope = (column.astype(np.float64) for column in normal_table())
    tail = words.astype(np.uint64) | np.uint64(1)
    octave = np.array([32 - int(t).bit_length() for t in tail.ravel()], np.uint64).reshape(tail.shape)
    leading = (tail << octave) & np.uint64(0xFFFFFFFF)
    index = (octave * 256 + ((leading >> np.uint64(23)) & np.uint64(255))).astype(int)
    offset = ((leading >> np.uint64(8)) & np.uint64(ALL_OFFSETS - 1)).astype(float) - ALL_OFFSETS // 2
    return (np.where(words & 1, -1, 1) * (centre[index] + slope[index] * offset)).astype(np.float32)


def test_normals_equal_a_numpy_witness_bit_for_bit():
    random = np.random.default_rng(0).integers(0, 2**32, 200_000, dtype=np.uint32)
    edges = np.array([0, 1, 2, 3, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1], np.uint32)
    small = np.arange(4096, dtype=np.uint32)
    words = np.concatenate([random, edges, small])
    assert (np.asarray(normals(jnp.asarray(words))) == numpy_normals(words)).all()


def test_normals_follow_the_quantile_function():
    words = np.concatenate([np.random.default_rng(1).integers(0, 2**32, 100_000, dtype=np.uint32), [0, 1, 2, 3]])
    exact = -ndtri((words.astype(np.uint64) | 1) / 2.0**33) * np.where(words & 1, -1, 1)
    assert np.abs(np.asarray(normals(jnp.asarray(words, jnp.uint32))) - exact).max() < 4e-6


def test_table_is_the_one_that_all_instances_were_made_with():
    centre, slope = normal_table()
    digest = hashlib.sha256(centre.tobytes() + slope.tobytes()).hexdigest()
    assert digest == "94b722ebb2af81a6439f69d35c1b6030941c91f19869ca673741feae0dbe492f"


def test_table_does_not_hang_on_the_last_digit_of_a_library():
    """No centre lies within 1e-11 of where its rounding would flip, so any sane quantile function gives this table."""
    octave, cell = np.divmod(np.arange(32 * 256), 256)
    left, middle, right = (-ndtri(2.0 ** -(octave + 2) * (1 + (cell + part) / 256)) for part in (0, 0.5, 1))
    on_grid = (left + 4 * middle + right) / 6 * 2**20
    assert (np.abs(on_grid - np.floor(on_grid) - 0.5) / 2**20).min() > 1e-11
    on_bits = np.frexp((right - left) / ALL_OFFSETS)[0] * 2**9
    assert np.abs(on_bits - np.floor(on_bits) - 0.5).min() > 1e-8


def test_products_are_exact_and_no_normal_is_zero():
    centre, slope = (column.astype(np.float64) for column in normal_table())
    offsets = np.arange(-ALL_OFFSETS // 2, ALL_OFFSETS // 2).astype(float)
    for cell in (0, 17, 255, 256, 4000, 8191):
        product = slope[cell] * offsets
        assert (product == product.astype(np.float32)).all()
    assert (centre[255] + slope[255] * offsets != 0).all()


def test_moments_and_law_of_the_gaussian_stream():
    x = np.asarray(vectors(stream_key(5, "inputs", 64), rows(30_000), 64, "gaussian"), np.float64).ravel()
    n = x.size
    # Deviations of the sample moments of N(0, 1): 1, sqrt(2), sqrt(15), sqrt(96), each over sqrt(n).
    for power, mean, deviation in ((1, 0, 1), (2, 1, 2**0.5), (3, 0, 15**0.5), (4, 3, 96**0.5)):
        assert abs((x**power).mean() - mean) < 5 * deviation / n**0.5, power
    assert kstest(x[:200_000], "norm").pvalue > 1e-3


def test_components_and_rows_are_uncorrelated():
    x = np.asarray(vectors(stream_key(9, "outputs", 40), rows(5000), 40, "gaussian"), np.float64)
    correlation = x @ x.T / 5000 - np.eye(40)
    # 820 entries of deviation at most sqrt(2 / 5000): the largest stays below 5 deviations.
    assert np.abs(correlation).max() < 5 * (2 / 5000) ** 0.5
    neighbours = (x[:, 1:] * x[:, :-1]).mean()
    assert abs(neighbours) < 5 / x[:, 1:].size ** 0.5


@pytest.mark.parametrize("d", [1, 3, 101])
def test_sphere_has_radius_sqrt_d_and_the_direction_of_the_gaussian(d):
    key = stream_key(2, "inputs", d)
    on_sphere = np.asarray(vectors(key, rows(500), d, "sphere"), np.float64)
    gaussian = np.asarray(vectors(key, rows(500), d, "gaussian"), np.float64)
    np.testing.assert_allclose((on_sphere**2).sum(0), d, rtol=1e-6)
    np.testing.assert_allclose(on_sphere, gaussian / np.linalg.norm(gaussian, axis=0) * d**0.5, rtol=2e-6)


def test_rademacher_signs_are_balanced():
    x = np.asarray(vectors(stream_key(2, "inputs", 30), rows(20_000), 30, "rademacher"))
    assert set(np.unique(x)) == {-1, 1}
    assert abs(x.mean()) < 5 / x.size**0.5


def test_a_power_law_is_a_map_of_the_gaussian_stream():
    """Inputs and both kinds of outputs, component by component; the squared length stays d."""
    variance = np.arange(1, 13.0) ** -1.5
    scale = np.sqrt(12 * variance / variance.sum())
    skewed, white = Stream(3, 12, law="power law:1.5"), Stream(3, 12)
    assert not skewed.isotropic and skewed == Stream(3, 12, law="power law:exponent=1.5")
    for name, axis in (("inputs", 1), ("outputs", 1), ("decoupled_targets", 1)):
        expected = np.asarray(getattr(white, name)(50)) * np.expand_dims(scale, 1 - axis)
        np.testing.assert_allclose(getattr(skewed, name)(50), expected, rtol=1e-6)
    blocks = (np.asarray(stream.decoupled_outputs(2, 3, 9)) for stream in (skewed, white))
    np.testing.assert_allclose(next(blocks), next(blocks) * scale[None, :, None], rtol=1e-6)
    for bad in (-1.0, 0, "steep"):
        with pytest.raises(ValueError, match="exponent is"):
            Stream(3, 12, law=f"power law:{bad}")
