"""Whether a record can come from a run: each of its numbers must be one that a run can give.

A checksum shows that a file is unchanged, not that a run wrote it. Fields and statuses that are unknown here are
accepted, because later versions may add some. Missing fields are accepted too.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping

from loadstone.runs.record import DamagedError, Record

#: Rounding in float32 may take sums and quotients out of their range by this much.
_ROUNDING = 1e-6
#: How a record writes the numbers that JSON cannot hold. Only a run that diverged has them.
_NOT_FINITE = ("nan", "inf", "-inf")
_HISTOGRAMS = ("target", "rival", "own", "others")

#: What is said by a spec alone: a result that says it too could contradict it.
_OF_SPECS = frozenset(
    "problem d p seed kappa law solver parameters protocol stop precision family stored_dtype answers frequencies "
    "meaning".split()
)

Holds = Callable[[object], bool]


def check_values(record: Record) -> None:
    """Refuse, as a DamagedError, a record with a value that no run can have."""
    check_parts(record.spec, record.result, record.circumstances)


def check_parts(spec: Mapping, result: Mapping, circumstances: Mapping) -> None:
    """The same for the three parts of a record, or of a summary of one."""
    _check("spec", spec, _SPEC)
    if both := _OF_SPECS.intersection(result):
        raise DamagedError(f"its result has {min(both)}, which only a spec has")
    p, d = spec.get("p", math.inf), spec.get("d", math.inf)
    _check("result", result, _result(p, d, result.get("status") == "diverged"))
    _check("circumstances", circumstances, {"seconds": _number(0)})
    if "loss_trace" in result and "accuracy_trace" in result:
        _check_traces(result, spec.get("solver"))
    if "p_c" in result:
        _check_capacity(result)
    if "margin" in result and "upper_bound" in result and result["margin"] > result["upper_bound"]:
        raise DamagedError(f"its margin is {result['margin']}, but was proved to be at most {result['upper_bound']}")
    if "edits" in result:
        _check_edits(result)
    if "stored" in result and "not_stored" in result and not result["stored"] < result["not_stored"]:
        raise DamagedError(f"it has {result['stored']} associations stored and {result['not_stored']} not")


def _check(part: str, values: Mapping, known: Mapping[str, Holds]) -> None:
    for name, holds in known.items():
        if name in values and not holds(values[name]):
            raise DamagedError(f"the {name} of its {part} is {str(values[name])[:60]}, which no run has")


def _check_traces(result: Mapping, solver: object) -> None:
    loss, accuracy = len(result["loss_trace"]), len(result["accuracy_trace"])
    if loss != accuracy:
        raise DamagedError(f"its traces have {loss} and {accuracy} numbers, but must have the same number of them")
    if solver == "adam" and "steps" in result and loss != result["steps"] + 1:
        raise DamagedError(f"its traces have {loss} numbers, but it took {result['steps']} steps")


def _check_edits(result: Mapping) -> None:
    """One count for each number of edits, and no more edits that failed than were made."""
    made = result["edits"]
    for name in ("lost", "missed", "undecided"):
        if name in result and len(result[name]) != len(made):
            raise DamagedError(f"it has {len(made)} numbers of edits and {len(result[name])} {name}, which no run has")
    if any(missed > edits for edits, missed in zip(made, result.get("missed", ()))):
        raise DamagedError("it has more edits missed than made, which no run has")


def _check_capacity(result: Mapping) -> None:
    """The p proved storable must be below the p proved not storable, and the capacity, if stated, must fit both."""
    p_c, low, high = result["p_c"], result.get("storable"), result.get("not_storable")
    if low is not None and high is not None and low >= high:
        raise DamagedError(f"it has {low} associations storable and {high} not, which no stream has")
    if p_c is not None and (low not in (None, p_c) or high not in (None, p_c + 1)):
        raise DamagedError(f"its capacity is {p_c}, but {low} associations are storable and {high} are not")


def _number(low: float = -math.inf, high: float = math.inf, words: bool = False) -> Holds:
    """A finite number in [low, high]; with `words`, also one of the words for numbers that are not finite."""

    def holds(value: object) -> bool:
        if words and value in _NOT_FINITE:
            return True
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return abs(value) <= sys.float_info.max and low <= value <= high

    return holds


def _whole(low: int, high: float = 2**63) -> Holds:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _or_none(holds: Holds) -> Holds:
    return lambda value: value is None or holds(value)


def _list(holds: Holds, most: float = math.inf) -> Holds:
    return lambda value: isinstance(value, list) and len(value) <= most and all(map(holds, value))


def _table(known: Mapping[str, Holds]) -> Holds:
    """A dictionary whose values under known names are valid; other names are not checked."""
    return lambda value: isinstance(value, dict) and all(
        holds(value[name]) for name, holds in known.items() if name in value
    )


def _word(value: object) -> bool:
    return isinstance(value, str)


def _verdict(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and _whole(1)(value[0]) and _word(value[1])


def _attempt(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 4:
        return False
    p, stored, status, passes = value
    return _whole(2)(p) and isinstance(stored, bool) and _word(status) and _whole(1)(passes)


def _scores(value: object) -> bool:
    """Histograms on one set of bins."""
    if not isinstance(value, dict) or not _HISTOGRAM_FIELDS(value):
        return False
    first = value.get("first", {}).get("others")
    lengths = {len(counts) for counts in (*(value.get(name) for name in _HISTOGRAMS), first) if counts is not None}
    return len(lengths) <= 1 and ("low" not in value or "high" not in value or value["low"] < value["high"])


_SPEC: dict[str, Holds] = {
    "problem": _word,
    "solver": lambda value: _word(value) or (isinstance(value, dict) and _word(value.get("name"))),
    "law": _word,
    "d": _whole(1, 2**31),
    "p": _whole(1, 2**63),
    "seed": _whole(0, 2**64 - 1),
    "answers": _whole(2, 2**31),
    "frequencies": lambda value: _word(value) or _list(_number(0))(value),
    "kappa": lambda value: _number(0, 1)(value) and value != 0,
}
_COUNTS = _list(_whole(0))
_SHARES = _list(_number(0, 1))
_MEMORY: dict[str, Holds] = {
    "singular_values": _list(_number(0)),
    "margin": _number(),
    "bits": _list(_whole(1)),
    "recalled_rounded": _SHARES,
    "noises": _list(_number(0)),
    "recalled": _SHARES,
}
_MOMENTS = _table({"mean": _number(), "deviation": _number(0)})
_HISTOGRAM_FIELDS = _table(
    dict.fromkeys(_HISTOGRAMS, _COUNTS)
    | dict.fromkeys(("low", "high", "target_mean"), _number())
    | dict.fromkeys(("unit", "target_deviation"), _number(0))
    | {"moments": _table(dict.fromkeys(("target", "rival", "margin", "others"), _MOMENTS))}
    | {"own_target": _MOMENTS, "first": _table({"target": _number(), "rival": _number(), "others": _COUNTS})}
)


def _result(p: float, d: float, diverged: bool) -> dict[str, Holds]:
    """What the fields of a result must be, for p associations in d dimensions."""
    loss = _number(-_ROUNDING, words=diverged)
    accuracy = _number(-_ROUNDING, 1 + _ROUNDING, words=diverged)
    return {
        "status": _word,
        "form": _word,
        "accuracy": accuracy,
        "violations": _whole(0, p),
        "loss": loss,
        "margin": _number(words=diverged),
        "upper_bound": _number(0),
        "gap": _number(0, 1),
        "noises": _list(_number(0)),
        "recalled": _list(_number(0, 1)),
        "recalled_error": _list(_number(0)),
        "recalled_predicted": _list(_number(-_ROUNDING, 1 + _ROUNDING)),
        "steps": _whole(0),
        "passes": _whole(0),
        "loss_trace": _list(loss),
        "accuracy_trace": _list(accuracy),
        "singular_values": _list(_number(0), d),
        "scores": _scores,
        "own_target": _MOMENTS,
        "p_c": _or_none(_whole(1)),
        "storable": _whole(1),
        "not_storable": _whole(2),
        "verdicts": _list(_verdict),
        "stored": _whole(1),
        "not_stored": _whole(2),
        "attempts": _list(_attempt),
        "edits": _list(_whole(1)),
        "lost": _list(_whole(0, p)),
        "missed": _list(_whole(0)),
        "undecided": _list(_whole(0)),
        "distances": _list(_number(0, 1)),
        "limit": _whole(1),
        "rank": _whole(1, d),
        "first": _number(0, 1),
        "listed": _number(0, 1),
        "first_by_all_rivals": _number(0, 1),
        "listed_by_all_rivals": _number(0, 1),
        "r_hat": _number(0),
        "effective_samples": _number(0),
        "autocorrelation_time": _number(0),
        "overlap": _number(-1 - _ROUNDING, 1 + _ROUNDING),
        "overlap_error": _number(0),
        "dimension": _whole(1, d * d),
        "log_volume": _number(high=1),
        "log_volume_error": _number(0),
        "typical_singular_values": _list(_list(_number(0), d)),
        "typical_scores": _scores,
        "centre_length": _number(0, 1 + _ROUNDING),
        "memories": _table(dict.fromkeys(("typical", "centre", "largest margin"), _table(_MEMORY))),
    }
