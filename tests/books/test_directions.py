"""Which vectors have exactly the same direction: compared with rational numbers."""

from fractions import Fraction

import numpy as np
import pytest

from loadstone.books.directions import same_directions


def parallel(one, other):
    """Whether one vector is the other times a positive number, in rational numbers."""
    first, second = ([Fraction(float(number)) for number in vector] for vector in (one, other))
    place = next(index for index, number in enumerate(first) if number)
    factor = second[place] / first[place]
    return factor > 0 and all(factor * a == b for a, b in zip(first, second))


def by_pairs(vectors):
    groups = []
    for row, vector in enumerate(vectors):
        of_it = next((group for group in groups if vector.any() and parallel(vectors[group[0]], vector)), None)
        if of_it is None and vector.any():
            groups.append([row])
        elif of_it is not None:
            of_it.append(row)
    return [group for group in groups if len(group) > 1]


@pytest.mark.parametrize("seed", range(40))
def test_groups_are_those_of_rational_numbers(seed):
    random = np.random.default_rng(seed)
    d = int(random.integers(1, 5))
    few = random.standard_normal((4, d)) if seed % 2 else random.integers(-3, 4, (4, d)).astype(float)
    few[~few.any(axis=1)] = 1.0
    rows = few[random.integers(4, size=24)]
    factors = random.choice([1.0, 2.0, 3.0, 0.1, -1.0, 1e150, 2.0**-900], size=(24, 1))
    rows = rows * factors * (1 + np.finfo(float).eps * random.integers(-1, 2, size=rows.shape))
    rows = np.vstack([rows, np.zeros((2, d))])
    rows = rows.clip(-3e38, 3e38).astype(np.float32) if seed % 5 == 0 else rows
    assert same_directions(rows) == by_pairs(rows)


def test_a_factor_that_no_float_is_keeps_the_direction_and_a_rounded_one_does_not():
    vectors = np.array([[3.0, 6.0], [7.0, 14.0], [0.1, 0.2], [0.1, 0.3], [0.3, 0.9], [-1.0, -2.0], [1.0, 2.0 + 1e-15]])
    assert same_directions(vectors) == [[0, 1, 2]]  # 0.3 / 0.1 is not 3, nor is it 0.9 / 0.3


def test_all_are_told_however_many_lie_between_them(monkeypatch):
    random = np.random.default_rng(1).standard_normal((60, 5))
    assert same_directions(np.concatenate([random, random[::-1]])) == [[row, 119 - row] for row in range(60)]
    monkeypatch.setattr("loadstone.books.directions._NUMBERS_AT_A_TIME", 30)
    assert same_directions(np.concatenate([random, 2 * random[::-1]])) == [[row, 119 - row] for row in range(60)]
    assert same_directions(random[:1]) == []
