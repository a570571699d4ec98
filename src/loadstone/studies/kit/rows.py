"""Rows: the records of runs as plain dictionaries, which is all that statistics and figures read.

A row holds what was run (`problem`, `d`, `p`, `seed`, `kappa`, `solver` and its `parameters`, ...) beside what came out
(`status`, `accuracy`, `loss`, `singular_values`, `scores`, ...; for an exact capacity `p_c` and `own_target`, for a
largest margin `margin`, `upper_bound` and the shares `recalled` at each of the `noises`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

Row = dict[str, Any]


def row_of(spec: Mapping[str, Any], result: Mapping[str, Any], circumstances: Mapping[str, Any] | None = None) -> Row:
    """One record as a row. If names collide, the spec wins, so that a result cannot change what was run."""
    row = {**result, **spec, "circumstances": dict(circumstances or {})}
    if isinstance(solver := row.get("solver"), Mapping):
        row |= {"solver": solver["name"]}
        row["parameters"] = {name: value for name, value in solver.items() if name != "name"}
    return row


def grouped(rows: Iterable[Row], *fields: str) -> list[tuple[tuple, list[Row]]]:
    """Rows grouped by their values of these fields: each group with its values, sorted by them."""
    groups: dict[tuple, list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[field] for field in fields)].append(row)
    return sorted(groups.items(), key=lambda group: group[0])
