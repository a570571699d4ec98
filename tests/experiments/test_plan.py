"""The order of runs: the longest first, one shape after another, none lost."""

from loadstone.experiments.engines.dask import jobs
from loadstone.experiments.plan import Plan, batch_size, cost, expected_costs, job_size, program
from loadstone.experiments.spec import Spec

SHORT, LONG, LONGER = (
    [Spec("original", d, p, seed) for seed in range(4)] for d, p in ((10, 20), (50, 400), (100, 1200))
)


def test_the_longest_come_first_and_shapes_stay_together():
    plan = Plan(SHORT + LONG + LONGER, 2)
    taken, last = [], None
    while specs := plan.take(last, "cpu"):
        taken += specs
        last = specs[0].shape
    assert taken == LONGER + LONG + SHORT and len(plan) == 0


def test_short_runs_go_together_and_jobs_get_smaller_towards_the_end():
    specs = [Spec("original", 10, 20, seed) for seed in range(100)]
    plan, sizes = Plan(specs, workers=2), []
    while job := plan.take(specs[0].shape, "cpu"):
        sizes.append(len(job))
    assert sizes == sorted(sizes, reverse=True) and sizes[0] == 16 and sizes[-3:] == [1, 1, 1] and sum(sizes) == 100


def test_workers_begin_with_different_shapes_and_share_when_none_is_left():
    plan = Plan(LONG + LONGER, 4)
    first, second = plan.take(None, "cpu"), plan.take(None, "cpu")
    assert first == LONGER[:1] and second == LONG[:1]
    assert plan.take(first[0].shape, "cpu") == LONGER[1:2]
    for _ in range(2):
        plan.take(first[0].shape, "cpu")
    # Its own shape is used up: it helps with the other one.
    assert plan.take(first[0].shape, "cpu") == LONG[1:2]


def test_a_worker_that_moves_on_leaves_its_shape_free():
    plan = Plan(LONG + SHORT, 4)
    (first,) = plan.take(None, "cpu")
    for _ in LONG[1:]:
        plan.take(first.shape, "cpu")
    assert plan.take(first.shape, "cpu") == SHORT[:1]
    plan.put_back([first])
    assert plan.take(None, "cpu") == [first]


def test_what_a_dead_worker_had_comes_back_first():
    plan = Plan(LONG, 2)
    (spec,) = plan.take(None, "cpu")
    plan.leave(spec.shape)
    plan.put_back([spec])
    assert len(plan) == 4 and plan.take(None, "cpu") == [spec]


def test_after_a_death_each_run_goes_out_alone():
    plan = Plan(LONG + SHORT, 2)
    job = plan.take(None, "gpu")
    assert job == LONG
    plan.put_back(job, alone=True)
    assert len(plan) == len(LONG + SHORT)
    assert [plan.take(None, "gpu") for _ in LONG] == [[spec] for spec in LONG]
    assert plan.take(None, "gpu") == SHORT and len(plan) == 0


def test_seeds_and_loads_train_together_on_an_accelerator_only():
    other = [Spec("original", 50, p, seed) for p in (390, 300) for seed in range(4)]
    assert Plan(other + LONG).take(None, "gpu") == LONG + other and batch_size(LONG[0], "cpu") == 1
    assert len(Plan(LONG + LONGER).take(None, "gpu")) == 4
    # Of another size, rank or rule: another program.
    for spec in (Spec("original", 50, 513), Spec("original", 50, 400, kappa=0.5), Spec("decoupled", 50, 400)):
        assert program(spec, "gpu") != program(LONG[0], "gpu") == program(other[0], "gpu")
    assert program(other[0], "cpu") != program(LONG[0], "cpu") == LONG[0].shape


def test_a_job_has_several_batches_on_an_accelerator_if_the_share_is_that_large():
    assert batch_size(LONG[0], "gpu") == 25
    assert [job_size(LONG[0], "gpu", share) for share in (0, 60, 1000)] == [25, 50, 150]
    few = Spec("decoupled", 100, 1000)
    assert batch_size(few, "gpu") == 4 and [job_size(few, "gpu", share) for share in (3, 14, 1000)] == [4, 12, 24]
    # Runs that train alone: one that takes minutes goes out alone.
    alone = [Spec("original", d, p) for d, p in ((300, 7000), (500, 24_000), (2048, 230_000))]
    assert [job_size(spec, "gpu", 1000) for spec in alone] == [16, 10, 1] and job_size(alone[1], "cpu", 1000) == 1


def test_large_problems_train_alone():
    large = Spec("original", 500, 20_000), Spec("original", 300, 4000), Spec("decoupled", 150, 2000)
    assert {batch_size(spec, "gpu") for spec in large} == {1}
    assert batch_size(Spec("decoupled", 50, 400, form="regenerated"), "gpu") == 1
    assert {batch_size(Spec("original", 150, p), "gpu") for p in range(2060, 2990, 30)} == {16}
    assert batch_size(Spec("decoupled", 50, 400), "gpu") == 25 > batch_size(Spec("original", 150, 2800), "gpu") == 16


def test_cost_grows_with_size_and_steps():
    for where in ("cpu", "gpu"):
        assert cost(SHORT[0], where) < cost(LONG[0], where) < cost(LONGER[0], where)
        hebbian = Spec("original", 50, 400, solver="hebbian")
        assert cost(Spec("decoupled", 50, 400), where) > cost(LONG[0], where) > cost(hebbian, where)


def test_what_is_long_differs_between_a_processor_and_an_accelerator():
    few, many = Spec("decoupled", 150, 2800), Spec("original", 400, 11_000)
    assert Plan([few, many]).take(None, "cpu") == [many] and Plan([many, few]).take(None, "gpu") == [few]


def test_compilation_is_shared_by_runs_of_one_program():
    other = Spec("original", 10, 30)
    costs = expected_costs(SHORT + [other], "cpu")
    assert costs[SHORT[0].key] == cost(SHORT[0], "cpu") + 0.25 and costs[other.key] > 1
    # An accelerator fills both up to the same size.
    costs = expected_costs(SHORT + [other], "gpu")
    assert costs[other.key] == cost(other, "gpu") + 0.2 and costs[SHORT[0].key] == cost(SHORT[0], "gpu") + 0.2
    assert expected_costs([Spec("original", 10, 30, solver="hebbian")], "cpu").popitem()[1] < 1


def test_jobs_for_a_cluster_hold_every_spec_once_and_one_shape_each():
    specs = SHORT * 1 + [Spec("original", 10, 20, seed) for seed in range(4, 100)] + LONGER
    found = jobs(specs, 2)
    assert sorted(map(str, (spec for job in found for spec in job))) == sorted(map(str, specs))
    assert all(len({spec.shape for spec in job}) == 1 for job in found) and max(map(len, found)) == 16
    assert found[0][0] in LONGER
    # Few runs of one shape are spread over the workers all the same.
    assert len(jobs(SHORT, 2)) == 4
