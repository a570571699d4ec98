"""Sweeps by name: complete, at both scales, with the sizes that the paper states."""

import json
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from loadstone.arguments import rank_of
from loadstone.memories.families import initial_memory
from loadstone.memories.low_rank import LowRank
from loadstone.runs.record import from_bytes
from loadstone.runs.validity import check_values
from loadstone.solvers.solution import Status
from loadstone.studies.registry import SCALES, SWEEPS, named_sweep, specs_of
from loadstone.tasks.reach import Attempt
from loadstone.theory.capacity import capacity_associations
from loadstone.theory.load import load
from tests.studies import sweep_keys

#: The nine figures of the paper that show computations.
PAPER = ["equivalence", "accuracy", "spectra", "scores", "single", "loss", "finite-size", "initial-spectra", "hebbian"]


def test_every_figure_of_the_paper_has_an_entry():
    assert set(PAPER) <= set(SWEEPS)


@pytest.mark.parametrize("scale", ["quick", pytest.param("paper", marks=pytest.mark.soak)])
def test_all_is_the_union_and_names_each_run_once(scale):
    whole = named_sweep("all", scale)
    known = set(whole)
    assert len(known) == len(whole) == len({spec.key for spec in whole})
    for name in SWEEPS:
        assert (found := named_sweep(name, scale)) and known.issuperset(found)


def test_no_run_is_added_lost_or_changed_by_mistake():
    kept = json.loads(sweep_keys.KEPT.read_text())
    assert sweep_keys.runs() == kept, "if that is meant, run `python -m tests.studies.sweep_keys`"


@pytest.mark.parametrize("scale", SCALES)
def test_the_group_of_the_paper_has_what_its_figures_show(scale):
    paper = set(named_sweep("paper", scale))
    # Where training is compared with theory at finite size is the paper's too; the exact stop rule there is not.
    for name in set(PAPER) - {"finite-size"}:
        ours = {spec for spec in named_sweep(name, scale) if spec.solver == "lbfgs"}
        assert set(named_sweep(name, scale)) - ours <= paper and not ours & paper
        assert bool(ours) == (name in ("equivalence", "accuracy"))
    assert paper < set(named_sweep("all", scale))


def test_the_papers_own_sizes():
    specs = [spec for spec in named_sweep("equivalence", "paper") if spec.solver == "paper"]
    assert {(spec.problem, spec.d) for spec in specs} == (
        {("original", d) for d in (50, 100, 150, 300, 400, 500)} | {("decoupled", d) for d in (50, 100, 150)}
    )
    assert len(specs) == 9 * 25 * 5 and all(spec.passes == 513 and spec.kappa == 1 for spec in specs)
    loads = sorted({round(load(spec.p, 500), 2) for spec in specs if spec.d == 500})
    assert loads[0] == 0.4 and loads[-1] == 1.0 and len(loads) == 25
    assert {spec.kappa for spec in named_sweep("accuracy", "paper")} == {0.25, 0.5, 1.0}
    scores = {(spec.d, round(load(spec.p, spec.d), 2)) for spec in named_sweep("scores", "paper")}
    assert scores == {(150, 0.2), (150, 0.5), (150, 0.82), (150, 1.2)}  # the paper's, and the capacity of d = 150


@cache
def predicted(d, rank):
    return capacity_associations(d, rank / d)


def test_ranks_start_from_the_prediction_for_the_rank_that_the_memory_has():
    specs = [spec for spec in named_sweep("rank", "paper") if spec.solver == "reach"]
    assert {spec.d for spec in specs} == {20, 50, 100}
    assert {round(10 * spec.kappa) for spec in specs if spec.d == 100} == set(range(1, 11))
    for spec in specs:
        assert spec.p == round(predicted(spec.d, rank_of(spec.kappa, spec.d)))
        assert isinstance(initial_memory(spec.d, spec.kappa, seed=0, family=spec.family), LowRank)  # at full rank too


@pytest.mark.parametrize("scale", SCALES)
def test_loads_are_evenly_spaced_as_the_thresholds_need(scale):
    """A threshold is known to half a step between loads, wherever it is."""
    specs = [spec for spec in named_sweep("equivalence", scale) if spec.solver == "paper"]
    for problem, d in {(spec.problem, spec.d) for spec in specs}:
        loads = sorted({load(spec.p, d) for spec in specs if (spec.problem, spec.d) == (problem, d)})
        # A whole number of associations leaves a load that is off by at most half of what one of them adds.
        off = load(10**4, d) / 10**4
        steps = np.diff(loads)
        assert np.ptp(steps) < 4 * off and loads[0] < 0.41 and loads[-1] > 0.99


def test_unknown_names_get_a_suggestion(tmp_path):
    with pytest.raises(ValueError, match=r"'acuracy' is no sweep \(did you mean 'accuracy'\?\)"):
        specs_of("acuracy")
    with pytest.raises(ValueError, match="did you mean 'paper'"):
        specs_of("papers")
    with pytest.raises(ValueError, match="scale is 'huge', but must be one of quick, paper"):
        named_sweep("accuracy", "huge")
    with pytest.raises(FileNotFoundError, match="is not a file"):
        specs_of(str(tmp_path / "grid.toml"))


def test_shipped_brackets_are_what_their_attempts_left():
    """Every search of the shift is among the shipped records, from its first guess to a bracket of 0.1 % or one."""
    specs = {spec.key: spec for spec in named_sweep("shift", "paper") if spec.solver == "reach"}
    with zipfile.ZipFile(Path(__file__).parents[2] / "results" / "paper" / "shift.zip") as packed:
        records = [from_bytes(packed.read(name)) for name in packed.namelist() if name.endswith(".record")]
    assert {record.key for record in records} == specs.keys()
    for record in records:
        check_values(record)
        spec, found = specs[record.key], record.result
        attempts = [Attempt(p, stored, Status(status), passes) for p, stored, status, passes in found["attempts"]]
        assert attempts[0].p == spec.p and all(one.passes <= spec.settings.passes for one in attempts)
        assert all(one.stored == (one.status == Status.STORED) for one in attempts)
        assert found["not_stored"] == min(one.p for one in attempts if not one.stored)
        assert found["stored"] == max(one.p for one in attempts if one.stored)
        assert 1 <= found["not_stored"] - found["stored"] <= max(1, spec.settings.width * found["stored"])
        assert found["rank"] == spec.d and record.circumstances["device"] == "NVIDIA H200"
