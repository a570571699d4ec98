"""The order of runs: the longest first, one program after another, none lost."""

import pytest

from loadstone.runs.plan import (
    batch_size,
    batch_sizes,
    by_program,
    cost,
    expected_costs,
    has_the_device_alone,
    jobs,
    program,
)
from loadstone.runs.spec import Spec
from loadstone.studies.registry import named_sweep
from loadstone.tasks import TASKS

SHORT, LONG, LONGER = (
    [Spec("original", d, p, seed) for seed in range(4)] for d, p in ((10, 20), (50, 400), (100, 1200))
)


def test_the_longest_come_first_and_programs_stay_together():
    assert by_program(SHORT + LONGER + LONG, "cpu") == [LONGER, LONG, SHORT] and by_program([], "cpu") == []


def test_seeds_and_loads_train_together_on_an_accelerator_only():
    other = [Spec("original", 50, p, seed) for p in (390, 300) for seed in range(4)]
    assert by_program(other + LONG, "gpu") == [LONG + other] and batch_size(LONG[0], "cpu") == 1
    assert by_program(LONG + LONGER, "gpu") == [LONGER, LONG]
    # Of another size, rank or rule: another program.
    for spec in (Spec("original", 50, 513), Spec("original", 50, 400, kappa=0.5), Spec("decoupled", 50, 400)):
        assert program(spec, "gpu") != program(LONG[0], "gpu") == program(other[0], "gpu")
    assert program(other[0], "cpu") != program(LONG[0], "cpu") == LONG[0].without_seed


def test_small_problems_of_few_passes_share_one_program_on_a_cpu():
    """There is no padding for the paper's protocol, which takes longer to run than to compile."""
    found = {p: program(Spec("original", 40, p, solver="lbfgs"), "cpu").p for p in (100, 512, 513)}
    assert found == {100: 512, 512: 512, 513: 513}
    assert [program(Spec("decoupled", 20, p, solver="lbfgs"), "cpu").p for p in (60, 128, 129)] == [128, 128, 256]
    assert program(Spec("original", 40, 100), "cpu").p == 100


def test_of_several_batches_the_last_is_filled_up():
    assert batch_size(LONG[0], "gpu") == 25 and batch_size(Spec("original", 50, 400, solver="hebbian"), "gpu") == 1
    assert [batch_sizes(LONG[:1] * count, "gpu") for count in (4, 25, 26)] == [(25, 1), (25, 1), (25, 25)]
    assert batch_sizes(LONG, "cpu") == (1, 1)


@pytest.mark.parametrize("small, large, times", [
    ({"p": 4000}, {"p": 8000}, 4), ({"p": 4000, "answers": 50}, {"p": 4000, "answers": 100}, 2),
    ({"d": 400}, {"d": 800}, 2), ({"problem": "groups:2"}, {"problem": "decoupled"}, 1),
    ({"solver": "adam"}, {"solver": "lbfgs"}, 1),
    ({"parameters": {"steps": 1000}}, {"parameters": {"steps": 4000}}, 4),
    ({"solver": "hebbian"}, {"parameters": {"steps": 399}}, 201),
    ({"solver": "capacity", "d": 80}, {"solver": "capacity", "d": 160}, 32),
    ({"solver": "margin", "d": 80}, {"solver": "margin", "d": 160}, 8),
    ({"solver": "bits", "d": 80}, {"solver": "bits", "d": 160}, 8),
    ({"solver": "bits"}, {"solver": "bits", "parameters": {"way": "centre"}}, 100),
    ({"solver": "reach"}, {"solver": "reach", "parameters": {"starts": 3}}, 3),
    ({"solver": "reach"}, {"solver": "reach", "parameters": {"passes": 3000}}, 3),
    ({"solver": "reach", "d": 20, "parameters": {"passes": 3000}}, {"solver": "approach", "d": 20}, 1),
    ({"solver": "edits", "d": 80}, {"solver": "edits", "d": 160}, 8),
    ({"solver": "edits", "d": 80, "parameters": {"method": "refit", "edits": 10**4}},
     {"solver": "edits", "d": 160, "parameters": {"method": "refit", "edits": 10**4}}, 16),
    ({"solver": "space", "p": 50}, {"solver": "space", "p": 50, "parameters": {"volume": False, "steps": 8000}}, 3.4),
    ({"solver": "space", "p": 500, "d": 40}, {"solver": "space", "p": 500, "d": 40, "parameters": {"chains": 8}}, 2),
])  # fmt: skip
def test_the_cost_of_a_run_grows_with_its_work(small, large, times):
    """Long runs come first and the time left is told by these numbers, so they need be right to a third."""
    one, other = (cost(Spec(**{"problem": "original", "d": 200, "p": 2000} | given), "cpu") for given in (small, large))
    assert times / 1.34 < other / one < 1.34 * times


def test_a_step_on_an_accelerator_costs_less_and_a_small_run_more():
    few, many = Spec("original", 10, 20), Spec("original", 400, 11_000)
    assert cost(few, "gpu") > cost(few, "cpu") and cost(many, "gpu") < cost(many, "cpu") / 100
    assert cost(Spec("decoupled", 400, 11_000), "gpu") > 10 * cost(many, "gpu")


def test_what_is_long_differs_between_a_processor_and_an_accelerator():
    few, many = Spec("decoupled", 150, 2800), Spec("original", 400, 11_000)
    assert by_program([few, many], "cpu") == [[many], [few]] and by_program([many, few], "gpu") == [[few], [many]]


def test_compilation_is_shared_by_runs_of_one_program():
    other = Spec("original", 10, 30)
    costs = expected_costs(SHORT + [other], "cpu")
    assert costs[SHORT[0].key] == cost(SHORT[0], "cpu") + 0.25 and costs[other.key] > 1
    # An accelerator fills both up to the same size.
    costs = expected_costs(SHORT + [other], "gpu")
    assert costs[other.key] == cost(other, "gpu") + 0.2 and costs[SHORT[0].key] == cost(SHORT[0], "gpu") + 0.2
    assert expected_costs([Spec("original", 10, 30, solver="hebbian")], "cpu").popitem()[1] < 1


def test_jobs_hold_every_spec_once_and_one_shape_each():
    specs = SHORT * 1 + [Spec("original", 10, 20, seed) for seed in range(4, 100)] + LONGER
    found = jobs(specs, 2)
    assert sorted(map(str, (spec for job in found for spec in job))) == sorted(map(str, specs))
    assert all(len({spec.without_seed for spec in job}) == 1 for job in found) and max(map(len, found)) == 26
    assert found[0][0] in LONGER
    # Few runs of one shape are spread over the workers all the same, and a long one goes out alone.
    assert len(jobs(SHORT, 2)) == 4
    assert [len(job) for job in jobs([Spec("original", 300, 9000, seed) for seed in range(20)], 2)] == [1] * 20


@pytest.mark.parametrize("platform", ["cpu", "gpu"])
def test_every_run_of_the_sweeps_has_a_cost(platform):
    """A sweep asks for them before its first run."""
    kinds = {(spec.solver, spec.family, spec.parameters): spec for spec in named_sweep("all")}
    costs = expected_costs(list(kinds.values()), platform)
    assert len(costs) == len(kinds) and all(0 < one < float("inf") for one in costs.values())


@pytest.mark.parametrize("spec, alone", [
    (Spec("original", 500, 24_715), False), (Spec("original", 513, 24), True),
    # 1250 million numbers at most beside others: 2886^2 x 150 are fewer, 2887^2 x 150 are more.
    (Spec("decoupled", 150, 2886), False), (Spec("decoupled", 150, 2887), True),
    (Spec("decoupled", 150, 2887, answers=2800), False), (Spec("decoupled", 20, 30, hold="regenerated"), True),
    (Spec("original", 20, 30, solver="reach"), False), (Spec("original", 1024, 60_000, solver="reach"), True),
    *((Spec("original", 20, 30, solver=task), True) for task in TASKS if task != "reach"),
    (Spec("original", 20, 30, solver="hebbian"), False), (Spec("original", 1000, 2, solver="initial"), False),
])  # fmt: skip
def test_large_runs_and_those_that_ctrl_c_would_wait_for_have_the_device_to_themselves(spec, alone):
    assert has_the_device_alone(spec) == alone
