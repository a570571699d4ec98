"""What studies plot and compare, from shipped records: kept, so that no number changes unnoticed.

    python -m tests.studies.plotted      # after a deliberate change: rewrite plotted.json, and read its diff

Nothing is run, so the same numbers come out on every machine, to rounding. Lists of numbers are kept as their length,
their mean, and their mean weighted by their place.
"""

import json
import math
from collections import defaultdict
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from loadstone.studies.kit.multiple_tests import corrected
from loadstone.studies.registry import study_of
from tests.studies.drawing import drawn
from tests.studies.shipped import shipped_rows

KEPT = Path(__file__).with_name("plotted.json")
#: Studies whose predictions take little time, and the packs that hold their records.
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
    "scores": ("paper", "scores"),
    "hebbian": ("paper",),
}
#: Of a comparison: what it is about, and its numbers.
_COMPARED = ("predicted", "measured", "error", "dof")


def plotted(name: str) -> dict:
    """The plotted numbers and the comparisons of a study, in short."""
    study, rows = study_of(name), shipped_rows(name, *SWEEPS[name])
    points = study.points(rows)
    compared = corrected(study.compare(points))
    with drawn(name, rows) as (picture, beside):
        numbers = {"plotted": beside, "drawn": _lines(picture)}
    numbers |= {
        "compared": [{name: getattr(one, name) for name in _COMPARED if hasattr(one, name)} for one in compared]
    }
    verdicts = [f"{one.what}: {one.verdict}" for one in compared]
    return json.loads(json.dumps({"numbers": short(numbers), "verdicts": verdicts, "remarks": study.remarks(points)}))


def _lines(picture: Figure) -> list[dict]:
    """The curves, points and histograms of each panel, in the order in which they are drawn."""
    return [
        {
            "lines": [line.get_xydata().tolist() for line in panel.get_lines()],
            "steps": [list(map(list, part.get_data()[:2])) for part in panel.patches if isinstance(part, StepPatch)],
        }
        for panel in picture.axes
    ]


def short(value: object) -> dict[str, list[float]]:
    """Each path through nested lists and dictionaries to numbers, places in lists left out: how many numbers there are,
    their mean, and their mean weighted by their place."""
    lists: dict[str, list[float]] = defaultdict(list)
    _collect(value, "", lists)
    return {path: [len(numbers), *map(_digits, _means(numbers))] for path, numbers in sorted(lists.items())}


def _collect(value: object, path: str, lists: dict[str, list[float]]) -> None:
    if isinstance(value, dict):
        for name, part in value.items():
            _collect(part, f"{path}/{name}", lists)
    elif isinstance(value, list | tuple):
        for part in value:
            _collect(part, path, lists)
    elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        lists[path].append(float(value))


def _means(numbers: list[float]) -> tuple[float, float]:
    weighted = math.fsum(number * (place + 1) for place, number in enumerate(numbers))
    return math.fsum(numbers) / len(numbers), 2 * weighted / (len(numbers) * (len(numbers) + 1))


def _digits(number: float) -> float:
    return float(f"{number:.9g}")


if __name__ == "__main__":
    KEPT.write_text(json.dumps({name: plotted(name) for name in SWEEPS}, indent=1, ensure_ascii=False) + "\n")
