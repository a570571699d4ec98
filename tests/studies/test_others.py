"""Skewness and fourth moment from histograms: normal numbers have neither, and a cut tail is seen."""

import numpy as np
import pytest
from scipy.special import ndtr

from loadstone.evidence.others import compare_others, standard_moments
from loadstone.studies.kit.comparison import Judgement


def histogram(values):
    return {"low": -8.0, "high": 8.0, "others": np.histogram(values, np.linspace(-8, 8, 321))[0].tolist()}


def rows(transform):
    random = np.random.default_rng(1)
    return [
        {"problem": "original", "d": 10, "p": 20, "seed": seed, "scores": histogram(transform(draw))}
        for seed, draw in enumerate(random.standard_normal((5, 200_000)))
    ]


def test_moments_of_a_histogram_are_those_of_the_numbers():
    values = np.random.default_rng(0).gamma(9.0, size=100_000) / 3 - 3
    centred = (values - values.mean()) / values.std()
    found = standard_moments(histogram(values))
    assert found["skewness"] == pytest.approx(np.mean(centred**3), abs=0.002)
    assert found["fourth moment"] == pytest.approx(np.mean(centred**4), abs=0.01)


def test_a_normal_law_is_found_normal_and_a_cut_tail_is_not():
    normal = compare_others(rows(lambda x: x))
    assert all(one.verdict == Judgement.AGREES for one in normal) and len(normal) == 3
    skewness, fourth, distance = compare_others(rows(lambda x: np.minimum(x, 2.0)))
    assert skewness.verdict == fourth.verdict == Judgement.DIFFERS and skewness.measured < 0 and fourth.measured < 3
    # All that lies above 2 is in the bin from 2 to 2.05, beyond which a normal law has more than one per cent.
    assert distance.measured == pytest.approx(1 - ndtr(2.05), abs=1e-6) and distance.verdict == Judgement.DIFFERS
    assert compare_others(rows(lambda x: x)[:1]) == []
