"""What figures of shipped records show, and every word and number that is said about them, as they were looked at.

    python -m tests.studies.from_records      # after a deliberate change: rewrite from_records.json, and read its diff

The runs of `shown.py` are few and small. Here are all records of some sweeps: several dimensions, problems, families
and densities, with and without a proof. Nothing is run, so that the same numbers come out on every machine.
"""

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt

from loadstone.studies.kit.multiple_tests import corrected
from loadstone.studies.kit.sentences import findings
from loadstone.studies.registry import figure_of
from loadstone.studies.report.claims import CLAIMS
from tests.studies.shipped import shipped_rows
from tests.studies.shown import brief, flat, sentence, shown, written

KEPT = Path(__file__).with_name("from_records.json")
#: Sweeps whose predictions take little time, and the packs that hold their records.
SWEEPS = {
    "witnesses": ("processor", "one_law"),
    "law": ("law", "minima"),
    "rank": ("rank", "processor", "one_law", "law"),
    "optimisers": ("optimisers",),
    "families": ("families", "one_law"),
    "pruning": ("pruning", "one_law"),
    "layers": ("layers",),
    "edits": ("edits",),
    "bits": ("bits",),
}


def told(name: str) -> list:
    """A figure as it is drawn, its numbers, and what is said about it."""
    figure, rows, drawn = figure_of(name), shipped_rows(name, *SWEEPS[name]), []
    module = sys.modules[figure.draw.__module__]
    save, module.save = module.save, lambda picture, stem, numbers: drawn.append((shown(picture), brief(numbers))) or []
    try:
        figure.draw(rows, Path(name))
    finally:
        module.save = save
        plt.close("all")
    compared = corrected(figure.compare(rows))
    words = [*figure.remarks(rows), *findings(compared)]
    found = [*drawn, [sentence(text) for text in words], [flat(one.as_row()) for one in compared]]
    return json.loads(json.dumps(found))


def claimed() -> list:
    """Every claim of the paper, and what decides it."""
    return json.loads(json.dumps([[str(part) for part in vars(claim).values()] for claim in CLAIMS]))


if __name__ == "__main__":
    KEPT.write_text(written({name: told(name) for name in SWEEPS} | {"claims": claimed()}) + "\n")
