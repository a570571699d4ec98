"""The study of docs/extending.md: its very code, added as the document says, and run by the command."""

import ast
import json
import re
import sys
from pathlib import Path

import pytest

import loadstone.studies
from loadstone.runs.result import perform
from loadstone.runs.store import Store
from loadstone.studies.registry import STUDIES, study_of

DOCUMENT = Path(__file__).parents[2] / "docs" / "extending.md"


@pytest.fixture
def added(tmp_path, monkeypatch):
    """The file of the document in a folder where `loadstone.studies` is looked for, and its line in the registry."""
    section = DOCUMENT.read_text().partition("## A study\n")[2].partition("\n## ")[0]
    code, line = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    name = re.search(r"`src/loadstone/studies/(\w+)\.py`", section)[1]
    (tmp_path / "rooms").mkdir()
    (tmp_path / "rooms" / f"{name}.py").write_text(code)
    monkeypatch.setattr(loadstone.studies, "__path__", [*loadstone.studies.__path__, str(tmp_path / "rooms")])
    for key, value in ast.literal_eval("{" + line.strip() + "}").items():
        monkeypatch.setitem(STUDIES, key, value)
    yield name
    study_of.cache_clear()
    sys.modules.pop(f"loadstone.studies.{name}", None)
    vars(loadstone.studies).pop(name, None)


def test_the_study_of_the_document_is_drawn_compared_and_reported(added, command, tmp_path):
    study, store = study_of(added), Store(tmp_path / "store")
    for spec in study.runs("quick"):
        (record,) = perform([spec])
        store.put(record)
    done = command("reproduce", added, "--store", "store", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr

    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {f"{added}.{ending}" for ending in ("svg", "pdf", "png", "json")} <= written
    points = json.loads((tmp_path / "out" / f"{added}.json").read_text())["points"]
    compared = json.loads((tmp_path / "out" / "report.json").read_text())["comparisons"]
    assert [one["measured"] for one in compared] == [point["measured"] for point in points] and len(points) == 4
    # The law takes rivals as independent: at d = 10 it is off by a few errors of a mean of five seeds at most.
    assert all(one["figure"] == added and abs(one["deviations"]) < 5 for one in compared)
    page = (tmp_path / "out" / "report.html").read_text()
    assert study.caption.title in page and study.caption.drawn in page and study.caption.theory in page


def test_the_study_of_the_document_says_when_there_is_nothing_to_draw(added, tmp_path):
    with pytest.raises(ValueError, match="there are no runs of the Hebbian rule"):
        study_of(added).write([], tmp_path / "empty")
    assert study_of(added).compare([]) == [] and not list(tmp_path.glob("empty*"))
