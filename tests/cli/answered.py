"""What commands answer, one after the other in a folder with a few small files: to people and to programs, with their
exit codes and the files that they leave.

    python -m tests.cli.answered      # after a deliberate change: rewrite answered.json, and read its diff

Times are left out, and so is what is only rounding.
"""

import contextlib
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path

import numpy as np

from loadstone.cli.app import main
from loadstone.runs.record import Record
from loadstone.runs.store import Store
from loadstone.studies.registry import specs_of
from tests.kept import flat, sentence, written

KEPT = Path(__file__).with_name("answered.json")
GRID = '[[grid]]\nproblem = "original"\nd = 4\np = [6, 8]\nseed = [0, 1]\nsolver = "hebbian"\n'
#: In this order: some read what others have written. FACTS stands for the files of facts in words.
ASKED = (
    """
certify --d 3 --p 4 --out proof.npz
certify --d 3 --p 4 --json
check proof.npz
check proof.npz --json
instance --d 3 --p 4 --out i.npz
instance --d 3 --p 4 --problem decoupled --answers 3 --seed 1 --out j.npz
check proof.npz --instance i.npz
check proof.npz --instance j.npz
certify --instance j.npz --json
certify --d 3 --facts 14 --answers 3 --json --out not.npz
check not.npz --json
certify --d 3 --load 0.4 --json
certify --d 12 --p 34 --steps 1 --out none.npz
certify --instance f.csv --json FACTS
capacity --d 3 --seeds 3 --seed 2
capacity --d 3 --seeds 2 --json
capacity --d 3 --seeds 1 --answers 3
capacity --d 3 --seeds 1 --answers 3 --frequencies zipf:1 --json
capacity --d 3 --seeds 1 --family symmetric --json
capacity --d 3 --seeds 1 --family masked:mask.npy --json
capacity --d 3 --seeds 1 --answers 2 --family masked:mask.npy
capacity --d 10 --seeds 2 --steps 1
capacity --d 10 --seeds 1 --steps 1 --json
capacity --problem groups:2 --d 3 --seeds 1 --answers 2 --json
capacity --d 3 --seeds 1 --seed 5 --problem decoupled
capacity --instance f.csv FACTS
capacity --instance f.csv --json FACTS
capacity --instance f.csv --seconds 1e-9 FACTS
capacity --instance f.csv --d 3 FACTS
capacity --instance f.csv --seed 1 FACTS
capacity --instance f.csv
capacity
capacity --instance f.csv --problem decoupled FACTS
facts screen f.csv FACTS
facts screen f.csv --json FACTS
facts screen two.csv --vectors v.txt
facts store f.csv --out b.book FACTS
facts store f.csv --json FACTS
facts store many.csv --vectors w.txt
facts store many.csv --vectors w.txt --json
facts recall b.book France peru
facts recall b.book Chad --top 3 --json
facts recall b.book Atlantis Japan
facts recall b.book
facts budget b.book
facts budget b.book --json
facts budget b.book --shuffles 0 --more more.jsonl FACTS
facts budget b.book --family full
facts budget b.book --shuffles 1 --json --more more.jsonl FACTS
facts budget b.book --vectors v.txt
facts edit b.book c.csv --vectors v.txt --out e.book
facts edit b.book c.csv --vectors v.txt --method batch --json
facts edit e.book d.csv
facts edit e.book d.csv --method rank-one
facts report b.book --shuffles 0 --out p.html
status --store s
status grid.toml --store s
status grid.toml --store s --workers 2 --json
status --store none
status few.toml --store s --json
pack --store s --out s.zip
pack --store s --out t.zip --json
unpack s.zip --store other
unpack s.zip --store other --json
export --store s --out s.csv
export --store s --out s.parquet --json
export --store s --out s.txt --format csv --json
export --store none --out x
run few.toml --store s --json
run few.toml --store s
explore --out x.html
train --d 4 --p 6 --solver hebbian --seeds 2 --json --out m{seed}.safetensors
predict --d 8 --p 40 --curves
nothing
check i.npz
check f.csv
""".replace("FACTS", "--vectors v.txt --columns country,capital")
    .strip()
    .splitlines()
)
#: A time, or a number that is only rounding.
_MASKED = re.compile(r"\b\d+\.\d+ s\b|\b\d+(\.\d+)? ?e-1\d\b")


def prepare(folder: Path) -> None:
    """The files that commands read."""
    random = np.random.default_rng(0)
    names = "france paris peru lima japan tokyo new zealand wellington chad n'djamena rome".split()
    _write_vectors(folder / "v.txt", names, random.standard_normal((len(names), 4)).round(3))
    rows = "France,Paris Peru,Lima Japan,Tokyo New_Zealand,Wellington Chad,N'Djamena France,Paris Atlantis,Paris "
    rows += "France,Lima"
    (folder / "f.csv").write_text("\n".join(["country,capital", *(row.replace("_", " ") for row in rows.split())]))
    (folder / "two.csv").write_text("subject,object\nFrance,Paris\nPeru,Lima\n")
    more = [pair.split() for pair in "Rome Paris,Peru Lima,Lima Rome,Tokyo Lima,Rome Lima,Nowhere Lima".split(",")]
    (folder / "more.jsonl").write_text("\n".join(json.dumps({"country": a, "capital": b}) for a, b in more))
    changes = ["subject,object,change", "France,Rome,", "New Rome,Lima,add", "Chad,,remove", "Nowhere,Lima,"]
    (folder / "c.csv").write_text("\n".join(changes))
    (folder / "d.csv").write_text("subject,object\nJapan,Rome\nPeru,Rome\nLima,Tokyo\n")
    many = [f"{kind}{number}" for kind in "sa" for number in range(30)]
    _write_vectors(folder / "w.txt", many, random.standard_normal((60, 3)).round(3))
    (folder / "many.csv").write_text("subject,object\n" + "".join(f"s{number},a{number}\n" for number in range(30)))
    np.save(folder / "mask.npy", np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]]))
    (folder / "grid.toml").write_text(GRID)
    (folder / "few.toml").write_text(GRID.replace("p = [6, 8]", "p = 6"))
    store = Store(folder / "s")
    for seconds, spec in zip((1.5, 2.5, 4.0), specs_of(str(folder / "grid.toml"), "quick")):
        status = "diverged" if seconds == 2.5 else "closed form"
        result, circumstances = {"status": status, "loss": 0.5}, {"seconds": seconds, "device": "cpu"}
        store.put(Record(spec.key, spec.identity(), result, circumstances))


def _write_vectors(path: Path, names: list[str], vectors: np.ndarray) -> None:
    path.write_text("\n".join(" ".join([name, *map(str, vector)]) for name, vector in zip(names, vectors)))


def answered() -> dict[str, list]:
    """Of each command: its exit code, the files that are new, and what it says on both streams."""
    before, found = os.getcwd(), {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            prepare(Path(folder))
            for asked in ASKED:
                there = set(os.listdir())
                code, out, err = _said(asked)
                found[asked] = [code, sorted({*os.listdir()} - there), _plain(out), _plain(err)]
        finally:
            os.chdir(before)
    return json.loads(json.dumps(found))


def _said(asked: str) -> tuple[int, str, str]:
    before, out, err, code = sys.argv, io.StringIO(), io.StringIO(), 0
    sys.argv = ["loadstone", *asked.split()]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv = before
    return code, out.getvalue(), err.getvalue()


def _plain(text: str) -> list:
    if text.startswith("{"):
        return flat(_masked(json.loads(text)))
    lines = (" ".join(re.sub("[^ -~]", " ", line).split()) for line in _MASKED.sub("...", text).splitlines())
    return [sentence(line) for line in lines if line]


def _masked(value: object) -> object:
    if isinstance(value, dict):
        return {name: _masked(one) for name, one in value.items() if name not in ("seconds", "cg_products")}
    if isinstance(value, list):
        return [_masked(one) for one in value]
    return sentence(_MASKED.sub("...", value)) if isinstance(value, str) else value


if __name__ == "__main__":
    KEPT.write_text(written(answered()) + "\n")
