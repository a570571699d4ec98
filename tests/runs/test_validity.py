"""A record with values that no run can have is damaged, however good its checksum."""

import json
from dataclasses import fields

import pytest

from loadstone.runs.engines.in_process import InProcess
from loadstone.runs.export import rows
from loadstone.runs.record import DamagedError, Record, key_of
from loadstone.runs.spec import Spec
from loadstone.runs.store import Store
from loadstone.runs.sweep import run_sweep
from loadstone.runs.validity import check_parts, check_values
from loadstone.studies.registry import SWEEPS, named_sweep
from tests.runs.accepted import KEPT, accepted


def made(spec, result, circumstances):
    return Record(key_of(spec), spec, result, circumstances)


TRAINED = made(
    {"problem": "original", "solver": "adam", "law": "gaussian", "d": 6, "p": 9, "seed": 0, "kappa": 1.0},
    {
        "status": "step limit", "form": "original, outputs shared", "accuracy": 1.0, "violations": 0, "loss": 0.25,
        "margin": -0.5, "steps": 20, "loss_trace": [0.5] * 21, "accuracy_trace": [0.5] * 21,
        "singular_values": [2.0, 1.0, 0.5, 0.2, 0.1, 0.0],
        "scores": {
            "low": -8.0, "high": 8.0, "unit": 1.5, "target": [0, 0, 9], "rival": [0, 9, 0], "own": [1, 0, 8],
            "others": [9, 54, 9], "target_mean": 3.0, "target_deviation": 0.5,
            "own_target": {"mean": 3.0, "deviation": 0.5},
            "first": {"target": 3.0, "rival": 2.0, "others": [1, 6, 1]},
        },
    },
    {"seconds": 0.5, "device": "cpu"},
)  # fmt: skip
CAPACITY = made(
    {"problem": "original", "solver": "capacity", "d": 3, "p": 4},
    {
        "status": "proved", "p_c": 5, "storable": 5, "not_storable": 6,
        "verdicts": [[5, "storable"], [6, "not storable"]],
        "singular_values": [2.0, 1.0, 0.1], "own_target": {"mean": 1.9, "deviation": 0.3},
    },
    {"seconds": 0.1},
)  # fmt: skip
REACHED = made(
    {"problem": "original", "solver": "reach", "d": 3, "p": 4, "kappa": 0.5},
    {"status": "bracketed", "rank": 2, "stored": 5, "not_stored": 6, "attempts": [[4, True, "stored", 9]]},
    {"seconds": 0.1},
)
MARGIN = made(
    {"problem": "original", "solver": "margin", "d": 3, "p": 4},
    {"status": "proved", "margin": 0.5, "upper_bound": 0.500001, "gap": 2e-6, "steps": 9, "noises": [0.1, 0.2],
     "recalled": [1.0, 0.9], "recalled_error": [0.0, 0.01], "recalled_predicted": [0.99, 0.9]},
    {"seconds": 0.1},
)  # fmt: skip

EDITED = made(
    {"problem": "original", "solver": {"name": "edits", "edits": 4}, "d": 3, "p": 4},
    {"status": "edited", "edits": [1, 4], "lost": [0, 2], "missed": [0, 3], "undecided": [0, 0]},
    {"seconds": 0.1},
)


def changed(record, path, value):
    """The record with one value in its place; `path` goes down through parts, names and indices."""
    parts = json.loads(json.dumps({name: value for name, value in vars(record).items() if name != "key"}))
    inner = parts
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return Record(record.key, **parts)


IMPOSSIBLE = [
    (TRAINED, "result accuracy", [2.0, -0.1, 1.00001, "nan", True, None, [1.0], 10**400]),
    (TRAINED, "result violations", [-1, 10, 0.5, True, "0"]),
    (TRAINED, "result loss", [-0.1, "nan", "inf", None, 10**400]),
    (TRAINED, "result margin", ["nan", None, [0.0]]),
    (MARGIN, "result margin", [0.6, "nan", None]),
    (MARGIN, "result upper_bound", [0.4, -1.0, "inf"]),
    (MARGIN, "result gap", [-1e-9, 1.5, "nan"]),
    (MARGIN, "result noises", [[-0.1], 0.1]),
    (MARGIN, "result recalled", [[1.1], [-0.1], ["nan"], 1.0]),
    (MARGIN, "result recalled_predicted", [[1.1], [None]]),
    (EDITED, "result edits", [[1], [0, 4], [1, 4.5], 4]),
    (EDITED, "result lost", [[0], [0, 5], [-1, 0]]),
    (EDITED, "result missed", [[0, 5], [2, 0], [0, 0, 0]]),
    (EDITED, "result undecided", [[0], [0, -1]]),
    (TRAINED, "result steps", [-1, 1.5, 19, 21, "20"]),
    (TRAINED, "result passes", [-1, 1.5, "20"]),
    (TRAINED, "result status", [3, None]),
    (TRAINED, "result form", [3]),
    (TRAINED, "result loss_trace", [[0.5] * 20, [], "word", [0.5] * 20 + ["nan"], [0.5] * 20 + [-1.0]]),
    (TRAINED, "result accuracy_trace", [[0.5] * 22, [0.5] * 20 + [1.1], [0.5] * 20 + [None]]),
    (TRAINED, "result singular_values", [[1.0] * 7, [-0.1], ["nan"], [[1.0]], 1.0]),
    (TRAINED, "result scores", [3, [], None]),
    (TRAINED, "result scores target", [[0.5], [-1], [1, 2], ["1"], [True]]),
    (TRAINED, "result scores others", [[1], 3]),
    (TRAINED, "result scores low", [8.0, 9.0, "nan"]),
    (TRAINED, "result scores unit", [-1.0, "inf"]),
    (TRAINED, "result scores own_target deviation", [-0.1]),
    (TRAINED, "result scores first others", [[1], [-1]]),
    (TRAINED, "result scores first target", ["nan"]),
    (TRAINED, "spec d", [0, -6, 6.0, True, 2**40]),
    (TRAINED, "spec p", [0, -1, 9.5, 2**64]),
    (TRAINED, "spec seed", [-1, 2**64, 0.0]),
    (TRAINED, "spec kappa", [0, -0.0, 1.5, "nan", True]),
    (TRAINED, "spec problem", [1]),
    (TRAINED, "spec solver", [None]),
    (TRAINED, "spec law", [[]]),
    (TRAINED, "spec answers", [1, 2.0, "3", None]),
    (TRAINED, "spec frequencies", [1, [1, -1], ["a"], [[]]]),
    (TRAINED, "circumstances seconds", [-1.0, "nan", "soon"]),
    (CAPACITY, "result p_c", [0, -3, 1.5, 100]),
    (CAPACITY, "result storable", [0, 100, None]),
    (CAPACITY, "result not_storable", [1, 100, "x"]),
    (CAPACITY, "result verdicts", [[3], [[3]], [[0, "storable"]], [["3", "storable"]], [[3, 4]], [[3, "storable", 1]]]),
    (REACHED, "result stored", [0, 6, 100, 1.5, True, None]),
    (REACHED, "result not_stored", [1, 5, "x"]),
    (REACHED, "result rank", [0, 4, 1.0]),
    (REACHED, "result attempts", [[3], [[4, True, "stored"]], [[1, True, "stored", 9]], [[4, 1, "stored", 9]],
                                  [[4, True, 3, 9]], [[4, True, "stored", 0]], 4]),
    (CAPACITY, "result own_target", [{"mean": "nan"}, {"deviation": -1}, 3]),
]  # fmt: skip


_WHY = "no run has|no stream has|stored and|its traces have|its capacity is|its margin is"


@pytest.mark.parametrize("record, path, values", IMPOSSIBLE, ids=[path for _, path, _ in IMPOSSIBLE])
def test_what_no_run_can_have_is_damage(record, path, values):
    for value in values:
        with pytest.raises(DamagedError, match=_WHY):
            check_values(changed(record, path.split(), value))


#: The least and the greatest value of each field, for p = 9 and d = 6; whole numbers, shares or other numbers.
NO_END = float("inf")
WHOLE = {
    "violations": (0, 9), "steps": (0, 2**63), "p_c": (1, 2**63), "storable": (1, 2**63), "not_storable": (2, 2**63),
    "stored": (1, 2**63), "not_stored": (2, 2**63), "limit": (1, 2**63), "rank": (1, 6), "dimension": (1, 36),
}  # fmt: skip
WHOLE_LISTS = {"edits": (1, 2**63), "lost": (0, 9), "missed": (0, 2**63), "undecided": (0, 2**63)}
NUMBERS = {
    "accuracy": (0, 1), "loss": (0, NO_END), "margin": (-NO_END, NO_END), "upper_bound": (0, NO_END), "gap": (0, 1),
    "first": (0, 1), "listed": (0, 1), "first_by_all_rivals": (0, 1), "listed_by_all_rivals": (0, 1),
    "r_hat": (0, NO_END), "effective_samples": (0, NO_END), "autocorrelation_time": (0, NO_END), "overlap": (-1, 1),
    "overlap_error": (0, NO_END), "log_volume": (-NO_END, 1), "log_volume_error": (0, NO_END), "centre_length": (0, 1),
}  # fmt: skip
NUMBER_LISTS = {
    "noises": (0, NO_END), "recalled": (0, 1), "recalled_error": (0, NO_END), "recalled_predicted": (0, 1),
    "loss_trace": (0, NO_END), "accuracy_trace": (0, 1), "singular_values": (0, NO_END), "distances": (0, 1),
}  # fmt: skip
MEMORY = {"singular_values": (0, NO_END), "margin": (-NO_END, NO_END), "recalled": (0, 1), "recalled_rounded": (0, 1)}
SPEC = {"d": (1, 2**31), "p": (1, 2**63), "seed": (0, 2**64 - 1), "answers": (2, 2**31)}


def test_every_field_has_its_least_and_its_greatest_value():
    size = {"p": 9, "d": 6}

    def edges(check, least, greatest, step):
        """Both ends pass, and what lies beyond them does not."""
        inside = [end for end in (least, greatest) if abs(end) < NO_END] + [min(max(least, 5), greatest)]
        beyond = [(end + sign * step) for end, sign in ((least, -1), (greatest, 1)) if abs(end) < NO_END]
        for value in inside:
            check(value)
        for value in [*beyond, True, "nan", None]:
            with pytest.raises(DamagedError):
                check(value)

    def result(name, in_list=False):
        return lambda value: check_parts(size, {name: [value] if in_list else value}, {})

    for step, single, lists in ((1, WHOLE, WHOLE_LISTS), (1e-5, NUMBERS, NUMBER_LISTS)):
        for name, ends in single.items():
            if name != "p_c":  # where None says that it is not known
                edges(result(name), *ends, step)
        for name, ends in lists.items():
            edges(result(name, in_list=True), *ends, step)
    edges(lambda value: check_parts(size, {"p_c": 0 if value is None else value}, {}), *WHOLE["p_c"], 1)
    for name, ends in SPEC.items():
        edges(lambda value, name=name: check_parts({name: value}, {}, {}), *ends, 1)
    for name, ends in MEMORY.items():
        for kind in ("typical", "centre", "largest margin"):

            def check(value, name=name, kind=kind):
                check_parts(size, {"memories": {kind: {name: value if name == "margin" else [value]}}}, {})

            edges(check, *ends, 1e-5)  # fmt: skip
    edges(lambda value: check_parts(size, {"memories": {"typical": {"bits": [value]}}}, {}), 1, 2**63, 1)
    edges(lambda value: check_parts({}, {}, {"seconds": value}), 0, NO_END, 1e-5)
    edges(lambda value: check_parts({"frequencies": [value]}, {}, {}), 0, NO_END, 1e-5)
    check_parts({"kappa": 1}, {}, {})
    for name in ("singular_values", "typical_singular_values"):
        for count in (6, 7):
            values = [1.0] * count if name == "singular_values" else [[1.0] * count]
            if count == 6:
                check_parts(size, {name: values}, {})
            else:
                with pytest.raises(DamagedError):
                    check_parts(size, {name: values}, {})
    edges(lambda value: check_parts(size, {"typical_singular_values": [[value]]}, {}), 0, NO_END, 1e-5)


def test_every_histogram_has_its_least_and_its_greatest_value():
    for path, least in (("target", 0), ("rival", 0), ("own", 0), ("others", 0), ("first others", 0)):
        for value in (least - 1, least + 0.5):
            with pytest.raises(DamagedError):
                check_values(changed(TRAINED, ["result", "scores", *path.split()], [value, 1, 1]))
        check_values(changed(TRAINED, ["result", "scores", *path.split()], [least, 1, 1]))
    for path in ("unit", "target_deviation", "own_target deviation"):
        check_values(changed(TRAINED, ["result", "scores", *path.split()], 0))
        with pytest.raises(DamagedError):
            check_values(changed(TRAINED, ["result", "scores", *path.split()], -0.5))
    for path in ("low", "high", "target_mean", "own_target mean", "first target", "first rival"):
        with pytest.raises(DamagedError):
            check_values(changed(TRAINED, ["result", "scores", *path.split()], "inf"))
    check_values(changed(TRAINED, ["result", "scores", "target_mean"], -3.0))
    check_values(changed(EDITED, ("result", "missed"), [1, 4]))  # all of them
    # An attempt at two associations in one pass is the least that there is, and so is a verdict on one association.
    check_values(changed(REACHED, ("result", "attempts"), [[2, False, "stopped", 1]]))
    check_values(changed(CAPACITY, ("result", "verdicts"), [[1, "storable"]]))


def test_an_edited_record_with_a_good_checksum_is_set_aside_and_its_run_is_missing(tmp_path):
    store = Store(tmp_path)
    store.put(changed(TRAINED, ("result", "accuracy"), 2.0))  # which makes the checksum anew
    assert store.summaries() == {} and store.get(TRAINED.key) is None
    assert store.missing([TRAINED.key]) == [TRAINED.key]
    (why,) = store.quarantined()
    assert why == f"{TRAINED.key}.record: the accuracy of its result is 2.0, which no run has."
    store.put(TRAINED)
    assert store.get(TRAINED.key) == TRAINED


def test_a_record_whose_spec_was_edited_is_not_that_of_its_key(tmp_path):
    """The name of the file and the key in it stay; only the spec is another, under a good checksum."""
    store = Store(tmp_path)
    store.put(changed(TRAINED, ("spec", "d"), 99))
    assert rows(store) == [] and store.get(TRAINED.key) is None
    assert store.quarantined() == [f"{TRAINED.key}.record: its key is not the hash of its spec."]


def test_a_result_cannot_say_what_was_run(tmp_path):
    """Whatever a spec may say, in any sweep or by a name of its own; how outputs were held is said by both."""
    spoken = {name for sweep in SWEEPS for spec in named_sweep(sweep)[:500] for name in spec.identity()}
    spoken |= {field.name for field in fields(Spec)} - {"hold"}
    for name in spoken - {"form"}:
        with pytest.raises(DamagedError, match=f"its result has {name}, which only a spec has"):
            check_values(changed(TRAINED, ("result", name), TRAINED.spec.get(name)))
    store = Store(tmp_path)
    store.put(changed(TRAINED, ("result", "d"), 99))
    assert rows(store) == [] and store.get(TRAINED.key) is None and len(store.quarantined()) == 1


def test_an_index_cannot_say_what_a_record_could_not(tmp_path):
    store, index = Store(tmp_path), tmp_path / "index.json"
    store.put(TRAINED)
    expected = store.summaries()
    assert '"accuracy":1.0' in index.read_text()
    for true, false in (('"accuracy":1.0', '"accuracy":2.0'), ('"d":6', '"d":7')):
        index.write_text(index.read_text().replace(true, false))
        assert store.summaries() == expected


def test_what_runs_leave_is_possible():
    check_values(TRAINED)
    check_values(CAPACITY)
    check_values(MARGIN)
    check_values(EDITED)
    check_parts(CAPACITY.spec, {"status": "undecided", "p_c": None, "storable": 3, "not_storable": 2**31}, {})
    for path, value in (("spec d", 3), ("spec p", 1), ("spec seed", 2**64 - 1), ("spec kappa", 1e-9)):
        check_values(changed(CAPACITY, path.split(), value))


def test_the_smallest_capacity_and_one_half_known():
    """One association is always storable, two may not be; what a record lacks cannot contradict it."""
    check_parts({}, {"p_c": 1, "storable": 1, "not_storable": 2, "verdicts": [[1, "storable"]]}, {})
    possible = {"p_c": 5}, {"p_c": 5, "storable": 5}, {"p_c": 5, "not_storable": 6}, {"p_c": None, "not_storable": 6}
    for result in possible:
        check_parts({}, result, {})
    crossed = {"p_c": None, "storable": 5, "not_storable": 5}
    for result in (crossed, {"p_c": 5, "storable": 4}, {"p_c": 5, "not_storable": 7}):
        with pytest.raises(DamagedError):
            check_parts({}, result, {})


def test_rounding_is_no_damage():
    """float32 counts accuracy as one minus a share, which may fall below 0 in its last digit."""
    for path, value in (("result accuracy_trace", [-1.1920928955078125e-07] * 21), ("result loss", -1e-7)):
        check_values(changed(TRAINED, path.split(), value))


def test_a_diverged_run_may_lack_its_numbers():
    names = ("loss", "margin", "accuracy")
    check_parts({}, {"status": "diverged", "loss_trace": ["inf"]} | dict(zip(names, ("nan", "-inf", "nan"))), {})
    for name, value in (("loss", "nan"), ("margin", "inf"), ("accuracy", "nan"), ("loss_trace", ["nan"])):
        with pytest.raises(DamagedError, match="no run has"):
            check_parts({}, {"status": "step limit", name: value}, {})
    with pytest.raises(DamagedError, match="the accuracy of its result is 2.0"):
        check_parts({}, {"status": "diverged", "accuracy": 2.0}, {})


def test_later_versions_may_say_more():
    """Statuses, solvers and fields that are not known today are no damage."""
    for path, value in ((("result", "status"), "time limit"), (("spec", "problem"), "facts"),
                        (("result", "weighted_accuracy"), 0.5), (("spec", "weights"), {"a": 1}),
                        (("circumstances", "host"), "here")):  # fmt: skip
        check_values(changed(TRAINED, path, value))
    check_parts({"solver": "lbfgs"}, {"steps": 5, "loss_trace": [1.0], "accuracy_trace": [0.0]}, {})
    check_parts({}, {}, {})


def test_a_record_of_any_solver_is_possible(tmp_path):
    """A solver with parameters is a table in a spec, not a word."""
    spec = Spec("original", 6, 9, solver="sgd", parameters={"learning_rate": 0.5}, stop="exact", family="full")
    store = Store(tmp_path)
    assert run_sweep([spec], store, InProcess()).complete
    assert store.get(spec.key).spec["solver"] == {"name": "sgd", "learning_rate": 0.5}
    assert not store.quarantined()


def test_every_field_accepts_the_values_that_it_did():
    now, kept = accepted(), json.loads(KEPT.read_text())
    changed = sorted(name for name in now.keys() | kept.keys() if now.get(name) != kept.get(name))
    assert not changed, "if that is meant, run `python -m tests.runs.accepted` and read the diff of accepted.json"
