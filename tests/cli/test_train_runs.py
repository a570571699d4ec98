"""The runs of `loadstone train`: which of them are trained together, and what is heard of them."""

import pytest

from loadstone.cli import train_runs
from loadstone.cli.train_runs import about, run_all
from loadstone.runs.spec import Spec


def test_a_checkpoint_is_for_one_run():
    specs = [Spec("original", 6, 12, seed) for seed in range(2)]
    with pytest.raises(ValueError, match="checkpoint is 'c.npz', but must be left out for 2 runs: it holds one search"):
        run_all(specs, checkpoint="c.npz")


def test_passes_are_heard_over_all_runs(monkeypatch):
    """Three runs of one program, two at a time, and one of another: each batch says what it has done."""
    specs = [*(Spec("original", 6, 12, seed) for seed in range(3)), Spec("original", 6, 12, solver="hebbian")]
    heard, batches = [], []

    def run_batch(batch, budget, hear, together, limits, checkpoint, devices):
        batches.append((len(batch), together, devices))
        hear(5, "loss")
        return [(None, spec) for spec in batch]

    monkeypatch.setattr(train_runs, "run_batch", run_batch)
    monkeypatch.setattr(train_runs, "batch_size", lambda spec, platform: 2 if spec.is_iterative else 1)
    assert run_all(specs, progress=lambda *words: heard.append(words)) == specs
    assert batches == [(2, 1, None), (1, 1, None), (1, 1, None)]
    assert heard == [(10, "loss"), (2 * 513, ""), (2 * 513 + 5, "loss"), (3 * 513, ""), (3 * 513 + 5, "loss"),
                     (3 * 513 + 1, "")]  # fmt: skip
    del batches[:]
    run_all(specs[:3], devices=1)
    assert batches == [(1, 1, 1)] * 3


def test_what_is_said_of_a_run():
    assert about(Spec("groups:2", 20, 85, 3, answers=5, kappa=0.5)) == {
        "problem": "groups:2", "p": 85, "d": 20, "kappa": 0.5, "rank": 10, "law": "gaussian", "family": "full",
        "seed": 3, "solver": "paper", "stop": "paper", "answers": 5, "frequencies": "uniform",
    }  # fmt: skip
    hebbian = about(Spec("original", 20, 85, solver="hebbian"))
    assert hebbian["stop"] == "none" and not {"answers", "frequencies"} & hebbian.keys()
