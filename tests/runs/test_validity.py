"""A record with values that no run can have is damaged, however good its checksum."""

import json
import os
from dataclasses import fields, replace

import pytest

from loadstone.runs import index
from loadstone.runs.export import rows
from loadstone.runs.record import DamagedError, Record, key_of
from loadstone.runs.spec import Spec
from loadstone.runs.store import Store
from loadstone.runs.validity import check_parts, check_values
from loadstone.studies.registry import SWEEPS, named_sweep
from loadstone.tasks.fields import RESULT

SIZE = {"p": 9, "d": 6}
WHOLE, REAL = 1, 1e-5  # how far beyond a bound the next value lies
NO_END, MOST = float("inf"), 2**63
SHARE, POSITIVE, ANY = (0, 1, REAL), (0, NO_END, REAL), (-NO_END, NO_END, REAL)
COUNT, NUMBER = (0, MOST, WHOLE), (1, MOST, WHOLE)

#: The least and the greatest value of each field for p = 9 and d = 6, by its place; [] is a list of such values.
RANGES = {
    "violations": (0, 9, WHOLE), "steps": COUNT, "passes": COUNT, "p_c": NUMBER, "storable": NUMBER,
    "not_storable": (2, MOST, WHOLE), "stored": NUMBER, "not_stored": (2, MOST, WHOLE), "limit": NUMBER,
    "rank": (1, 6, WHOLE), "dimension": (1, 36, WHOLE),
    "edits []": NUMBER, "lost []": (0, 9, WHOLE), "missed []": COUNT, "undecided []": COUNT,
    "accuracy": SHARE, "loss": POSITIVE, "margin": ANY, "upper_bound": POSITIVE, "gap": SHARE, "first": SHARE,
    "listed": SHARE, "first_by_all_rivals": SHARE, "listed_by_all_rivals": SHARE, "r_hat": POSITIVE,
    "effective_samples": POSITIVE, "autocorrelation_time": POSITIVE, "overlap": (-1, 1, REAL),
    "overlap_error": POSITIVE, "log_volume": (-NO_END, 1, REAL), "log_volume_error": POSITIVE, "centre_length": SHARE,
    "noises []": POSITIVE, "recalled []": SHARE, "recalled_error []": POSITIVE, "recalled_predicted []": SHARE,
    "loss_trace []": POSITIVE, "accuracy_trace []": SHARE, "singular_values []": POSITIVE, "distances []": SHARE,
    "typical_singular_values [] []": POSITIVE, "own_target mean": ANY, "own_target deviation": POSITIVE,
    **{f"memories {name} {field}": bounds for name in ("typical", "centre", "largest margin")
       for field, bounds in {"singular_values []": POSITIVE, "margin": ANY, "recalled []": SHARE, "bits []": NUMBER,
                             "recalled_rounded []": SHARE, "noises []": POSITIVE}.items()},
    **{f"{scores} {field}": bounds for scores in ("scores", "typical_scores")
       for field, bounds in {"target []": COUNT, "rival []": COUNT, "own []": COUNT, "others []": COUNT, "low": ANY,
                             "high": ANY, "unit": POSITIVE, "target_mean": ANY, "target_deviation": POSITIVE,
                             "own_target mean": ANY, "own_target deviation": POSITIVE, "first target": ANY,
                             "moments margin mean": ANY, "moments margin deviation": POSITIVE,
                             "moments target mean": ANY, "moments rival deviation": POSITIVE,
                             "moments others deviation": POSITIVE, "first rival": ANY,
                             "first others []": COUNT}.items()},
}  # fmt: skip
OF_SPEC = {"d": (1, 2**31, WHOLE), "p": NUMBER, "seed": (0, 2**64 - 1, WHOLE), "answers": (2, 2**31, WHOLE),
           "frequencies []": POSITIVE, "kappa": (1e-9, 1, REAL)}  # fmt: skip
#: Fields that are words, or lists of rows and words; their values are tried one by one below.
OTHERS = {"status", "form", "verdicts", "attempts", "ways"}


def at(place, value):
    """The value in tables and lists of its place: 'first others []' is {'first': {'others': [value]}}."""
    for name in reversed(place.replace("largest margin", "largest_margin").split()):
        value = [value] if name == "[]" else {name.replace("largest_margin", "largest margin"): value}
    return value


def refused(*parts):
    with pytest.raises(DamagedError):
        check_parts(*parts)


def has_exactly(check, least, greatest, step):
    """Both ends pass, and what lies beyond them does not, nor what is no such number."""
    ends = [end for end in (least, greatest) if abs(end) < NO_END]
    for value in (*ends, min(max(least, 5), greatest)):
        check_parts(*check(value))
    beyond = [end + sign * step for end, sign in ((least, -1), (greatest, 1)) if abs(end) < NO_END]
    for value in (*beyond, True, "nan", "word", [0.5], *([1.5] if step == WHOLE else [10**400])):
        refused(*check(value))


@pytest.mark.parametrize("place", RANGES)
def test_a_field_of_a_result_has_its_range(place):
    has_exactly(lambda value: (SIZE, at(place, value), {}), *RANGES[place])
    if place != "p_c":  # where None says that it is not known
        refused(SIZE, at(place, None), {})


@pytest.mark.parametrize("place", OF_SPEC)
def test_a_field_of_a_spec_has_its_range(place):
    has_exactly(lambda value: (at(place, value), {}, {}), *OF_SPEC[place])


def test_every_field_of_a_result_is_tried_here():
    assert RESULT.keys() == {place.split()[0] for place in RANGES} | OTHERS


@pytest.mark.parametrize("part, name, good, bad", [
    (1, "status", ["stored", "a later one"], [3, None]), (1, "form", ["shared"], [3]),
    (1, "ways", [["start 1"]], ["start 1", [1]]),
    (1, "verdicts", [[[1, "storable"]]], [[3], [[3]], [[0, "storable"]], [["3", "storable"]], [[3, 4]],
                                          [[3, "storable", 1]]]),
    (1, "attempts", [[[2, False, "stopped", 1]]],
     [[3], [[4, True, "stored"]], [[1, True, "stored", 9]], [[4, 1, "stored", 9]], [[4, True, 3, 9]],
      [[4, True, "stored", 0]], 4]),
    (1, "singular_values", [[1.0] * 6, []], [[1.0] * 7, 1.0]),
    (1, "typical_singular_values", [[[1.0] * 6]], [[[1.0] * 7]]),
    (1, "scores", [{}], [3, [], None]), (1, "p_c", [None], ["5"]),
    (0, "problem", ["original", "facts"], [1]), (0, "law", ["sphere"], [[]]),
    (0, "solver", ["adam", {"name": "sgd", "learning_rate": 0.5}], [None, {}, {"name": 3}]),
    (0, "frequencies", ["zipf:1", [0.5, 2]], [1, [1, -1], ["a"], [[]]]), (0, "kappa", [1], [0, -0.0, 1.5]),
    (2, "seconds", [0, 3.5], [-1e-5, "nan", "soon", True]),
])  # fmt: skip
def test_words_rows_and_tables(part, name, good, bad):
    parts = lambda value: [  # noqa: E731
        (SIZE if number == 0 else {}) | ({name: value} if number == part else {}) for number in range(3)
    ]
    for value in good:
        check_parts(*parts(value))
    for value in bad:
        refused(*parts(value))


CAPACITY, MARGIN = {"p_c": 5, "storable": 5, "not_storable": 6}, {"margin": 0.5, "upper_bound": 0.500001}
EDITED = {"edits": [1, 4], "lost": [0, 2], "missed": [0, 3], "undecided": [0, 0]}
TRACES = {"steps": 20, "loss_trace": [0.5] * 21, "accuracy_trace": [0.5] * 21}
PAPER = {"solver": "adam"}
SCORES = {"low": -8.0, "high": 8.0, "target": [0, 9], "first": {"others": [1, 6]}}


@pytest.mark.parametrize("spec, result, changes", [
    (PAPER, TRACES, [{"steps": 19}, {"steps": 21}, {"loss_trace": [0.5] * 20}, {"accuracy_trace": [0.5] * 22}]),
    ({}, CAPACITY, [{"p_c": 4}, {"p_c": 6}, {"storable": 4}, {"not_storable": 7}, {"storable": 6}]),
    ({}, CAPACITY | {"p_c": None}, [{"storable": 6}, {"storable": 7}]),
    ({}, MARGIN, [{"margin": 0.6}, {"upper_bound": 0.4}]),
    ({}, EDITED, [{"edits": [1]}, {"lost": [0]}, {"missed": [0, 5]}, {"missed": [2, 0]}, {"undecided": [0, 0, 0]}]),
    ({}, {"stored": 5, "not_stored": 6}, [{"stored": 6}, {"not_stored": 5}]),
    ({}, {"scores": SCORES}, [{"scores": SCORES | change} for change in
                              ({"low": 8.0}, {"high": -9.0}, {"target": [9]}, {"first": {"others": [1]}})]),
])  # fmt: skip
def test_fields_that_are_possible_alone_may_contradict_each_other(spec, result, changes):
    check_parts(SIZE | spec, result, {})
    for change in changes:
        refused(SIZE | spec, result | change, {})
    # What a record lacks cannot contradict it.
    for name in result:
        check_parts(SIZE | spec, {other: value for other, value in result.items() if other != name}, {})


def test_the_smallest_capacity_and_all_edits_that_fail_are_possible():
    """One association is always storable, two may not be; and of a solver that is no protocol, traces may be short."""
    check_parts({}, {"p_c": 1, "storable": 1, "not_storable": 2, "verdicts": [[1, "storable"]]}, {})
    check_parts({}, EDITED | {"missed": [1, 4]}, {})
    check_parts({"solver": "lbfgs"}, {"steps": 5, "loss_trace": [1.0], "accuracy_trace": [0.0]}, {})


def test_rounding_is_no_damage():
    """float32 counts accuracy as one minus a share, which may fall below 0 in its last digit."""
    check_parts({}, {"accuracy_trace": [-1.1920928955078125e-07, 1 + 5e-7], "loss": -1e-7, "overlap": 1 + 5e-7}, {})


def test_a_diverged_run_may_lack_its_numbers():
    names = ("loss", "margin", "accuracy")
    check_parts({}, {"status": "diverged", "loss_trace": ["inf"]} | dict(zip(names, ("nan", "-inf", "nan"))), {})
    refused({}, {"status": "diverged", "accuracy": 2.0}, {})
    refused({}, {"status": "diverged", "gap": "nan"}, {})


def test_later_versions_may_say_more():
    """Statuses, solvers and fields that are not known today are no damage."""
    check_parts(SIZE | {"problem": "facts", "weights": {"a": 1}}, {"weighted_accuracy": 0.5}, {"host": "here"})


SPEC = {"problem": "original", "solver": "lbfgs", "law": "gaussian", "d": 6, "p": 9, "seed": 0, "kappa": 1.0}
RECORD = Record(key_of(SPEC), SPEC, {"status": "stored", "accuracy": 1.0, "violations": 0}, {"seconds": 0.5})


def changed(part, **values):
    """The record with other values in a part, under its old key."""
    parts = {name: dict(getattr(RECORD, name)) for name in ("spec", "result", "circumstances")}
    return Record(RECORD.key, **parts | {part: parts[part] | values})


@pytest.mark.parametrize("false, why", [
    (changed("result", accuracy=2.0), "the accuracy of its result is 2.0, which no run has."),
    (changed("result", d=99), "its result has d, which only a spec has."),
    (changed("spec", d=99), "its key is not the hash of its spec."),
    (replace(RECORD, result={"accuracy": 1.0}), "its result has no status, which every run leaves."),
])  # fmt: skip
def test_an_edited_record_with_a_good_checksum_is_set_aside_and_its_run_is_missing(false, why, tmp_path):
    store = Store(tmp_path)
    store.put(false)  # which makes the checksum anew
    assert store.summaries() == {} and rows(store) == [] and store.get(RECORD.key) is None
    assert store.missing([RECORD.key]) == [RECORD.key]
    assert store.quarantined() == [f"{RECORD.key}.record: {why}"]
    store.put(RECORD)
    assert store.get(RECORD.key) == RECORD


def test_a_result_cannot_say_what_was_run():
    """Whatever a spec may say, in any sweep or by a name of its own; how outputs were held is said by both."""
    spoken = {name for sweep in SWEEPS for spec in named_sweep(sweep)[:500] for name in spec.identity()}
    spoken |= {field.name for field in fields(Spec)} - {"hold"}
    for name in spoken - {"form"}:
        with pytest.raises(DamagedError, match=f"its result has {name}, which only a spec has"):
            check_values(changed("result", **{name: SPEC.get(name)}))


@pytest.mark.parametrize("true, false", [
    ('"accuracy":1.0', '"accuracy":2.0'), ('"d":6', '"d":7'), ('"violations":0', '"violations":1'),
    ('"status":"stored"', '"status":"diverged"'), ('"index":', '"index": '), ("}", "} "),
])  # fmt: skip
def test_an_edited_index_is_made_again(true, false, tmp_path):
    store, file = Store(tmp_path), tmp_path / "index.json"
    store.put(RECORD)
    expected, written = store.summaries(), file.read_bytes()
    assert expected[RECORD.key]["result"] == RECORD.result
    assert true in file.read_text()
    file.write_text(file.read_text().replace(true, false))
    assert store.summaries() == expected and file.read_bytes() == written


@pytest.mark.parametrize("changes", [{"accuracy": 2.0}, {"accuracy": 1.5, "violations": 0}])
def test_an_index_cannot_say_what_a_record_could_not_whatever_its_checksum(changes, tmp_path):
    store, file = Store(tmp_path), tmp_path / "index.json"
    store.put(RECORD)
    expected = store.summaries()
    entries = index.from_bytes(file.read_bytes())
    entries[RECORD.key]["summary"]["result"] |= changes
    file.write_bytes(index.to_bytes(entries))
    assert store.summaries() == expected


def test_an_index_that_came_with_a_store_from_elsewhere_is_made_again(tmp_path):
    """Its checksum is good, its values are possible, and the files have the sizes and dates that it says."""
    there, here = Store(tmp_path / "there"), Store(tmp_path / "here")
    there.put(RECORD)
    expected = there.summaries()
    entries = index.from_bytes((there.folder / "index.json").read_bytes())
    entries[RECORD.key]["summary"]["result"] |= {"accuracy": 0.5, "violations": 4, "status": "step limit"}
    (here.folder / "index.json").write_bytes(index.to_bytes(entries))
    here.put(RECORD)
    (path,) = here.records.rglob("*.record")
    os.utime(path, ns=(entries[RECORD.key]["stamp"][1],) * 2)
    assert here.summaries() == expected


def test_an_index_of_an_older_version_is_made_again(tmp_path):
    store, file = Store(tmp_path), tmp_path / "index.json"
    store.put(RECORD)
    expected, new = store.summaries(), file.read_bytes()
    (entry,) = index.from_bytes(new).values()
    old = {"form": 1, "entries": {RECORD.key: entry | {"stamp": entry["stamp"][:2]}}}
    file.write_text(json.dumps(old))
    assert store.summaries() == expected and file.read_bytes() == new
