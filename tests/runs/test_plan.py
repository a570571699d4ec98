"""The order of runs: the longest first, one program after another, none lost."""

import pytest

from loadstone.runs.plan import batch_size, batch_sizes, by_program, cost, expected_costs, jobs, program
from loadstone.runs.spec import Spec
from loadstone.studies.registry import named_sweep

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


def test_more_searches_cost_more():
    one = Spec("original", 20, 54, kappa=0.2, solver="reach")
    more = Spec("original", 20, 54, kappa=0.2, solver="reach", parameters={"starts": 3, "truncated": True})
    assert cost(more, "cpu") == pytest.approx(5 * cost(one, "cpu"))


def test_of_several_batches_the_last_is_filled_up():
    assert batch_size(LONG[0], "gpu") == 25 and batch_size(Spec("decoupled", 100, 1000), "gpu") == 4
    assert [batch_sizes(LONG[:1] * count, "gpu") for count in (4, 25, 26)] == [(25, 1), (25, 1), (25, 25)]
    assert batch_sizes(LONG, "cpu") == (1, 1)


def test_large_problems_train_alone():
    large = Spec("original", 500, 20_000), Spec("original", 300, 4000), Spec("decoupled", 150, 2000)
    assert {batch_size(spec, "gpu") for spec in large} == {1}
    assert batch_size(Spec("decoupled", 50, 400, hold="regenerated"), "gpu") == 1
    assert batch_size(Spec("original", 50, 400, solver="hebbian"), "gpu") == 1
    assert {batch_size(Spec("original", 150, p), "gpu") for p in range(2060, 2990, 30)} == {16}
    assert batch_size(Spec("decoupled", 50, 400), "gpu") == 25 > batch_size(Spec("original", 150, 2800), "gpu") == 16


def test_cost_grows_with_size_and_steps():
    for where in ("cpu", "gpu"):
        assert cost(SHORT[0], where) < cost(LONG[0], where) < cost(LONGER[0], where)
        hebbian = Spec("original", 50, 400, solver="hebbian")
        assert cost(Spec("decoupled", 50, 400), where) > cost(LONG[0], where) > cost(hebbian, where)


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


def test_rough_seconds_of_each_kind_of_run():
    """By hand, from what was measured of them: a pass of d = 20, p = 54 takes 5e-5 + 6e-11 * 54^2 * 20 s on a core."""

    def seconds(solver, d, where="cpu", problem="original", p=54, **parameters):
        return cost(Spec(problem, d, p, solver=solver, parameters=parameters), where)

    assert [seconds("capacity", d) for d in (20, 40)] == pytest.approx([0.35, 0.05 + 0.3 * 32])
    assert [seconds("margin", d) for d in (30, 60)] == pytest.approx([1.7, 12.2])
    assert [seconds("bits", 24, way=way) for way in ("largest margin", "centre")] == pytest.approx([2.25, 225])
    one = 0.02 + 2 * (5e-5 + 6e-11 * 54**2 * 20)  # a step, and what is measured in the end
    assert seconds("reach", 20, passes=300) == pytest.approx(300 * one)
    assert seconds("approach", 20, passes=300) == pytest.approx(0.35 + 300 * one)
    steps = {"steps": 9, "warmup": 0}
    for where, step, number, other in (("cpu", 5e-5, 6e-11, 2.5e-10), ("gpu", 1e-4, 1.2e-14, 1.3e-12)):
        assert seconds("paper", 20, where, **steps) == pytest.approx(0.02 + 10 * (step + number * 54**2 * 20))
        for problem in ("decoupled", "groups:2"):
            found = seconds("paper", 20, where, problem, **steps)
            assert found == pytest.approx(0.02 + 10 * (step + other * 54**2 * 20))
    assert seconds("hebbian", 20) == pytest.approx(one)
    few = cost(Spec("original", 20, 54, parameters=steps, answers=6), "cpu")
    assert few == pytest.approx(0.02 + 10 * (5e-5 + 6e-11 * 54 * 6 * 20))
    edits = [seconds("edits", 30, edits=10, method=method) for method in ("batch", "refit")]
    assert edits == pytest.approx([1.7 + 0.04, 1.7 + 0.04 + 0.1 * 1.5**4])


def test_rough_seconds_of_sampling():
    """Paths, times reflections of each, times what one takes for all chains."""

    def seconds(problem, p, volume=False):
        found = Spec(problem, 10, p, solver="space", parameters={"chains": 4, "steps": 100, "volume": volume})
        return cost(found, "cpu") - 0.5

    fits = 0.88 * 10**1.55
    assert seconds("original", 8) == pytest.approx(100 * 8 * 2 ** (32 / fits) * (1e-5 + 1.5e-9 * 4 * 64))
    assert seconds("decoupled", 8) == pytest.approx(100 * 8 * 2 ** (32 / fits) * (4.5e-5 + 9e-11 * 4 * 64 * 10))
    assert seconds("original", 64) == pytest.approx(100 * 64 * 16 * (1e-5 + 1.5e-9 * 4 * 64**2))  # more than fit
    assert seconds("original", 8, volume=True) == pytest.approx(seconds("original", 8) * (1 + 0.07 * 8 * 4))
