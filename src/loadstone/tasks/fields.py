"""What the record of each task holds: the fields of its result, which values each may have, and which contradict.

It imports nothing heavy, so that a store is checked without JAX. A new task has its entry in `FIELDS`.
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.tasks.values import ROUNDING, Field, Size, listed, number, or_none, row, table, whole, word, yes_or_no

#: How records have always named the paper's protocol, which every spec calls 'paper'. Its Adam is no solver by itself:
#: the solver 'adam' is that of optax, and a record has it with its name and its parameters.
PROTOCOL = "adam"

HISTOGRAMS = ("target", "rival", "own", "others")

_P, _D = (lambda size: size.p), (lambda size: size.d)
_STATUS: dict[str, Field] = {"status": word}
_LOSS = number(-ROUNDING, if_it_converged=True)
_ACCURACY = number(-ROUNDING, 1 + ROUNDING, if_it_converged=True)
_MARGIN = number(if_it_converged=True)
_COUNT, _COUNTS, _SHARE, _SHARES = whole(0), listed(whole(0)), number(0, 1), listed(number(0, 1))
_POSITIVE, _POSITIVES = number(0), listed(number(0))
_SINGULAR_VALUES = listed(number(0), most=_D)
_MOMENTS = table({"mean": number(), "deviation": _POSITIVE})
_ATTEMPTS = listed(row(whole(2), yes_or_no, word, whole(1)))  # p, whether it was stored, status, passes
_P_C, _STORED, _NOT_STORED = or_none(whole(1)), whole(1), whole(2)

_SCORE_FIELDS = table(
    dict.fromkeys(HISTOGRAMS, _COUNTS)
    | dict.fromkeys(("low", "high", "target_mean"), number())
    | dict.fromkeys(("unit", "target_deviation"), _POSITIVE)
    | {"moments": table(dict.fromkeys(("target", "rival", "margin", "others"), _MOMENTS))}
    | {"own_target": _MOMENTS, "first": table({"target": number(), "rival": number(), "others": _COUNTS})}
)


def _scores(value: object, size: Size) -> bool:
    """Histograms on one set of bins."""
    if not isinstance(value, dict) or not _SCORE_FIELDS(value, size):
        return False
    first = value.get("first", {}).get("others")
    lengths = {len(counts) for counts in (*(value.get(name) for name in HISTOGRAMS), first) if counts is not None}
    return len(lengths) <= 1 and ("low" not in value or "high" not in value or value["low"] < value["high"])


#: Of each of the memories that stand for all that store a stream.
MEMORY: dict[str, Field] = {
    "singular_values": _POSITIVES,
    "margin": number(),
    "bits": listed(whole(1)),
    "recalled_rounded": _SHARES,
    "noises": _POSITIVES,
    "recalled": _SHARES,
}

#: By the name of a task: the fields of its result.
FIELDS: Mapping[str, Mapping[str, Field]] = {
    "train": _STATUS
    | {
        "form": word,
        "accuracy": _ACCURACY,
        "violations": whole(0, _P),
        "loss": _LOSS,
        "margin": _MARGIN,
        "steps": _COUNT,
        "loss_trace": listed(_LOSS),
        "accuracy_trace": listed(_ACCURACY),
        "singular_values": _SINGULAR_VALUES,
        "scores": _scores,
    },
    "capacity": _STATUS
    | {
        "p_c": _P_C,
        "storable": whole(1),
        "not_storable": whole(2),
        "verdicts": listed(row(whole(1), word)),
        "singular_values": _SINGULAR_VALUES,
        "own_target": _MOMENTS,
    },
    "reach": _STATUS
    | {
        "rank": whole(1, _D),
        "attempts": _ATTEMPTS,
        "ways": listed(word),
        "stored": _STORED,
        "not_stored": _NOT_STORED,
        "first": _SHARE,
        "listed": _SHARE,
        "first_by_all_rivals": _SHARE,
        "listed_by_all_rivals": _SHARE,
    },
    "approach": _STATUS | {"p_c": _P_C, "distances": _SHARES, "attempts": _ATTEMPTS, "limit": whole(1)},
    "margin": _STATUS
    | {
        "margin": _MARGIN,
        "upper_bound": _POSITIVE,
        "gap": _SHARE,
        "steps": _COUNT,
        "noises": _POSITIVES,
        "recalled": _SHARES,
        "recalled_error": _POSITIVES,
        "recalled_predicted": listed(number(-ROUNDING, 1 + ROUNDING)),
    },
    "edits": _STATUS
    | {"edits": listed(whole(1)), "lost": listed(whole(0, _P)), "missed": _COUNTS, "undecided": _COUNTS},
    "space": _STATUS
    | {
        "r_hat": _POSITIVE,
        "effective_samples": _POSITIVE,
        "autocorrelation_time": _POSITIVE,
        "steps": _COUNT,
        "passes": _COUNT,
        "overlap": number(-1 - ROUNDING, 1 + ROUNDING),
        "overlap_error": _POSITIVE,
        "dimension": whole(1, lambda size: size.d * size.d),
        "log_volume": number(high=1),
        "log_volume_error": _POSITIVE,
        "typical_singular_values": listed(_SINGULAR_VALUES),
        "typical_scores": _scores,
        "centre_length": number(0, 1 + ROUNDING),
        "memories": table(dict.fromkeys(("typical", "centre", "largest margin"), table(MEMORY))),
    },
    "bits": _STATUS | {"stored": _STORED, "not_stored": _NOT_STORED},
}


def contradiction(spec: Mapping, result: Mapping) -> str | None:
    """Why two fields of a result, each possible by itself, cannot stand in one record; None if they can."""
    if "loss_trace" in result and "accuracy_trace" in result:
        loss, accuracy = len(result["loss_trace"]), len(result["accuracy_trace"])
        if loss != accuracy:
            return f"its traces have {loss} and {accuracy} numbers, but must have the same number of them"
        if spec.get("solver") == PROTOCOL and "steps" in result and loss != result["steps"] + 1:
            return f"its traces have {loss} numbers, but it took {result['steps']} steps"
    if "p_c" in result and (why := _of_capacities(result["p_c"], result.get("storable"), result.get("not_storable"))):
        return why
    if "margin" in result and "upper_bound" in result and result["margin"] > result["upper_bound"]:
        return f"its margin is {result['margin']}, but was proved to be at most {result['upper_bound']}"
    if "edits" in result and (why := _of_edits(result)):
        return why
    if "stored" in result and "not_stored" in result and not result["stored"] < result["not_stored"]:
        return f"it has {result['stored']} associations stored and {result['not_stored']} not"
    return None


def _of_capacities(p_c: int | None, low: int | None, high: int | None) -> str | None:
    """The p proved storable must be below the p proved not storable, and the capacity, if stated, must fit both."""
    if low is not None and high is not None and low >= high:
        return f"it has {low} associations storable and {high} not, which no stream has"
    if p_c is not None and (low not in (None, p_c) or high not in (None, p_c + 1)):
        return f"its capacity is {p_c}, but {low} associations are storable and {high} are not"
    return None


def _of_edits(result: Mapping) -> str | None:
    """One count for each number of edits, and no more edits that failed than were made."""
    made = result["edits"]
    for name in ("lost", "missed", "undecided"):
        if name in result and len(result[name]) != len(made):
            return f"it has {len(made)} numbers of edits and {len(result[name])} {name}, which no run has"
    if any(missed > edits for edits, missed in zip(made, result.get("missed", ()))):
        return "it has more edits missed than made, which no run has"
    return None
