"""The table holds every number of the summaries, exactly, for programs that know nothing of loadstone."""

import csv
import hashlib
import io
import json
import math
import os
import subprocess
import sys

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.runs import index
from loadstone.runs.export import _FIRST, export, rows
from loadstone.runs.record import Record, canonical, key_of
from loadstone.runs.result import perform
from loadstone.runs.spec import Spec
from loadstone.runs.store import Store


def key(number):
    return hashlib.sha256(str(number).encode()).hexdigest()


class Foreign:
    """Summaries as a store of another program's making could have them, with values that our own store refuses."""

    def __init__(self, *records):
        self.records = records

    def summaries(self):
        return {record.key: json.loads(canonical(index.summary(record))) for record in self.records}


def put(store, spec, result, circumstances):
    store.put(Record(key_of(spec), spec, result, circumstances))


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


SPECS = [
    Spec("original", 9, 12, 2**64 - 1, parameters={"steps": 40}),
    Spec("original", 9, 12, 1, solver="hebbian"),
    Spec("decoupled", 9, 12, 1, solver="hebbian"),
]


def test_real_runs_to_the_last_bit_in_both_formats(tmp_path):
    store = Store(tmp_path / "store")
    for spec in SPECS:
        for record in perform([spec]):
            store.put(record)
    table = rows(store)
    assert [row["key"] for row in table] == [spec.key for spec in reversed(SPECS)]
    for row, spec in zip(table, reversed(SPECS)):
        check_row(row, spec, store.get(spec.key))

    assert export(store, tmp_path / "t.csv", "csv") == export(store, tmp_path / "t.parquet", "parquet") == 3
    columns = pyarrow.parquet.read_table(tmp_path / "t.parquet")
    assert columns.to_pylist() == table
    types = {name: str(columns.schema.field(name).type) for name in ("seed", "d", "margin", "law", "protocol_stop")}
    assert types == {"seed": "uint64", "d": "int64", "margin": "double", "law": "string", "protocol_stop": "string"}
    for row, words in zip(table, read_csv(tmp_path / "t.csv")):
        assert words.keys() == row.keys()
        for name, value in row.items():
            assert words[name] == ("" if value is None else value if isinstance(value, str) else repr(value))
        assert float(words["margin"]) == row["margin"] and float(words["loss"]) == row["loss"]


def check_row(row, spec, record):
    """It holds the spec, the short part of the result and the circumstances, each in a column of its own."""
    assert (row["d"], row["p"], row["seed"], row["kappa"]) == (spec.d, spec.p, spec.seed, spec.kappa)
    assert row["form_asked"] == "auto" and row["form"] == record.result["form"] != "auto"
    assert row["protocol_steps"] == (spec.passes - 1 if spec.solver == "paper" else None)
    assert row["solver"] == spec.solver and row["accuracy"] == record.result["accuracy"]
    assert row["steps"] == record.result["steps"]
    assert row["run_seconds"] == record.circumstances["seconds"]
    identity = spec.identity()
    protocol = identity.pop("protocol", {})
    short = [value for value in record.result.values() if not isinstance(value, list | dict)]
    held = [value for value in row.values() if value is not None]
    assert len(held) == 1 + len(identity) + len(protocol) + len(short) + len(record.circumstances)


def test_columns_do_not_depend_on_what_is_there(tmp_path):
    identity = SPECS[0].identity()
    own = {"form_asked" if name == "form" else name for name in identity} - {"protocol"}
    assert own | {f"protocol_{name}" for name in identity["protocol"]} <= set(_FIRST)
    store = Store(tmp_path / "store")
    assert export(store, tmp_path / "empty.csv", "csv") == export(store, tmp_path / "empty.parquet", "parquet") == 0
    assert (tmp_path / "empty.csv").read_bytes().decode() == ",".join(_FIRST) + "\r\n"
    assert pyarrow.parquet.read_table(tmp_path / "empty.parquet").column_names == _FIRST
    put(store, {"zeta": 1}, {"alpha": 2}, {})
    put(store, identity, {"status": "stored"}, {"beta": 3})
    assert all(list(row) == [*_FIRST, "alpha", "run_beta", "zeta"] for row in rows(store))


def test_a_result_adds_no_column_of_the_spec_or_of_the_circumstances():
    names = ("protocol_steps", "solver_learning_rate", "run_seconds", "form_asked")
    (row,) = rows(Foreign(Record(key(1), {"d": 3}, dict.fromkeys(names, 7) | {"loss": 0.5}, {})))
    assert row["loss"] == 0.5 and all(row.get(name) is None for name in names)


def test_numbers_that_json_cannot_hold_come_back_as_numbers(tmp_path):
    store = Store(tmp_path / "store")
    put(store, {"d": 3}, {"loss": math.nan, "margin": -math.inf, "status": "diverged"}, {})
    (row,) = rows(store)
    assert math.isnan(row["loss"]) and row["margin"] == -math.inf
    export(store, tmp_path / "t.csv", "csv")
    (words,) = read_csv(tmp_path / "t.csv")
    assert (words["loss"], words["margin"]) == ("nan", "-inf")
    export(store, tmp_path / "t.parquet", "parquet")
    assert math.isnan(pyarrow.parquet.read_table(tmp_path / "t.parquet").to_pylist()[0]["loss"])


@pytest.mark.parametrize("formula", ["=1+1", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", '=cmd|" /c calc"!A0'])
def test_no_spreadsheet_runs_a_word_of_a_foreign_store(formula, tmp_path):
    store = Store(tmp_path / "store")
    put(store, {"zeta": -3, "law": formula}, {"status": formula, formula: 1}, {"host": formula})
    export(store, tmp_path / "t.csv", "csv")
    (words,) = read_csv(tmp_path / "t.csv")
    for name in ("law", "status", "run_host"):
        assert words[name] == f"'{formula}"
    assert f"'{formula}" in words and words["zeta"] == "-3"
    assert export(store, tmp_path / "t.parquet", "parquet") == 1


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
parts = st.dictionaries(
    st.sampled_from(["d", "p", "seed", "problem", "kappa", "form", "key", "protocol", "status"]) | st.text(max_size=4),
    scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.text(max_size=2), scalars, max_size=2),
    max_size=4,
)


@given(st.lists(st.tuples(parts, parts, parts), max_size=4))
def test_any_foreign_store_becomes_a_table(tmp_path_factory, found):
    """Whatever JSON can hold: columns of mixed kinds, numbers beyond 64 bits, missing values."""
    folder = tmp_path_factory.mktemp("foreign")
    store = Foreign(*(Record(key(number), *three) for number, three in enumerate(found)))
    table = rows(store)
    assert sorted(row["key"] for row in table) == sorted(key(number) for number in range(len(found)))
    assert len({tuple(row) for row in table}) <= 1
    assert export(store, folder / "t.csv", "csv") == export(store, folder / "t.parquet", "parquet") == len(found)
    assert len(read_csv(folder / "t.csv")) == len(found)
    read = pyarrow.parquet.read_table(folder / "t.parquet")
    assert read.num_rows == len(found) and read.column("key").to_pylist() == [row["key"] for row in table]


def test_half_characters_and_numbers_that_no_column_can_hold(tmp_path):
    store = Store(tmp_path / "store")
    put(store, {"d": 1, "law": "half \ud800"}, {"loss": 0.5, "half \udfff": 1}, {})
    put(store, {"d": 2, "law": "whole é"}, {"loss": 2**53 + 1, "zeta": 10**400}, {})
    export(store, tmp_path / "t.csv", "csv")
    export(store, tmp_path / "t.parquet", "parquet")
    for table in (read_csv(tmp_path / "t.csv"), pyarrow.parquet.read_table(tmp_path / "t.parquet").to_pylist()):
        assert [row["law"] for row in table] == [r"half \ud800", "whole é"] and r"half \udfff" in table[0]
        assert [row["loss"] for row in table] == ["0.5", "9007199254740993"] and table[1]["zeta"] == str(10**400)


def test_sorted_by_what_was_run_and_what_is_missing_last():
    specs = [{"d": 20, "p": 5}, {"d": 3, "p": 40}, {"d": 3, "p": 7}, {"d": "three"}, {}, {"d": 3, "p": 7, "kappa": 0.5}]
    specs += [{"d": math.nan, "p": 2}, {"d": math.inf}]
    store = Foreign(*(Record(key(number), spec, {}, {}) for number, spec in enumerate(specs)))
    order = [(row["d"], row["kappa"], row["p"]) for row in rows(store)]
    assert order[:6] == [
        (3, 0.5, 7), (3, None, 7), (3, None, 40), (20, None, 5), (math.inf, None, None), ("three", None, None),
    ]  # fmt: skip
    assert math.isnan(order[6][0]) and order[7] == (None, None, None)


@pytest.fixture
def small(tmp_path):
    store = Store(tmp_path / "store")
    put(store, {"d": 3}, {"loss": 0.5}, {})
    store.summaries()
    return store


def test_bad_formats_and_places(small, tmp_path):
    with pytest.raises(ValueError, match="format is 'xlsx', but must be one of csv, parquet"):
        export(small, tmp_path / "t.xlsx", "xlsx")
    with pytest.raises(FileNotFoundError, match="is not a folder: make it first"):
        export(small, tmp_path / "nowhere" / "t.csv", "csv")
    assert os.listdir(tmp_path) == ["store"]


def test_without_pyarrow_one_sentence_says_what_to_install(small, tmp_path):
    program = "import sys; sys.modules['pyarrow'] = None  # as if it were not installed\n"
    program += "from loadstone.cli.app import main\nmain()"
    command = [sys.executable, "-c", program, "export", "--store", small.folder, "--json", "--out"]
    done = subprocess.run([*command, tmp_path / "t.parquet"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stdout == "" and os.listdir(tmp_path) == ["store"]
    assert done.stderr == (
        "loadstone: format is 'parquet', but pyarrow is missing: pip install 'loadstone[parquet]'.\n"
    )
    done = subprocess.run([*command, tmp_path / "t.csv"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and json.loads(done.stdout)["records"] == 1


def test_a_full_disk_leaves_the_old_file(small, tmp_path):
    """A limit on the size of files is what a full disk looks like to a writer."""
    (tmp_path / "t.csv").write_text("old")
    program = "import resource, signal, sys\nfrom loadstone.runs.store import Store\n"
    program += "from loadstone.runs.export import export\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    program += "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\nexport(Store(sys.argv[1]), sys.argv[2], 'csv')"
    command = [sys.executable, "-c", program, small.folder, tmp_path / "t.csv"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "File too large" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["store", "t.csv"] and (tmp_path / "t.csv").read_text() == "old"


def test_csv_is_read_by_a_stranger(tmp_path):
    """Quotes, commas and line breaks inside words."""
    store, word = Store(tmp_path / "store"), 'a "b", c\r\nd\ne'
    put(store, {"law": word}, {}, {})
    export(store, tmp_path / "t.csv", "csv")
    assert next(csv.DictReader(io.StringIO((tmp_path / "t.csv").read_bytes().decode(), newline="")))["law"] == word


def test_a_result_cannot_speak_for_the_spec_or_the_circumstances():
    spec = {"d": 3, "p": 4, "form": "auto", "protocol": {"steps": 5}}
    result = {"d": 99, "form": "shared", "form_asked": "x", "key": "x", "protocol_steps": 99, "run_seconds": 99}
    (row,) = rows(Foreign(Record(key(1), spec, result, {"seconds": 0.5})))
    assert (row["d"], row["form"], row["form_asked"], row["key"]) == (3, "shared", "auto", key(1))
    assert (row["protocol_steps"], row["run_seconds"]) == (5, 0.5)


@pytest.mark.parametrize("values, kind", [
    ([True, None], "bool"), ([2**63 - 1, -(2**63)], "int64"), ([2**63, 0], "uint64"), ([2**64 - 1], "uint64"),
    ([2**64], "string"), ([2**63, -1], "string"), ([0.5, 2**53], "double"), ([0.5, -(2**53)], "double"),
    ([0.5, 2**53 + 1], "string"), ([True, 1], "string"), ([None], "string"), (["a", 1], "string"),
])  # fmt: skip
def test_a_column_has_the_narrowest_type_that_holds_it(values, kind, tmp_path):
    store = Foreign(*(Record(key(number), {}, {"zeta": value}, {}) for number, value in enumerate(values)))
    export(store, tmp_path / "t.parquet", "parquet")
    assert str(pyarrow.parquet.read_table(tmp_path / "t.parquet").schema.field("zeta").type) == kind


def test_parameters_of_a_solver_have_columns_of_their_own(tmp_path):
    store = Store(tmp_path)
    spec = Spec("original", 6, 9, solver="sgd", parameters={"learning_rate": 0.5}, stop="exact")
    store.put(*perform([spec]))
    (row,) = rows(store)
    assert row["solver"] == "sgd" and row["solver_learning_rate"] == 0.5 and row["stop"] == "exact"
    assert row["protocol_steps"] is None and row["key"] == spec.key
