"""Facts and vectors from every kind of file: the same facts, and a sentence for each thing that is wrong."""

import csv
import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from loadstone.books.gathered import gather, look_up
from loadstone.books.reading import Pair, pairs_of
from loadstone.books.spelling import nearest, spellings, words_of
from loadstone.books.storing import remember
from loadstone.books.vectors import read_vectors

PAIRS = [("France", "Paris"), ("Côte d'Ivoire", 'Yamous"soukro'), ("New Zealand", "Wellington"), ("Chad", "N'Djamena")]
WORDS = ["france", "Paris", "Côte", "d'Ivoire", 'Yamous"soukro', "new", "zealand", "Wellington", "Chad", "N'Djamena"]
VECTORS = np.random.default_rng(0).standard_normal((len(WORDS), 7)).astype("f")
TABLE = dict(zip(WORDS, VECTORS))


def write_csv(path, pairs=PAIRS, header=("subject", "object"), delimiter=","):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows([header, *pairs])
    return path


def facts_file(kind, folder):
    path = folder / f"facts.{kind}"
    if kind in ("csv", "tsv"):
        return write_csv(path, delimiter="," if kind == "csv" else "\t")
    if kind == "jsonl":
        path.write_text("\n".join(json.dumps({"subject": a, "object": b, "more": 1}) for a, b in PAIRS) + "\n\n")
    else:
        import pyarrow as arrow
        from pyarrow import parquet

        parquet.write_table(arrow.table({"subject": [a for a, _ in PAIRS], "object": [b for _, b in PAIRS]}), path)
    return path


def vectors_file(kind, folder):
    path = folder / f"vectors.{kind}"
    lines = [" ".join([word, *(repr(float(x)) for x in row)]) for word, row in TABLE.items()]
    if kind == "txt":
        path.write_text("\n".join(lines), encoding="utf-8")
    elif kind == "vec":
        path.write_text("\n".join([f"{len(WORDS)} 7", *lines, ""]), encoding="utf-8")
    elif kind == "bin":
        entries = [word.encode() + b" " + row.astype("<f4").tobytes() + b"\n" for word, row in TABLE.items()]
        path.write_bytes(f"{len(WORDS)} 7\n".encode() + b"".join(entries))
    elif kind == "npz":
        np.savez(path, words=np.array(WORDS), vectors=VECTORS)
    else:
        np.save(path, VECTORS) if kind == "npy" else save_file({"table": VECTORS, "bias": VECTORS[0]}, path)
        path.with_suffix(".txt").write_text("\n".join(WORDS), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_every_kind_of_table_has_the_same_facts(kind, tmp_path):
    found = list(pairs_of(facts_file(kind, tmp_path)))
    assert [pair[:2] for pair in found] == PAIRS
    # Of a Parquet file the number of the row, of text that of the line, which a header moves.
    first = 2 if kind in ("csv", "tsv") else 1
    assert [pair.line for pair in found] == list(range(first, first + len(PAIRS)))


@pytest.mark.parametrize("kind", ["txt", "vec", "bin", "npz", "npy", "safetensors"])
def test_every_kind_of_file_has_the_same_vectors(kind, tmp_path):
    found = read_vectors(vectors_file(kind, tmp_path), {"Paris", "new", "nowhere"})
    assert found.keys() == {"Paris", "new"}
    for word, vector in found.items():
        assert vector.dtype == np.float32 and np.array_equal(vector, TABLE[word])


def test_python_objects_are_sources_too():
    frame = pytest.importorskip("pyarrow").table({"a": [1990, 2], "b": ["x", " y "]})
    assert list(pairs_of(frame, ("a", "b"))) == [Pair("1990", "x", 1), Pair("2", "y", 2)]
    assert [pair[:2] for pair in pairs_of(dict(PAIRS))] == [pair[:2] for pair in pairs_of(iter(PAIRS))] == PAIRS

    class Frame:  # what pandas and polars have in common
        columns = frame.column_names

        def __getitem__(self, name):
            column = frame[name]
            column_list = type("Column", (), {"to_list": lambda self: column.to_pylist()})
            return column_list()

    assert list(pairs_of(Frame(), ("a", "b"))) == [Pair("1990", "x", 1), Pair("2", "y", 2)]
    assert read_vectors(TABLE.get, {"Paris", "nowhere"}).keys() == {"Paris"}


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_tables_of_pandas_and_polars_where_they_are_installed(kind):
    library = pytest.importorskip(kind)
    columns = {"subject": [one for one, _ in PAIRS], "object": [one for _, one in PAIRS]}
    frame = library.DataFrame(columns)
    assert [pair[:2] for pair in pairs_of(frame)] == PAIRS
    if kind == "polars":
        assert list(pairs_of(frame.lazy())) == list(pairs_of(frame))
    nothing = library.NA if kind == "pandas" else None
    with pytest.raises(ValueError, match="line 2 of the table has no answer"):
        list(pairs_of(library.DataFrame({"subject": ["a", "b"], "object": ["c", nothing]})))


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1))
def test_strange_names_survive_a_csv(tmp_path_factory, pairs):
    pairs = [(a.strip(), b.strip()) for a, b in pairs]
    pairs = [
        pair for pair in pairs if all(pair) and not any(c in "\0" or "\ud800" <= c <= "\udfff" for c in "".join(pair))
    ]
    pairs = [(f'"{a},\n{a}', b * 300) for a, b in pairs]
    path = write_csv(tmp_path_factory.getbasetemp() / "strange.csv", pairs)
    assert [pair[:2] for pair in pairs_of(path)] == [(a.strip(), b.strip()) for a, b in pairs]


BAD_FACTS = {
    "columns missing": (
        "a.csv",
        "name,capital\nx,y\n",
        "column 'subject' is not there in a.csv, which has name, capital",
    ),
    "empty cell": ("a.csv", "subject,object\nx,y\n\nz, \n", "line 4 of a.csv has no answer"),
    "short line": ("a.csv", "subject,object\nx\n", "line 2 of a.csv has no answer"),
    "open quote": ("a.csv", 'subject,object\n"x,y\n', "of a.csv cannot be read"),
    "encoding": ("a.csv", "subject,object\nx,y\nx,é\n".encode("latin-1"), "line 3 of a.csv is not UTF-8 text"),
    "an empty file": ("a.csv", "", "a.csv has nothing in its first line, which must name its columns"),
    "no json": ("a.jsonl", '{"subject": "x", "object": "y"}\n{"sub', "line 2 of a.jsonl cannot be read"),
    "half an object": ("a.jsonl", '{"subject": "x"\n', "line 1 of a.jsonl cannot be read (Expecting ',' delimiter at"),
    "no object": ("a.jsonl", "[1, 2]\n", "line 1 of a.jsonl must be an object with 'subject' and 'object'"),
    "a list": ("a.jsonl", '{"subject": ["x"], "object": "y"}', "line 1 of a.jsonl has ['x'] as its subject"),
    "no parquet": ("a.parquet", "PAR1", "cannot be read"),
    "ending": ("a.xls", "", "facts is"),
    "nothing": ("a.csv", "subject,object\n", "there is no fact"),
    "no vector": ("a.csv", "subject,object\nx,y\n", "none of the 1 facts has vectors on both sides"),
    "one answer": ("a.csv", "subject,object\nfrance,Paris\nChad,Paris\n", "every fact has the answer 'Paris'"),
}


@pytest.mark.parametrize("name", BAD_FACTS)
def test_what_is_wrong_with_facts_is_said_with_its_line(name, tmp_path):
    file, text, sentence = BAD_FACTS[name]
    (tmp_path / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError) as error:
        gather(tmp_path / file, TABLE)
    assert sentence in str(error.value) and "\n" not in str(error.value)


BAD_VECTORS = {
    "not finite": ("v.txt", b"a 1 nan\n", "the vector of 'a' (line 1 of v.txt) has numbers that are not finite"),
    "zeros": ("v.txt", b"a 0 0\n", "has only zeros"),
    "lengths": ("v.txt", b"a 1 2\nb 1 2 x\n", "line 2 of v.txt has 'b' without a vector of 2 numbers"),
    "too many": ("v.txt", b"a 1 2\nb 1 2 3\n", "line 2 of v.txt has 'b' without a vector of 2 numbers"),
    "too few": ("v.txt", b"a 1 2\nb 1\n", "line 2 of v.txt has 'b' without a vector of 2 numbers"),
    "twice": ("v.txt", b"a 1 2\na 1 3\n", "the word 'a' (line 2 of v.txt) is there twice"),
    "no numbers": ("v.txt", b"a 1 2\nb\n", "line 2 of v.txt has no numbers"),
    "short binary": ("v.bin", b"2 3\na " + bytes(12), "v.bin is damaged: it is too short for 2 vectors of 3"),
    "binary that ends": ("v.bin", b"1 1\na 12", "v.bin is damaged: it ends within entry 1"),
    "binary without a word": ("v.bin", b"1 1\nabcdef", "v.bin is damaged: entry 1 has no word"),
    "no binary": ("v.bin", b"hello", "begins with two whole numbers"),
    "no archive": ("v.npz", b"PK", "it is a damaged archive"),
    "no array": ("v.npy", b"x", "an .npy with one vector a row"),
    "no tensors": ("v.safetensors", b"x", "a safetensors file"),
}


@pytest.mark.parametrize("name", BAD_VECTORS)
def test_what_is_wrong_with_vectors_is_said_with_its_word(name, tmp_path):
    file, raw, sentence = BAD_VECTORS[name]
    (tmp_path / file).write_bytes(raw)
    with pytest.raises(ValueError) as error:
        read_vectors(tmp_path / file, {"a", "b"})
    assert sentence in str(error.value) and "\n" not in str(error.value)


def test_a_word_may_have_blanks_and_an_empty_line_is_none(tmp_path):
    (tmp_path / "v.txt").write_bytes(b"a 5 6\nat name@domain.com 1 2\n\n. . . 3 4\nat 7 8\n")
    found = read_vectors(tmp_path / "v.txt", {"at name@domain.com", ". . .", "a", "at"})
    assert {word: vector.tolist() for word, vector in found.items()} == {
        "at name@domain.com": [1, 2], ". . .": [3, 4], "a": [5, 6], "at": [7, 8],
    }  # fmt: skip


def test_tables_that_are_none_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", words=np.array(["a"]), numbers=VECTORS[:1])
    np.savez(tmp_path / "square.npz", words=np.array([["a"]]), vectors=VECTORS[:1])
    np.savez(tmp_path / "bytes.npz", words=np.array([1]), vectors=VECTORS[:1])
    for name in ("other", "square", "bytes"):
        with pytest.raises(ValueError, match="an .npz with 'words'"):
            read_vectors(tmp_path / f"{name}.npz", {"a"})
    save_file({"one": VECTORS, "two": VECTORS}, tmp_path / "v.safetensors")
    (tmp_path / "v.txt").write_text("a\n")
    with pytest.raises(ValueError, match="one table of vectors, or one called 'vectors' .one, two."):
        read_vectors(tmp_path / "v.safetensors", {"a"})
    np.save(tmp_path / "w.npy", VECTORS[:1])
    (tmp_path / "w.txt").write_bytes("é\n".encode("latin-1"))
    with pytest.raises(ValueError, match="w.txt is not UTF-8 text"):
        read_vectors(tmp_path / "w.npy", {"a"})
    with pytest.raises(ValueError, match="vectors is 'int', but must be a file, a mapping from words to vectors"):
        read_vectors(3, {"a"})
    for vector, sentence in (
        ([[1.0]], "must be a list of real numbers"),
        ([1, [2]], "is not a list of numbers"),
        ([], "must be a list of real numbers"),
        (["x"], "must be a list of real numbers"),
    ):
        with pytest.raises(ValueError, match=sentence):
            read_vectors({"a": vector}, {"a"})


def test_numbers_without_words_and_words_without_numbers(tmp_path):
    np.save(tmp_path / "v.npy", VECTORS)
    with pytest.raises(ValueError, match="words is None, but must be a text file with one word a line"):
        read_vectors(tmp_path / "v.npy", {"a"})
    (tmp_path / "w.txt").write_text("a\nb\n")
    with pytest.raises(ValueError, match="has vectors of shape .10, 7., but 2 words go with them"):
        read_vectors(tmp_path / "v.npy", {"a"}, tmp_path / "w.txt")
    with pytest.raises(ValueError, match="words is .* left out, because v.npz has its words in it"):
        read_vectors(tmp_path / "v.npz", {"a"}, tmp_path / "w.txt")
    with pytest.raises(ValueError, match="the vector of 'b' has 2 numbers, but others have 3"):
        read_vectors({"a": [1, 2, 3], "b": [1, 2]}.get, ["a", "b"])


@pytest.mark.parametrize("columns", [("a",), ("a", "a"), ("a", ""), ("a", 3), ("a", "b", "c")])
def test_columns_are_two_different_names(columns):
    with pytest.raises(ValueError, match="columns is .* but must be two different names"):
        list(pairs_of({"x": "y"}, columns))


@pytest.mark.parametrize("wrong", ["ab", ["a"], 3, None])
def test_a_pair_has_a_subject_and_an_answer(wrong):
    with pytest.raises(ValueError, match=r"facts\[1\] is .* but must be a subject and an answer"):
        list(pairs_of([("a", "b"), wrong]))
    assert list(pairs_of([("a", "b", "more"), ["c", "d"]])) == [Pair("a", "b"), Pair("c", "d")]


def test_lines_are_counted_as_an_editor_does(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes('\ufeffobject , more,subject\r\n"x\ny",1,a\r\n\r\n , ,\r\nz,2,b,3\r\n'.encode())
    assert list(pairs_of(path)) == [Pair("a", "x\ny", 3), Pair("b", "z", 6)]
    lines = tmp_path / "a.jsonl"
    lines.write_bytes('\ufeff{"subject": 1, "object": 2.5}\n \n{"object": "y", "subject": " x "}'.encode())
    assert list(pairs_of(lines)) == [Pair("1", "2.5", 1), Pair("x", "y", 3)]
    for column in ("subject,object,subject", "object,object,subject"):
        path.write_text(f"{column}\nx,y,z\n")
        with pytest.raises(ValueError, match="is there twice in a.csv"):
            list(pairs_of(path))
    many = [f"c{number}" for number in range(25)]
    path.write_text(",".join(many))
    with pytest.raises(ValueError, match=f"which has {', '.join(many[:20])}: name two of them"):
        list(pairs_of(path))


@pytest.mark.parametrize("value, sentence", [
    (True, "has True as its answer, but must have a text or a number"), (["x"], "has .'x'. as its answer"),
    (None, "has no answer"), (float("nan"), "has no answer"), ("  ", "has no answer"),
])  # fmt: skip
def test_what_is_no_text_is_no_answer(value, sentence):
    with pytest.raises(ValueError, match=f"^facts {sentence}"):
        list(pairs_of({"a": value}))


def test_a_line_that_cannot_be_read_is_quoted_in_short(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('subject,object\na,b\nc,"d"e\n')
    with pytest.raises(ValueError, match="line 3 of a.csv cannot be read .',' expected after"):
        list(pairs_of(path))
    path.write_text("subject,object\na,b\n" + 'x,"' + "y" * 200_000 + '"\n')
    with pytest.raises(ValueError, match="line 3 of a.csv cannot be read .field larger than field limit"):
        list(pairs_of(path))
    path.write_bytes(b"subject,object\xff\na,b\n")
    with pytest.raises(ValueError, match="line 1 of a.csv is not UTF-8 text"):
        list(pairs_of(path))
    with pytest.raises(FileNotFoundError):
        list(pairs_of(tmp_path / "none.parquet"))
    long = json.dumps({"subject": "x"})[:-1] + " " * 300 + "?"
    (tmp_path / "b.jsonl").write_text(long)
    with pytest.raises(ValueError, match=r"\(Expecting ',' delimiter at column 316\)\.$"):
        list(pairs_of(tmp_path / "b.jsonl"))


def test_facts_that_are_left_out_and_repeated_are_counted():
    pairs = [("France", "Paris"), ("Atlantis", "Paris"), ("France", "Paris"), ("Chad", "Lost City"), ("Chad", "Paris"),
             ("Chad", "Wellington"), ("Atlantis", "Paris")]  # fmt: skip
    found = gather(pairs, TABLE)
    assert found.subjects == ("France", "Chad", "Chad") and found.targets.tolist() == [0, 0, 1] and found.repeated == 2
    assert found.answers == ("Paris", "Wellington") and len(found) == 3 and found.name(2) == "Chad -> Wellington"
    assert found.left_out == (Pair("Atlantis", "Paris"), Pair("Chad", "Lost City"))
    assert found.missing == (("Atlantis", ("Atlantis",)), ("Lost City", ("Lost", "City")))
    problem = found.problem([2, 0])
    assert problem.targets.tolist() == [1, 0] and problem.inputs.shape == (2, 7) and problem.outputs.shape == (2, 7)
    exact = gather(PAIRS, TABLE, phrases="exact")
    assert exact.subjects == ("France", "Chad") and dict(exact.missing).keys() == {"Côte d'Ivoire", "New Zealand"}
    assert gather(pairs[:1], TABLE, least_answers=1).answers == ("Paris",)
    many = [(f"nowhere {number}", "x") for number in range(9)]
    shown = "'nowhere 0', 'x', 'nowhere 1', 'nowhere 2', 'nowhere 3'.$"
    with pytest.raises(ValueError, match=f"none of the 9 facts has vectors .* for example, {shown}"):
        gather(many, TABLE)


def test_a_mean_of_words_is_one_of_all_its_words():
    table = {"new": [1.0, 0.0], "york": [0.0, 3.0], "New_York": [9.0, 9.0], "x": np.float32([1, 2]), "y": [5.0, 5.0]}
    found = gather([("New York", "x"), ("new-york", "y"), ("new, york/x", "y")], table)
    assert found.inputs[0].tolist() == [9, 9] and found.inputs[1].tolist() == [0.5, 1.5]
    assert found.averaged == ("new-york", "new, york/x")
    np.testing.assert_allclose(found.inputs[2], [2 / 3, 5 / 3])
    # It has the digits of the word with most.
    for name in ("x new", "new x"):
        assert look_up([name], table, "mean", None).vectors[name].dtype == np.float64
    assert look_up(["x x"], table, "mean", None).vectors["x x"].dtype == np.float32


def test_a_header_is_no_word_and_a_word_may_be_a_number(tmp_path):
    path = tmp_path / "v.vec"
    path.write_bytes(b"3 2\n3 1 2\n2 3 4\nx 5 6\n")
    found = read_vectors(path, {"3", "2", "x"})
    assert {word: vector.tolist() for word, vector in found.items()} == {"3": [1, 2], "2": [3, 4], "x": [5, 6]}
    path.write_bytes(b"x\t5\t6\n")
    assert read_vectors(path, {"x"})["x"].tolist() == [5, 6]
    path.write_bytes(b"7 5\nx 6\n")  # without a header: vectors of one number, and the first line looks like one
    with pytest.raises(ValueError, match="line 2 of v.vec has 'x' without a vector of 5 numbers"):
        read_vectors(path, {"7", "x"})
    path.write_bytes(b"x 6\n7 5\n")
    assert read_vectors(path, {"7", "x"})["7"].tolist() == [5]


def test_a_binary_file_is_as_long_as_it_says(tmp_path):
    path = tmp_path / "v.bin"
    entries = b"".join(word + b" " + np.float32([n, n + 1]).tobytes() for n, word in enumerate((b"a", b"\nb", b"c"), 1))
    path.write_bytes(b"3 2\n" + entries)
    assert {word: vector.tolist() for word, vector in read_vectors(path, {"a", "b", "c"}).items()} == {
        "a": [1, 2], "b": [2, 3], "c": [3, 4],
    }  # fmt: skip
    path.write_bytes(b"2 2\n" + entries)  # what follows is not read
    assert read_vectors(path, {"a", "b", "c"}).keys() == {"a", "b"}
    path.write_bytes(b"3 2\n" + entries[:-1])
    with pytest.raises(ValueError, match="v.bin is damaged: it ends within entry 3"):
        read_vectors(path, {"a"})
    path.write_bytes(b"1 1\n" + b"x" * 10_000 + b" " + np.float32([1]).tobytes())
    assert len(read_vectors(path, {"x" * 10_000})) == 1
    path.write_bytes(b"1 1\n" + b"x" * 10_001 + b" " + np.float32([1]).tobytes())
    with pytest.raises(ValueError, match="entry 1 has no word"):
        read_vectors(path, {"x"})
    path.write_bytes(b"1 3 2\n" + entries)
    with pytest.raises(ValueError, match="begins with two whole numbers"):
        read_vectors(path, {"a"})


def test_numbers_of_all_kinds_become_vectors():
    found = read_vectors({"a": [1, 2], "b": np.float16([1, 2]), "c": np.uint8([1, 2])}, "abc")
    assert {vector.dtype.name for vector in found.values()} == {"float32"}
    assert read_vectors({"a": [1.0, 2.0]}, {"a"})["a"].dtype == np.float64
    for wrong in ([True, False], [1j], [1.0, np.inf], [0, 0]):
        with pytest.raises(ValueError, match="the vector of 'a'"):
            read_vectors({"a": wrong}, {"a"})


LONG = np.longdouble(1) + np.finfo(np.longdouble).eps
CLOSE = {"text": b"a 1 0\nb 1.000000001 0\n", "integers": np.array([[2**24, 1], [2**24 + 1, 1]]),
         "long doubles": np.array([[1, 0], [1 + 1e-9, 0]], np.longdouble), "half": np.float16([[1, 0], [1.001, 0]]),
         "single": np.float32([[1, 0], [1 + 1e-7, 0]]), "small": np.uint8([[1, 0], [2, 0]])}  # fmt: skip


@pytest.mark.parametrize("kind", CLOSE)
@pytest.mark.parametrize("suffix", [".npy", ".npz", "mapping"])
def test_no_number_is_rounded(kind, suffix, tmp_path):
    """Vectors that differ in their ninth digit were the same once they were read."""
    given = CLOSE[kind]
    if isinstance(given, bytes):
        source, given = tmp_path / "v.txt", np.array([[1, 0], [1.000000001, 0]])
        source.write_bytes(CLOSE[kind])
    elif suffix == "mapping":
        source = dict(zip("ab", given))
    else:
        source = tmp_path / f"v{suffix}"
        np.save(source, given) if suffix == ".npy" else np.savez(source, words=np.array(["a", "b"]), vectors=given)
        (tmp_path / "v.txt").write_text("a\nb\n")
    found = read_vectors(source, "ab")
    assert found["a"].tolist() == given[0].tolist() and found["b"].tolist() == given[1].tolist()
    has_few_digits = kind in ("half", "single", "small")
    assert found["b"].dtype == (np.float32 if has_few_digits else np.float64)


@pytest.mark.parametrize("given", [
    pytest.param(np.array([[1, 2**53 + 1]]), id="whole"), pytest.param(np.array([[1, 2**63 + 1]], np.uint64), id="u8"),
    pytest.param([[1.5, 2**53 + 1]], id="list"),
    pytest.param(np.array([[1, LONG]]), id="long"),
])  # fmt: skip
def test_numbers_that_no_float64_is_are_refused(given, tmp_path):
    if float(LONG) == LONG and isinstance(given, np.ndarray) and given.dtype == np.longdouble:
        pytest.skip("long doubles are no longer than others here")
    with pytest.raises(ValueError, match=r"the vector of 'a'.* must be a number that float64 holds exactly"):
        read_vectors({"a": given[0]}, {"a"})


def test_whole_numbers_in_text_are_held_or_refused(tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes(b"a 9007199254740992 1\nb -9007199254740993 1\nc 9007199254740993.5 1e300\n")
    assert read_vectors(path, {"a"})["a"].tolist() == [2**53, 1]
    assert read_vectors(path, {"c"})["c"].tolist() == [9007199254740994, 1e300]  # the nearest, as for all fractions
    with pytest.raises(ValueError, match="line 2 of v.txt has -9007199254740993 for 'b', which no float64 is: give"):
        read_vectors(path, {"b"})


def test_a_file_may_begin_with_a_byte_order_mark_and_its_lines_end_in_any_way(tmp_path):
    path = tmp_path / "v.txt"
    for text in ("\ufeffa 1 2\r\nb 3 4\r\n", "\ufeff2 2\na 1 2\nb 3 4"):
        path.write_text(text, encoding="utf-8", newline="")
        assert {word: vector.tolist() for word, vector in read_vectors(path, "ab").items()} == {
            "a": [1, 2],
            "b": [3, 4],
        }
    for encoding in ("utf-16", "utf-16-be"):
        path.write_bytes("\ufeffa 1 2\n".encode(encoding))
        with pytest.raises(ValueError, match="v.txt is not UTF-8 text: save the file as UTF-8"):
            read_vectors(path, {"a"})
    np.save(tmp_path / "v.npy", np.float32([[1, 2], [3, 4], [5, 6]]))
    path.write_bytes("\ufeffa\r\nline\u2028break\r\nb\r\n".encode())
    assert read_vectors(tmp_path / "v.npy", {"b", "line\u2028break"})["b"].tolist() == [5, 6]


@pytest.mark.parametrize("asked", ["caf\u00e9", "cafe\u0301", "CAFE\u0301"])
@pytest.mark.parametrize("told", ["caf\u00e9", "cafe\u0301"])
@pytest.mark.parametrize("known", ["caf\u00e9", "cafe\u0301"])
def test_an_accent_is_the_same_in_one_character_or_two(asked, told, known):
    vectors = {known: [1.0, 0.0], "tea": [0.0, 1.0], "x": [1.0, 0.5], "y": [0.0, 1.0]}
    book = remember({told: "x", "tea": "y"}, vectors)
    assert book.recall(asked)[0].answer == "x" and book.subjects == ("caf\u00e9", "tea")
    as_before = replace(book, subjects=("cafe\u0301", "tea"))  # as older versions wrote it
    assert as_before.recall(asked)[0].answer == "x"
    for changed in (book, as_before):
        assert changed.edit({asked: "y", "tea": "x"}).book.recall(asked)[0].answer == "y"
    both = gather([("cafe\u0301", "x"), ("caf\u00e9", "x"), ("tea", "y")], vectors)
    assert both.repeated == 1 and len(both) == 2


def test_half_a_character_is_no_name(tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text('{"subject": "\\ud83d\\ude00", "object": "y"}\n{"subject": "x\\ud800", "object": "y"}\n')
    facts = pairs_of(path)
    assert next(facts).subject == "\U0001f600"
    with pytest.raises(
        ValueError, match=r"line 2 of f.jsonl has 'x\\ud800' as its subject, but half a character is no"
    ):
        next(facts)


def test_a_table_called_vectors_comes_first_and_words_may_lie_elsewhere(tmp_path):
    save_file({"one": VECTORS, "vectors": 2 * VECTORS}, tmp_path / "v.safetensors")
    (tmp_path / "list").write_text("\ufeff" + "\n".join(WORDS))
    found = read_vectors(tmp_path / "v.safetensors", {"france", "Paris"}, tmp_path / "list")
    assert np.array_equal(found["france"], 2 * VECTORS[0]) and np.array_equal(found["Paris"], 2 * VECTORS[1])
    np.save(tmp_path / "flat.npy", VECTORS.ravel())
    with pytest.raises(ValueError, match=r"has vectors of shape \(70,\), but 10 words"):
        read_vectors(tmp_path / "flat.npy", {"x"}, tmp_path / "list")
    np.savez(tmp_path / "twice.npz", words=np.array(["a", "b", "a"]), vectors=np.float32([[1], [2], [1]]))
    assert read_vectors(tmp_path / "twice.npz", {"a"})["a"].tolist() == [1]  # twice the same is no contradiction
    np.savez(tmp_path / "twice.npz", words=np.array(["a", "b", "a"]), vectors=np.float32([[1], [2], [3]]))
    with pytest.raises(ValueError, match=r"'a' \(row 2 of twice.npz\) is there twice"):
        read_vectors(tmp_path / "twice.npz", {"a"})


def test_spellings_are_tried_from_the_most_faithful_on():
    assert spellings("New  York") == ["New  York", "New_York", "new  york", "new_york"]
    assert spellings("Cafe\u0301") == ["Cafe\u0301", "Caf\u00e9", "caf\u00e9", "cafe\u0301"]
    assert spellings("Caf\u00e9") == ["Caf\u00e9", "caf\u00e9", "Cafe\u0301", "cafe\u0301"] and spellings("a") == ["a"]
    assert words_of("New-York_City") == ["New", "York", "City"] and words_of("-New ") == [] == words_of("")
    assert nearest("x" * 200 + "y", ["x" * 200]) == "x" * 200 and nearest("a", []) is None
    known = ["France", "Germany", "Côte d'Ivoire"]
    assert [nearest(name, known) for name in ("france", "Germny", "cote d'ivoire", "x" * 10_000)] == [*known, None]


@pytest.mark.parametrize("kind", ["txt", "bin"])
def test_progress_is_told_how_far_a_large_file_is_read(kind, tmp_path):
    path, table = tmp_path / f"v.{kind}", np.eye(3, dtype="<f4")[np.arange(11_000) % 3] + 1
    numbers = [" ".join(map(str, row)).encode() if kind == "txt" else row.tobytes() for row in table]
    entries = b"".join(f"w{row} ".encode() + number + b"\n" for row, number in enumerate(numbers))
    path.write_bytes((b"11000 3\n" if kind == "bin" else b"") + entries)
    told = []
    found = read_vectors(path, {"w7", "w10999"}, progress=lambda *given: told.append(given))
    assert set(found) == {"w7", "w10999"} and np.array_equal(found["w10999"], table[10_999])
    done, words = zip(*told)
    assert 0 < done[0] < done[-1] <= path.stat().st_size and set(words) == {f"bytes of {path.name} are read"}


def test_a_plan_for_a_table_is_carried_out_and_parquet_needs_its_library(tmp_path, monkeypatch):
    column = SimpleNamespace(to_list=lambda: ["a", "b"])
    table = type("Table", (), {"columns": ["subject", "object"], "__getitem__": lambda self, name: column})
    assert list(pairs_of(SimpleNamespace(collect=table))) == [Pair("a", "a", 1), Pair("b", "b", 2)]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match="facts.parquet is Parquet, which needs pyarrow: pip install pyarrow"):
        list(pairs_of(tmp_path / "facts.parquet"))
