"""loadstone facts edit: a new book with what was taken and lost, and one sentence for whatever is wrong."""

import json
import stat

import numpy as np
import pytest

from loadstone.books.book import open_book
from loadstone.books.editing import edit
from loadstone.books.storing import remember

N, D = 14, 7
VECTORS = dict(
    zip([f"s{i}" for i in range(N)] + [f"a{i}" for i in range(N)], np.random.default_rng(3).standard_normal((2 * N, D)))
)


@pytest.fixture
def files(tmp_path):
    lines = [" ".join([word, *map(repr, map(float, vector))]) for word, vector in VECTORS.items()]
    (tmp_path / "v.txt").write_text("\n".join(lines))
    table = {word: np.float32(vector) for word, vector in VECTORS.items()}
    remember([(f"s{i}", f"a{i}") for i in range(10)], table).save(tmp_path / "b.safetensors")
    (tmp_path / "c.csv").write_text("who,what,action\nS1,a2,\ns10,a10,add\ns3,,remove\nnobody,a1,\n")
    rows = [{"subject": "s1", "object": "a2"}, {"subject": "s3", "object": None, "change": "Remove"}]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


@pytest.mark.parametrize("method", ["refit", "rank-one", "batch"])
def test_a_new_book_is_written_and_the_old_one_stays(method, command, files):
    before = (files / "b.safetensors").read_bytes()
    done = command("facts", "edit", "b.safetensors", "c.csv", "--columns", "who,what", "--vectors", "v.txt", "--json",
                   "--method", method, "--out", "new.safetensors", cwd=files)  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["edits"] == 3 and found["method"] == method and found["out"] == "new.safetensors"
    assert sorted(found["taken"] + found["missed"]) == ["add s10 -> a10", "change s1 -> a2", "remove s3"]
    assert found["kept"] + len(found["lost"]) == 8 and found["facts"] == 10 and found["d"] == D
    assert found["out_of_vocabulary"] == ["nobody"] and found["left_out"] == ["nobody -> a1"]
    assert "1 name has no vector, and 1 change is left out: nobody." in done.stderr
    book = open_book(files / "new.safetensors")
    assert found["stored"] == book.stored.sum() and book.about["edits"][0]["method"] == method
    if method == "refit":
        assert found["proved"] and not found["missed"] and not found["lost"] and book.stored.all()
    assert (files / "b.safetensors").read_bytes() == before


def test_people_read_what_was_taken_and_what_was_lost(command, files):
    done = command("facts", "edit", "b.safetensors", "c.jsonl", "--out", "b.safetensors", cwd=files)
    assert done.stdout.startswith("took 2 of 2 edits, lost 0 of 8 old facts (proved), by refit in ")
    assert open_book(files / "b.safetensors").recall("s1")[0].answer == "a2"  # written over, since it was named
    (files / "many.csv").write_text("subject,object\n" + "".join(f"s{i},a{i}\n" for i in range(10, 14)))
    arguments = ["b.safetensors", "many.csv", "--vectors", "v.txt", "--method", "batch", "--old", "0.001"]
    done = command("facts", "edit", *arguments, cwd=files)
    lost = [line for line in done.stdout.splitlines() if line.startswith("  lost: s")]
    assert f"took 4 of 4 edits, lost {len(lost)} of 9 old facts" in done.stdout and lost
    assert "The new book was not written: name a file with --out." in done.stderr
    assert not (files / "new.safetensors").exists()


def test_an_edit_in_place_keeps_permissions_and_a_link(command, files):
    (files / "b.safetensors").chmod(0o600)
    (files / "link").symlink_to("b.safetensors")
    done = command("facts", "edit", "b.safetensors", "c.jsonl", "--out", "link", cwd=files)
    assert done.returncode == 0 and (files / "link").is_symlink()
    assert stat.S_IMODE((files / "b.safetensors").stat().st_mode) == 0o600
    assert open_book(files / "b.safetensors").recall("s1")[0].answer == "a2"


def test_of_two_edits_in_place_at_once_none_is_lost(command, files, monkeypatch):
    """The second has read the book before the first has written it: it is told to start again."""
    (files / "d.csv").write_text("subject,object\ns5,a6\n")
    in_place = ("facts", "edit", "b.safetensors", "d.csv", "--out", "b.safetensors")
    other = open_book(files / "b.safetensors").edit({"S1": "a2"}).book

    def edit_meanwhile(*arguments):
        other.save(files / "b.safetensors")
        return edit(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr("loadstone.books.editing.edit", edit_meanwhile)
        done = command(*in_place, cwd=files)
    assert done.returncode == 2 and done.stderr.splitlines()[-1] == (
        "loadstone: b.safetensors has changed since it was read, and was left as it is: start again."
    )
    assert open_book(files / "b.safetensors").recall("s1")[0].answer == "a2"
    assert command(*in_place).returncode == 0
    book = open_book(files / "b.safetensors")
    assert [book.recall(name)[0].answer for name in ("s1", "s5")] == ["a2", "a6"]


def test_when_time_is_up_it_is_said(command, files):
    done = command("facts", "edit", "b.safetensors", "c.jsonl", "--seconds", "1e-9", "--json", cwd=files)
    assert json.loads(done.stdout)["proved"] is False and "with more --seconds, more facts may be kept" in done.stderr


def test_twenty_of_each_kind_are_named_and_json_has_all(command, folder):
    """A batch of thirty edits at once, of which three dimensions hold a few."""
    command("facts", "store", "many.csv", "--vectors", "w.txt", "--out", "many.book", cwd=folder)
    rotated = [f"s{number},a{(number + 1) % 30}\n" for number in range(30)]
    (folder / "rotated.csv").write_text("subject,object\n" + "".join(rotated[:28]))
    asked = ("facts", "edit", "many.book", "rotated.csv", "--method", "batch")
    known = json.loads(command(*asked, "--json").stdout)
    done = command(*asked)
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"took {len(known['taken'])} of 28 edits, lost {len(known['lost'])} of ")
    assert [line for line in lines if "  not taken: " in line] == [
        f"  not taken: {one}" for one in known["missed"][:20]
    ]
    assert [line for line in lines if "  stored now: " in line] == [
        f"  stored now: {one}" for one in known["gained"][:20]
    ]
    assert len(known["missed"]) > 20 and lines[-1] == "  and more (--json has them all)"
    few = command("facts", "edit", "b.book", "c.csv", "--vectors", "v.txt", "--method", "batch")
    assert "and more" not in few.stdout
