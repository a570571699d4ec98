"""A problem over several devices has the same bits, and the same numbers to rounding, as on one.

A process has the devices that it began with, so the comparisons are made in processes of their own (over_devices.py).
"""

import json
import os
import socket
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from loadstone.problems.budget import Budget
from loadstone.problems.decoupled import Regenerated, Stored
from loadstone.problems.spread_streams import ring_bytes, spread_decoupled, spread_original
from tests.problems import over_devices
from tests.problems.over_devices import ANSWERS, CASES, STREAM, P

EPS = 2.0**-23


def start(devices, *arguments):
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "XLA_FLAGS": flags, "PYTHONPATH": paths, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "tests.problems.over_devices", *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answer(process):
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return json.loads(output.splitlines()[-1])


#: The other cases are variants of these.
FEW = ("ring", "three devices, with shares")


@pytest.fixture(scope="module")
def four_devices():
    return answer(start(4, *FEW))


@pytest.fixture(scope="module")
def other_cases():
    return answer(start(4, *(name for name in CASES if name not in FEW)))


#: How the problems are described.
WORDS = {
    "original": "original, outputs shared, over 4 devices",
    "ring": "original, outputs shared, outputs passed round, over 4 devices",
    "ring with answers": "original, outputs shared, 5 answers, outputs passed round, over 4 devices",
    "three devices, with shares": "original, outputs shared, over 3 devices",
    "stored": "decoupled, outputs stored in float32, over 4 devices",
    "regenerated": "decoupled, outputs regenerated, over 4 devices",
    "decoupled with answers": "decoupled, 5 answers each, outputs stored in float32, over 4 devices",
}


@pytest.mark.parametrize("name", CASES)
def test_a_problem_over_devices_is_the_same(four_devices, name):
    same(four_devices["cases"].get(name) or four_devices["passes"][name], name)


@pytest.mark.soak
@pytest.mark.parametrize("name", [name for name in CASES if name not in FEW])
def test_gradients_of_other_cases_are_the_same(other_cases, name):
    same(other_cases["cases"][name], name)


def same(case, name):
    devices, outputs = 3 if "three" in name else 4, ANSWERS if "answers" in name else P
    rows = -(-P // devices)
    assert case["same bits"] and case["padding"] == [0.0, True] and case["counts"] == [P, outputs, rows]
    assert case["description"] == WORDS[name.removesuffix(", cut")]
    has_shares = name in ("stored, cut", "three devices, with shares")
    assert case["shares"] == ([*range(1, P + 1), *[0] * (devices * rows - P)] if has_shares else None)
    # Sums over associations, outputs and components in another order; a lost or doubled association is seen as 1 / P.
    rounding = (P + outputs + 2 * 6) * EPS
    assert max(case["apart"]) <= 20 * rounding and case["scores"] <= 20 * rounding
    assert case["violations"][0] == case["violations"][1] > 0  # padding counts as stored
    if "loss" in case:
        loss, of_parts = case["loss"]
        assert of_parts == pytest.approx(loss, rel=rounding) and 1 < loss < 10
        assert case["gradient"] <= 2 * rounding * case["largest"] and case["largest"] > 0.01


def test_a_budget_is_enough_to_the_byte():
    """With one device: six arrays of 13 x 6 numbers and scores of one block; separate outputs of four rows at a time,
    or all of them."""
    shared, separate = (partial(make, STREAM, P, devices=1) for make in (spread_original, spread_decoupled))
    assert not shared(budget=Budget(4 * (6 * 78 + 3 * 169))).ring
    in_a_ring = 4 * (9 * 78 + 3 * 169)
    assert shared(budget=Budget(in_a_ring), ring=True).ring
    working = 4 * 6 * (6 * 13 + 16 * 13)
    stored = working + 4 * 13 * 78
    assert isinstance(separate(budget=Budget(stored)).pieces, Stored)
    for hold in ("auto", "regenerated"):
        assert isinstance(separate(budget=Budget(stored - 1), hold=hold).pieces, Regenerated)
    assert isinstance(separate(budget=Budget(working + 2 * 13 * 78), hold="stored", dtype="float16").pieces, Stored)
    of_answers = 4 * 6 * (6 * 13 + 16 * 5) + 4 * 5 * 78
    assert separate(budget=Budget(of_answers), answers=5).competitors == 5
    for make, asked in (
        (shared, {"budget": Budget(in_a_ring - 1), "ring": True}),
        (shared, {"budget": Budget(4 * (6 * 78 + 3 * 169) - 1), "ring": False}),
        (separate, {"budget": Budget(working - 1)}), (separate, {"budget": Budget(stored - 1), "hold": "stored"}),
        (separate, {"budget": Budget(working + 2 * 13 * 78 - 1), "hold": "stored", "dtype": "float16"}),
        (separate, {"budget": Budget(of_answers - 1), "answers": 5}),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="budget is .* but each device's part of the .* problem .*over 1 devices"):
            make(**asked)


@pytest.mark.parametrize("make", [spread_original, spread_decoupled])
def test_two_associations_are_the_fewest(make):
    with pytest.raises(ValueError, match="p is 1, but must be a whole number of at least 2"):
        make(STREAM, 1, devices=1)
    with pytest.raises(ValueError, match="answers is 1, but must be"):
        make(STREAM, P, devices=1, answers=1)
    with pytest.raises(ValueError, match="frequencies is 'often', but must be"):
        make(STREAM, P, devices=1, answers=5, frequencies="often")
    two = make(STREAM, 2, devices=1)
    assert (two.associations, two.competitors) == (2, 2) and two.description.endswith(", over 1 device")


REFUSALS = {
    "five": "devices is 5, but must be a whole number in 1..4, because JAX sees 4 CPU devices.",
    "none": "devices is 0, but must be a whole number in 1..4, because JAX sees 4 CPU devices.",
    "true": "devices is True, but must be a whole number in 1..4, because JAX sees 4 CPU devices.",
    "padded": "problem is 'Padded', but must be one that can be cut: facts, original or decoupled, not padded.",
    "again": "problem is 'Spread', but must be one that can be cut: facts, original or decoupled, not padded.",
    "ring": "ring is True, but must be False for a decoupled problem, whose outputs are cut with its inputs.",
    "blocks": "batch is 2, but must be 0 for this problem (original, outputs shared, over 2 devices), which has no",
    "budget": "budget is 100 bytes, but each device's part of the original problem over 4 devices of this size needs",
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_cannot_be_spread_is_refused(four_devices, name):
    assert four_devices["refusals"][name].startswith(REFUSALS[name])


def two_processes(*arguments):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    return [answer(process) for process in [start(2, "--join", address, index, *arguments) for index in range(2)]]


@pytest.mark.soak
def test_two_processes_are_four_devices(four_devices):
    """Each process has two devices, and they talk by gloo."""
    one, other = two_processes()
    assert one == other and (one["devices"], one["here"], one["agreed"]) == (4, 2, 10)
    ring = four_devices["cases"]["ring"]
    assert one["loss"] == pytest.approx(ring["loss"][1], rel=P * EPS) and one["violations"] == ring["violations"][1]


@pytest.mark.soak
def test_a_search_of_two_processes_is_that_of_one(tmp_path):
    """Only the first process writes the checkpoint, from which both go on."""
    file = tmp_path / "search.npz"
    one, other = two_processes(file)
    assert one == other and file.exists()
    alone = over_devices.solved(None)
    np.testing.assert_allclose(one["search"]["loss"], alone["loss"], rtol=100 * EPS)
    assert one["search"]["violations"] == alone["violations"]
    assert two_processes(file)[1] == other


def test_a_ring_needs_its_own_vectors_three_parts_of_the_outputs_and_a_block_of_scores():
    each, d, block, part = 1000, 30, 7, 250
    vectors, parts, scores = 6 * each * d, 3 * part * d, 3 * block * part
    assert ring_bytes(each, d, block, part) == 4 * (vectors + parts + scores) == 831_000
