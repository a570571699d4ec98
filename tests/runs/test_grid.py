"""Grids mean what they say, and say what is wrong with them."""

import pytest

from loadstone.runs.grid import MOST_LOAD, grid, read_grid
from loadstone.runs.spec import Spec
from loadstone.tasks.multi_start import MultiStart
from loadstone.theory.load import nearest_associations

FILE = """
[[grid]]
problem = ["original", "decoupled"]
d = [10, 20]
load = [0.5, 0.9]
seeds = 3
stop = "exact"

[[grid]]
problem = "original"
d = 10
p = [12, 30]
seed = [5, 7]
solver = "hebbian"
"""


def test_a_file_with_two_grids(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(FILE)
    specs = read_grid(path)
    assert len(specs) == 2 * 2 * 2 * 3 + 2 * 2 == len({spec.key for spec in specs})
    assert specs[0] == Spec("original", 10, 17, 0, stop="exact")
    assert [spec.seed for spec in specs[:4]] == [0, 1, 2, 0]
    assert specs[-1] == Spec("original", 10, 30, 7, solver="hebbian")


def test_python_and_toml_agree(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text('[grid]\nd = 8\np = [9, 10]\nproblem = "original"\nkappa = [0.5, 1]\nlearning_rate = 0.02\n')
    assert read_grid(path) == grid(d=8, p=(9, 10), problem="original", kappa=[0.5, 1], learning_rate=0.02)


def test_what_occurs_twice_is_run_once():
    assert len(grid(problem="original", d=10, p=[12, 12], seeds=2)) == 2
    # Loads that round to the same p are the same run.
    assert len(grid(problem="original", d=4, load=[0.5, 0.501])) == 1


def test_facts_answers_and_frequencies(tmp_path):
    numbers = tmp_path / "numbers.txt"
    numbers.write_text("3 1")
    specs = grid(problem="original", d=5, facts=[9, 12], answers=2, frequencies=["balanced", str(numbers), [1, 2]])
    assert [spec.p for spec in specs] == [9, 9, 9, 12, 12, 12]
    assert [spec.frequencies for spec in specs[:3]] == ["balanced", (3.0, 1.0), (1.0, 2.0)]
    assert specs[0] == Spec("original", 5, 9, answers=2, frequencies="balanced")


BAD = {
    'problem = "original"\nd = 5\np = 6\nfacts = 6': "both facts and p, which are the same",
    'problem = "original"\nd = 5\nfacts = 6\nanswers = 3\nfrequencies = "gone.txt"': "frequencies is 'gone.txt'",
    'problm = "original"\nd = 5\np = 6': "'problm' is not a field of a grid (did you mean 'problem'?)",
    'problem = "original"\nd = 5\np = 6\nwarm_up = 3': "did you mean 'warmup'?",
    'problem = "original"\nd = 5': "give either p or load",
    'problem = "original"\nd = 5\np = 6\nload = 0.5': "give either p or load",
    'problem = "original"\nd = 5\np = 6\nseed = 1\nseeds = 2': "give either seed or seeds",
    'problem = "original"\nd = []\np = 6': "d is [], but must be a value or a list",
    'problem = "original"\nd = 5\np = 1': "p is 1, but must be a whole number of at least 2",
    'problem = "original"\nd = 5\np = 6\nkappa = 2': "kappa is 2, but must be a number in (0, 1]",
    'problem = "original"\nd = 5\nload = 0.001': "large enough for two associations",
    'problem = "original"\nd = 2.5\nload = 1': "d is 2.5, but must be a whole number",
    'problem = "both"\nd = 5\np = 6': "problem is 'both', but must be one of original, decoupled",
    "d = 5\np = 6": "The grid lacks problem",
    'problem = "original"\nload = 0.5': "d is None, but must be a whole number",
    'problem = "original"\nd = 5\np = 6\nseeds = 0': "seeds is 0",
    'problem = "original"\nd = 5\np = 6\nstop = "soon"': "stop is 'soon', but must be one of",
    'problem = "original"\nd = 5\np = 6\nseeds = 2000000': "seeds is 2000000, but must be",
}


@pytest.mark.parametrize("text", BAD)
def test_mistakes_are_named_with_their_place(text, tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(f"[[grid]]\n{text}\n")
    with pytest.raises(ValueError) as caught:
        read_grid(path)
    assert f"{path}, grid 1: " in str(caught.value) and BAD[text] in str(caught.value)


@pytest.mark.parametrize("text, sentence", [
    ("grid = 3", "must be a table"), ("[sweep]\nd = 1", "has a table 'sweep'"), ("", "has no table"),
    ("d = = 1", "is not TOML"),
])  # fmt: skip
def test_files_that_are_no_grids(text, sentence, tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence):
        read_grid(path)


def test_a_grid_too_large_to_make():
    with pytest.raises(ValueError, match="has 2000000 runs, but may have at most 1000000: split it"):
        grid(problem="original", d=5, p=list(range(2, 202)), seeds=10_000)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a file: give the name of a grid"):
        read_grid(tmp_path / "nowhere.toml")


BASE = '[[grid]]\nproblem = "original"\nd = 5\n'
HOSTILE = {
    "deep lists": ("a=" + "[" * 100_000, "is not TOML"),
    "long number": (BASE + "p = " + "1" * 5000, "is not TOML"),
    "absurd load": (BASE + "load = 1e308", "load is 1e+308, but must be at most 1000"),
    "many tables": ((BASE + "p = 5\nseeds = 600000\n") + (BASE + "p = 6\nseeds = 600000\n"), "1200000 runs"),
    "no tables": ("grid = []", "has no grid in it"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_get_a_sentence(name, tmp_path, monkeypatch):
    text, sentence = HOSTILE[name]
    if name == "many tables":  # the same bound, lower: the real one takes half a minute to reach
        monkeypatch.setattr("loadstone.runs.grid.MOST_SPECS", 1000)
        text, sentence = text.replace("600000", "600"), "has 1200 runs, but may have at most 1000"
    path = tmp_path / "grid.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match="grid.toml") as refused:
        read_grid(path)
    assert sentence in str(refused.value)


def test_seeds_vary_fastest_wherever_they_are_given():
    given = grid(problem="original", seed=[3, 5], d=[4, 5], p=6)
    assert [(spec.d, spec.seed) for spec in given] == [(4, 3), (4, 5), (5, 3), (5, 5)]
    sizes = [(spec.d, spec.p) for spec in grid(problem="original", d=[4, 5], p=[6, 7])]
    assert sizes == [(4, 6), (4, 7), (5, 6), (5, 7)]


def test_the_largest_grid_is_allowed_and_one_run_more_is_not(monkeypatch, tmp_path):
    monkeypatch.setattr("loadstone.runs.grid.MOST_SPECS", 4)
    assert len(grid(problem="original", d=[5, 6], p=[6, 7])) == 4
    with pytest.raises(ValueError, match="The grid has 5 runs, but may have at most 4"):
        grid(problem="original", d=5, p=[6, 7, 8, 9, 10])
    with pytest.raises(ValueError, match="seeds is 5, but must be a whole number of at least 1 and at most 4"):
        grid(problem="original", d=5, p=6, seeds=5)
    path = tmp_path / "grid.toml"
    path.write_text(BASE + "p = [5, 6]\n" + BASE + "p = [6, 7, 8]\n")  # four different ones
    assert len(read_grid(path)) == 4


def test_loads_at_their_bounds():
    assert grid(problem="original", d=1, load=MOST_LOAD)[0].p == nearest_associations(MOST_LOAD, 1)
    for load in (1000.1, 1e308, 1e-320, float("nan"), float("inf"), True, "1"):
        with pytest.raises(ValueError, match="load is .*, but must be"):
            grid(problem="original", d=5, load=load)
    # p = 2 is the least: at d = 3 it has a load of 0.154.
    assert grid(problem="original", d=3, load=0.154)[0].p == 2
    with pytest.raises(ValueError, match="large enough for two associations at d = 3"):
        grid(problem="original", d=3, load=0.06)


def test_an_unknown_word_without_a_near_one():
    with pytest.raises(ValueError, match="'zzz' is not a field of a grid; it has problem, d, p, "):
        grid(zzz=1)
    with pytest.raises(ValueError, match="The grid lacks problem and d"):
        grid(p=5)


def test_what_is_tried_to_store_more_is_a_direction_too():
    found = grid(problem="original", d=20, p=54, kappa=0.2, solver="reach", starts=[1, 5], grown=True)
    assert [spec.settings for spec in found] == [MultiStart(grown=True), MultiStart(starts=5, grown=True)]
    with pytest.raises(ValueError, match="solver parameter is 'starts', but must be a parameter of lbfgs"):
        grid(problem="original", d=20, p=54, solver="lbfgs", starts=5)
