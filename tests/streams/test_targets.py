"""Targets among M answers: nested, the same everywhere, and as frequent as they should be."""

import jax
import numpy as np
import pytest

from loadstone.frequencies import check_answers, read_frequencies
from loadstone.problems.budget import Budget
from loadstone.problems.decoupled import decoupled
from loadstone.problems.instance import write_instance
from loadstone.problems.instance_files import read_instance
from loadstone.problems.original import original
from loadstone.streams.counters import fold, host_words, stream_key, threefry
from loadstone.streams.stream import Stream
from loadstone.streams.targets import chosen

NUMBERS = (0.5, 0.0, 0.25, 0.25)
ALL = ["uniform", "balanced", "zipf:1", "zipf:0.5", NUMBERS]


def test_the_host_makes_the_words_of_the_device():
    rows = np.arange(300, dtype=np.uint32)
    for seed, d in ((0, 1), (2**64 - 1, 7), (12345678901234, 2**24)):
        key = stream_key(seed, "targets", d)
        on_device = jax.jit(lambda r, key=key: threefry((key[0], key[1]), (r, 0 * r)))(rows)
        for here, there in zip(host_words(seed, "targets", d, rows), on_device):
            np.testing.assert_array_equal(here, there)
    assert fold(key, 0, 0).dtype == np.uint32


@pytest.mark.parametrize("frequencies", ALL)
def test_targets_are_prefixes_of_longer_ones_and_indices_of_answers(frequencies):
    stream = Stream(3, 9)
    longest = stream.targets(1003, 4, frequencies)
    assert longest.dtype == np.int32 and longest.min() >= 0 and longest.max() <= 3
    for n in (1, 2, 3, 4, 5, 500, 1002):
        np.testing.assert_array_equal(stream.targets(n, 4, frequencies), longest[:n])
    assert not np.array_equal(longest, Stream(4, 9).targets(1003, 4, frequencies))
    assert not np.array_equal(longest, Stream(3, 10).targets(1003, 4, frequencies))


def test_targets_are_the_same_for_good():
    # Changing these numbers makes all records with answers mean other instances.
    assert Stream(0, 10).targets(12, 5).tolist() == [2, 1, 1, 2, 1, 2, 4, 1, 0, 0, 4, 4]
    assert Stream(0, 10).targets(12, 5, "balanced").tolist() == [2, 4, 1, 3, 0, 4, 3, 2, 0, 1, 4, 3]
    assert Stream(0, 10).targets(12, 5, "zipf:1").tolist() == [1, 0, 0, 1, 0, 1, 3, 0, 0, 0, 4, 3]


@pytest.mark.parametrize("frequencies, expected", [
    ("uniform", [0.25] * 4), ("zipf:1", np.array([12, 6, 4, 3]) / 25), ("zipf:0", [0.25] * 4), (NUMBERS, NUMBERS),
    ((4e307, 4e307, 0, 8e307), [0.25, 0.25, 0, 0.5]), ((0.0, 3.0, 0.0, 0.0), [0, 1, 0, 0]),
])  # fmt: skip
def test_answers_are_as_frequent_as_they_should_be(frequencies, expected):
    n = 40_000
    counts = np.bincount(Stream(1, 5).targets(n, 4, frequencies), minlength=4)
    expected = np.asarray(expected)
    assert np.all(np.abs(counts - n * expected) <= 4.5 * np.sqrt(n * expected * (1 - expected)))


@pytest.mark.parametrize("word, first, last", [(0, 1, 0), (2**64 - 1, 1, 3)])
def test_the_extreme_words_never_draw_an_answer_that_has_no_share(word, first, last):
    words = np.full(2, word, np.uint64)
    assert chosen(words, 4, (0, 1, 0, 0)).tolist() == [first] * 2 and chosen(words, 4, "uniform").tolist() == [last] * 2


def test_neighbouring_targets_are_independent():
    targets = Stream(2, 5).targets(40_001, 3, "uniform")
    pairs = np.bincount(3 * targets[:-1] + targets[1:], minlength=9)
    assert np.all(np.abs(pairs - 40_000 / 9) < 4.5 * np.sqrt(40_000 * 8 / 81))


def test_balanced_blocks_have_every_answer_once_in_any_order():
    targets = Stream(1, 5).targets(3 * 4000 + 2, 3, "balanced")
    blocks = targets[:-2].reshape(-1, 3)
    assert np.all(np.sort(blocks, axis=1) == np.arange(3))
    orders = np.bincount(9 * blocks[:, 0] + 3 * blocks[:, 1] + blocks[:, 2])
    orders = orders[orders > 0]
    assert len(orders) == 6 and np.all(np.abs(orders - 4000 / 6) < 4.5 * np.sqrt(4000 * 5 / 36))


def test_many_answers_are_drawn_without_bias():
    # With 32-bit words the last of so many answers would be hit up to a tenth more or less often.
    m, n = 3 * 10**8, 100_000
    targets = Stream(1, 5).targets(n, m).astype(np.float64)
    assert abs(targets.mean() / m - 0.5) < 4.5 / np.sqrt(12 * n) and len(np.unique(targets)) > n - 60


def test_problems_hold_inputs_outputs_and_targets_of_the_stream():
    stream, n, m = Stream(5, 6), 11, 4
    shared = original(stream, n, answers=m, frequencies="zipf:1")
    np.testing.assert_array_equal(shared.inputs, stream.inputs(n))
    np.testing.assert_array_equal(shared.outputs, stream.outputs(m))
    np.testing.assert_array_equal(shared.targets, stream.targets(n, m, "zipf:1"))
    assert shared.competitors == m and shared.isotropic
    own = decoupled(stream, n, answers=m)
    np.testing.assert_array_equal(own.outputs, stream.decoupled_outputs(0, n, n)[:, :, :m])
    np.testing.assert_array_equal(own.targets, stream.targets(n, m))
    more = original(stream, 3, answers=50)
    assert more.outputs.shape == (50, 6) and more.inputs.shape == (3, 6)


@pytest.mark.parametrize("kind", ["original", "decoupled"])
def test_an_instance_is_written_with_its_targets(kind, tmp_path):
    stream, file = Stream(5, 6), tmp_path / "facts.npz"
    write_instance(file, kind, stream=stream, p=9, answers=4, frequencies="balanced")
    found = read_instance(file)
    problem = (original if kind == "original" else decoupled)(stream, 9, answers=4, frequencies="balanced").arrays()
    for name in ("inputs", "outputs", "targets"):
        np.testing.assert_array_equal(getattr(found, name), getattr(problem, name))


def test_frequencies_have_one_form():
    assert check_answers(4, "zipf:1.0") == check_answers(np.int64(4), "zipf:1") == (4, "zipf:1")
    assert check_answers(3, [1, 2, np.float32(3)]) == check_answers(3, np.array([1, 2, 3])) == (3, (1.0, 2.0, 3.0))
    assert check_answers(None, "uniform") == (None, "uniform")


def test_frequencies_that_no_file_has_are_refused(tmp_path):
    file = tmp_path / "numbers.txt"
    file.write_text("0.5 half")
    with pytest.raises(ValueError, match="cannot be read as frequencies: it must hold numbers only"):
        read_frequencies(str(file))
    with pytest.raises(ValueError, match="frequencies is 'gone.txt', but must be uniform, balanced, zipf:s, or a file"):
        read_frequencies("gone.txt")


@pytest.mark.parametrize("answers, frequencies, sentence", [
    (1, "uniform", "answers is 1, but must be a whole number of at least 2"),
    (2.5, "uniform", "answers is 2.5"),
    (True, "uniform", "answers is True"),
    (None, "zipf:1", "frequencies is 'zipf:1', but must be uniform unless a number of answers is given"),
    (4, "zipf", "frequencies is 'zipf', but must be uniform, balanced, zipf:s"),
    (4, "zipf:-1", "frequencies is 'zipf:-1'"), (4, "zipf:nan", "frequencies is 'zipf:nan'"),
    (4, "even", "frequencies is 'even'"), (4, 0.5, "frequencies is 0.5"), (4, ("a", "b", "c", "d"), "frequencies is"),
    (4, (0.5, 0.5), "frequencies has 2 numbers, but must have 4, one for each answer"),
    (2, (0, 0), "that sum to something above 0"), (2, (1, -1), "none negative"),
    (2, (1, float("inf")), "finite numbers"),
])  # fmt: skip
def test_bad_frequencies_get_one_sentence(answers, frequencies, sentence):
    with pytest.raises(ValueError) as refusal:
        original(Stream(0, 3), 5, answers=answers, frequencies=frequencies)
    assert sentence in str(refusal.value)


@pytest.mark.parametrize("change", [{"hold": "regenerated"}, {"dtype": "float16"}])
def test_decoupled_answers_are_stored_in_float32(change):
    with pytest.raises(ValueError, match="if a number of answers is given"):
        decoupled(Stream(0, 3), 5, answers=3, **change)


@pytest.mark.parametrize("make", [original, decoupled])
def test_a_problem_that_does_not_fit_is_refused(make):
    with pytest.raises(ValueError, match="budget is 1 KiB, but the"):
        make(Stream(0, 3), 5, budget=Budget(1024), answers=1000)
