"""The folder in which commands are tested: facts in words with vectors, a book, a store of runs, and their grid."""

import json
from pathlib import Path

import numpy as np

from loadstone.books.storing import remember
from loadstone.runs.record import Record
from loadstone.runs.store import Store
from loadstone.studies.registry import specs_of

#: With which options the facts are read.
FACTS = "--vectors v.txt --columns country,capital"
GRID = '[[grid]]\nproblem = "original"\nd = 4\np = [6, 8]\nseed = [0, 1]\nsolver = "hebbian"\n'


def prepare(folder: Path) -> None:
    """Write the files into an empty folder. Of the facts, two ask for two answers to France, and Atlantis has no
    vector; of the 30 in three dimensions most cannot be stored."""
    random = np.random.default_rng(0)
    names = "france paris peru lima japan tokyo new zealand wellington chad n'djamena rome".split()
    _write_vectors(folder / "v.txt", names, random.standard_normal((len(names), 4)).round(3))
    rows = "France,Paris Peru,Lima Japan,Tokyo New_Zealand,Wellington Chad,N'Djamena France,Paris Atlantis,Paris "
    rows += "France,Lima"
    (folder / "f.csv").write_text("\n".join(["country,capital", *(row.replace("_", " ") for row in rows.split())]))
    more = [pair.split() for pair in "Rome Paris,Peru Lima,Lima Rome,Tokyo Lima,Rome Lima,Nowhere Lima".split(",")]
    (folder / "more.jsonl").write_text("\n".join(json.dumps({"country": a, "capital": b}) for a, b in more))
    changes = ["subject,object,change", "France,Rome,", "New Rome,Lima,add", "Chad,,remove", "Nowhere,Lima,"]
    (folder / "c.csv").write_text("\n".join(changes))
    many = [f"{kind}{number}" for kind in "sa" for number in range(30)]
    _write_vectors(folder / "w.txt", many, random.standard_normal((60, 3)).round(3))
    (folder / "many.csv").write_text("subject,object\n" + "".join(f"s{number},a{number}\n" for number in range(30)))
    remember(folder / "f.csv", folder / "v.txt", columns=("country", "capital")).save(folder / "b.book")
    (folder / "text").write_text("neither an archive nor a book")
    np.savez(folder / "x.npz", inputs=random.standard_normal((3, 4)), outputs=random.standard_normal((3, 4)))
    np.savez(folder / "apart.npz", inputs=np.eye(4)[:2], outputs=np.ones((2, 2, 4)), targets=[0, 1])
    (folder / "grid.toml").write_text(GRID)
    store = Store(folder / "s")
    for seconds, spec in zip((1.5, 2.5, 4.0), specs_of(str(folder / "grid.toml"), "quick")):
        status = "diverged" if seconds == 2.5 else "closed form"
        result, circumstances = {"status": status, "loss": 0.5}, {"seconds": seconds, "device": "cpu"}
        store.put(Record(spec.key, spec.identity(), result, circumstances))


def _write_vectors(path: Path, names: list[str], vectors: np.ndarray) -> None:
    path.write_text("\n".join(" ".join([name, *map(str, vector)]) for name, vector in zip(names, vectors)))
