"""The runs of `loadstone train`: what is said of one and of several, and how far they are."""

from types import SimpleNamespace

import numpy as np
import pytest

from loadstone.cli.train_runs import about, run_all, summary
from loadstone.runs.spec import Spec


def test_a_checkpoint_is_for_one_run():
    specs = [Spec("original", 6, 12, seed) for seed in range(2)]
    with pytest.raises(ValueError, match="checkpoint is 'c.npz', but must be left out for 2 runs: it holds one search"):
        run_all(specs, checkpoint="c.npz")


def test_progress_counts_the_passes_of_all_runs():
    """Three runs of one program and one of another, a closed form of one pass: a batch counts as done when it is."""
    specs = [*(Spec("original", 6, 12, seed) for seed in range(3)), Spec("original", 6, 12, solver="hebbian")]
    said = []
    runs = run_all(specs, progress=lambda done, words: said.append((done, words)))
    assert [run.spec for run in runs] == specs
    counts = [done for done, _ in said]
    assert counts == sorted(counts) and said[-1] == (3 * specs[0].passes + 1, "")
    assert (3 * specs[0].passes, "") in said and any("loss" in words for _, words in said)


def outcomes(*statuses):
    """Runs whose numbers are 4, 2, 0, ... with these statuses."""
    names = ("accuracy", "violations", "loss", "steps", "passes", "seconds", "margin")
    ends = [dict.fromkeys(names, 4.0 - 2 * seed) | {"seed": seed, "status": one} for seed, one in enumerate(statuses)]
    specs = [Spec("original", 5, 8, seed) for seed in range(len(statuses))]
    return ends, [
        SimpleNamespace(spec=spec, description="words", outcome=lambda end=end: end) for spec, end in zip(specs, ends)
    ]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_several_seeds_are_summed_up_whatever_their_number(count):
    ends, runs = outcomes(*["stored"] * count)
    record = summary(runs)
    assert {record[name] for name in ("accuracy", "violations", "loss", "steps", "passes")} == {5.0 - count}
    assert record["seconds"] == count * (5.0 - count) and record["margin"] == 6.0 - 2 * count
    assert record["status"] == "stored" and record["runs"] == ends and record["load"] == pytest.approx(np.log(8) * 0.32)
    assert (record["seeds"], record["seed"], record["description"]) == (count, 0, "words")


def test_runs_that_end_differently_are_mixed():
    assert summary(outcomes("stored", "diverged")[1])["status"] == "mixed"


def test_what_is_said_of_a_run():
    assert about(Spec("groups:2", 20, 85, 3, answers=5, kappa=0.5)) == {
        "problem": "groups:2", "p": 85, "d": 20, "kappa": 0.5, "rank": 10, "law": "gaussian", "family": "full",
        "seed": 3, "solver": "paper", "stop": "paper", "answers": 5, "frequencies": "uniform",
    }  # fmt: skip
    hebbian = about(Spec("original", 20, 85, solver="hebbian"))
    assert hebbian["stop"] == "none" and not {"answers", "frequencies"} & hebbian.keys()
