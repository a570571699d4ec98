"""The tables of docs/scale.md are what the model says, and the model is what the package does."""

import importlib.util
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from loadstone.memories.families import initial_memory
from loadstone.problems.facts import _SCORES_PER_BLOCK
from loadstone.solvers.lbfgs import LBFGS
from loadstone.solvers.loop import begun, program_of
from loadstone.solvers.search import SearchOptions

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("scale", ROOT / "benchmarks" / "scale.py")
scale = importlib.util.module_from_spec(spec)
sys.modules["scale"] = scale  # dataclasses look up the module that they are made in
spec.loader.exec_module(scale)


@pytest.mark.parametrize("table", scale.TABLES, ids=lambda table: table.__name__)
def test_the_page_has_the_numbers_of_the_model(table):
    assert table() in (ROOT / "docs" / "scale.md").read_text()


def test_a_size_by_hand():
    size = scale.Size(d=4096, p=1_000_000, devices=10, ring=True)
    assert size.operations() == 4 * 1e12 * 4096 + 4 * 1e6 * 4096**2
    assert size.ring_bytes() == 4 * 1e6 * 4096  # each GPU sees every output once
    assert size.summed_bytes() == 0.9 * (8 * 4096**2 + 12 * 1e6)
    assert size.hidden("network") == pytest.approx(1e5 / (378e12 / 50e9))
    vectors = 4 * (9 * 1e5 * 4096 + 3 * 2000 * 1e5)
    assert size.memory() == vectors + 4 * 3 * 44 * 4096**2


def test_the_state_of_lbfgs_has_as_many_matrices_as_the_model_says():
    d = 64  # products of pairs, 800 numbers, do not count
    state = jax.eval_shape(lambda: begun(initial_memory(d), program_of(LBFGS(), SearchOptions("exact"), "float32")))
    numbers = sum(leaf.size for leaf in jax.tree.leaves((state.memory, state.solver)) if leaf.dtype == jnp.float32)
    assert numbers // d**2 == 2 * scale.PAIRS[4096] + scale.MORE
    assert scale.BLOCK_SCORES == _SCORES_PER_BLOCK["gpu"]
