"""Which values each field of a record may have: those of a fixed list that are accepted.

    python -m tests.runs.accepted      # after a deliberate change: rewrite accepted.json, and read its diff

The list has the bounds of fields, what lies just beside them, and other types.
"""

import json
from pathlib import Path

from loadstone.runs import validity
from loadstone.runs.record import DamagedError
from loadstone.tasks import fields

KEPT = Path(__file__).with_name("accepted.json")
P, D = 9, 6
#: Integers and other numbers at and beside bounds: those of p, d and d^2, of rounding, and of the types.
NUMBERS = [
    -1, 0, 1, 2, 3, D, D + 1, P, P + 1, D * D, D * D + 1, 2**31, 2**31 + 1, 2**63, 2**63 + 1, 2**64 - 1, 2**64, 10**400,
    -1 - 2e-6, -1 - 5e-7, -2e-6, -5e-7, -0.5, 0.0, 0.5, 1.0, 1 + 5e-7, 1 + 2e-6, 1.5, 2.0, 1e308,
]  # fmt: skip
SCALARS = [*NUMBERS, True, None, "nan", "-inf", "word"]
LISTS = [[], [0] * D, [0] * (D + 1), [0.5] * D, [0.5] * (D + 1), [[0.5] * D], [[0.5] * (D + 1)], [0, -1], {}]
ENTRIES = [[1, "word"], [0, "word"], [1, 2], [1, "word", 3], [2, True, "word", 1], [1, True, "word", 1],
           [2, 1, "word", 1], [2, True, 3, 1], [2, True, "word", 0], [2, True, "word"]]  # fmt: skip
TABLES = [{"name": "word"}, {"name": 3}, {"mean": 1, "deviation": 0}, {"mean": "nan"}, {"deviation": -1}]
VALUES = [*SCALARS, *([one] for one in SCALARS), *LISTS, *([one] for one in ENTRIES), *TABLES]


def accepted() -> dict[str, str]:
    """By the name of a field: the accepted values, in words."""
    found = {}
    for diverged in (False, True):
        status = {"status": "diverged"} if diverged else {}
        for name in validity.RESULT.keys() - {"scores", "typical_scores", "memories"}:
            field = f"result {name}" + ", diverged" * diverged
            found[field] = _taken(lambda value, name=name, status=status: ({}, {name: value}, status))
            if diverged and found[field] == found[f"result {name}"]:
                del found[field]
    for name in validity.SPEC:
        found[f"spec {name}"] = _taken(lambda value, name=name: ({name: value}, {}, {}))
    for path in _SCORES:
        for field in ("scores", "typical_scores"):
            found[f"{field} {path}"] = _taken(lambda value, path=path, field=field: ({}, {field: _at(path, value)}, {}))
    for name in ("typical", "centre", "largest margin"):
        for of in fields.MEMORY:
            found[f"{name} {of}"] = _taken(lambda value, at=(name, of): ({}, {"memories": {at[0]: {at[1]: value}}}, {}))
    found["seconds"] = _taken(lambda value: ({}, {}, {"seconds": value}), circumstances=True)
    return dict(sorted(found.items()))


_SCORES = [
    *fields.HISTOGRAMS, "low", "high", "unit", "target_mean", "target_deviation", "own_target", "moments target",
    "moments rival", "moments margin", "moments others", "first target", "first rival", "first others",
]  # fmt: skip


def _at(path: str, value: object) -> object:
    for name in reversed(path.split()):
        value = {name: value}
    return value


def _taken(parts, circumstances: bool = False) -> str:
    return "; ".join(_word(value) for value in VALUES if _is_taken(*parts(value), circumstances))


def _is_taken(spec: dict, result: dict, third: dict, circumstances: bool) -> bool:
    try:
        validity.check_parts({"p": P, "d": D} | spec, result | ({} if circumstances else third),
                             third if circumstances else {})  # fmt: skip
    except DamagedError:
        return False
    return True


def _word(value: object) -> str:
    return "10^400" if value == 10**400 else "[10^400]" if value == [10**400] else json.dumps(value)


if __name__ == "__main__":
    KEPT.write_text(json.dumps(accepted(), indent=1) + "\n")
