"""Grids: many specs from a few lines, in Python or in a TOML file.

    [[grid]]
    problem = ["original", "decoupled"]
    d = [20, 40]
    load = [0.5, 0.7, 0.9]      # or p = [...], which may also be called facts
    answers = 200               # left out: each fact has its own
    frequencies = "zipf:1"      # of the answers: uniform, balanced, zipf:s, a file of numbers, or [[0.5, 0.3, 0.2]]
    kappa = 1.0
    seeds = 3                   # 0, 1, 2; or seed = [7, 8]
    stop = "exact"

Every list is a direction of the grid; a single value stays fixed. A file may hold several grids; a spec that occurs
twice is run once.
"""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import fields
from functools import cache
from itertools import product
from pathlib import Path

from loadstone.arguments import positive, refuse, whole
from loadstone.frequencies import read_frequencies
from loadstone.loads import nearest_associations
from loadstone.runs.spec import Spec
from loadstone.solvers.registry import parameter_names
from loadstone.tasks import TASKS, task_of
from loadstone.tasks.checked_spec import MOST_DIMENSION

#: To find p from a load takes a search, and all seeds of a grid need the same p.
_associations = cache(nearest_associations)

_SETTINGS = [settings for name in TASKS if (settings := task_of(name).settings)]
_OF_TASKS = tuple(field.name for settings in _SETTINGS for field in fields(settings))
#: The parameters of every solver, and of every other task.
_PARAMETERS = tuple(dict.fromkeys((*parameter_names(), *_OF_TASKS)))
_SPEC = tuple(field.name for field in fields(Spec) if field.name != "parameters")
_WORDS = (*_SPEC, *_PARAMETERS, "load", "seeds", "facts")
#: A grid with more runs is refused before its specs are made.
MOST_SPECS = 1_000_000
#: Capacity lies near 1/2; far above it there is nothing to see.
MOST_LOAD = 1000.0


def grid(**directions: object) -> list[Spec]:
    """Every combination of the values given, the last direction varying fastest; seeds vary fastest of all."""
    for name in directions:
        if name not in _WORDS:
            raise ValueError(f"{name!r} is not a field of a grid{_suggestion(name)}; it has {', '.join(_WORDS)}.")
    if "facts" in directions and "p" in directions:
        raise ValueError("The grid has both facts and p, which are the same: give either.")
    directions = {"p" if name == "facts" else name: value for name, value in directions.items()}
    if ("p" in directions) == ("load" in directions):
        raise ValueError("The grid needs a size: give either p or load, and not both.")
    if "seed" in directions and "seeds" in directions:
        raise ValueError("The grid has both seed and seeds: give either seed or seeds.")
    values = {name: list(value) if isinstance(value, list | tuple) else [value] for name, value in directions.items()}
    if "seeds" in values:
        values.pop("seeds")
        values["seed"] = list(range(whole("seeds", directions["seeds"], 1, MOST_SPECS)))
    elif "seed" in values:
        values["seed"] = values.pop("seed")  # to the end, so that neighbours differ only in the seed
    count = 1
    for name, options in values.items():
        if not options:
            raise refuse(name, [], "a value or a list of at least one value")
        count *= len(options)
    _check_count(count)
    return list(dict.fromkeys(_spec(dict(zip(values, point))) for point in product(*values.values())))


def read_grid(path: str | Path) -> list[Spec]:
    """The specs of a TOML file with one or several [[grid]] tables."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not a file: give the name of a grid (.toml).")
    try:
        content = tomllib.loads(path.read_text())
    except (ValueError, RecursionError) as error:  # not TOML, not text, numbers too long, lists too deep
        raise ValueError(f"{path} is not TOML: {error}.") from error
    unknown = [name for name in content if name != "grid"]
    if unknown or "grid" not in content:
        what = f"has a table {unknown[0]!r}" if unknown else "has no table"
        raise ValueError(f"{path} {what}, but must hold [[grid]] tables only.")
    tables = content["grid"] if isinstance(content["grid"], list) else [content["grid"]]
    if not tables:
        raise ValueError(f"{path} has no grid in it, but must hold [[grid]] tables.")
    specs: dict[Spec, None] = {}
    for number, table in enumerate(tables, 1):
        if not isinstance(table, dict):
            raise ValueError(f"{path}, grid {number} is {table!r}, but must be a table.")
        try:
            specs |= dict.fromkeys(grid(**table))
            _check_count(len(specs))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path}, grid {number}: {error}") from error
    return list(specs)


def _check_count(count: int) -> None:
    if count > MOST_SPECS:
        raise ValueError(f"The grid has {count} runs, but may have at most {MOST_SPECS}: split it.")


def _spec(values: dict[str, object]) -> Spec:
    if "load" in values:
        load = positive("load", values.pop("load"))
        if load > MOST_LOAD:
            raise refuse("load", load, f"at most {MOST_LOAD:g}")
        values["p"] = p = _associations(load, whole("d", values.get("d"), 1, MOST_DIMENSION))
        if p < 2:
            raise refuse("load", load, f"large enough for two associations at d = {values['d']}")
    if isinstance(values.get("frequencies"), str):
        values["frequencies"] = read_frequencies(str(values["frequencies"]))
    parameters = {name: values.pop(name) for name in _PARAMETERS if name in values}
    missing = [name for name in ("problem", "d") if name not in values]
    if missing:
        raise ValueError(f"The grid lacks {' and '.join(missing)}.")
    return Spec(**values, parameters=parameters)  # type: ignore[arg-type]  # Spec refuses what it cannot use


def _suggestion(name: str) -> str:
    near = difflib.get_close_matches(name, _WORDS, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
