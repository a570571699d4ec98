"""What the record of each task holds: the fields of its result, which values each may have, and which contradict.

It imports nothing heavy, so that a store is checked without JAX. A new task has a line in `_OF_TASKS`, and fields that
no other has in `RESULT`.
"""

from __future__ import annotations

from collections.abc import Mapping

from loadstone.tasks.values import ROUNDING, Field, Size, listed, number, or_none, row, table, whole, word, yes_or_no

#: How records have always named the paper's protocol, which every spec calls 'paper'. Its Adam is not the solver
#: 'adam', which is that of optax, and which records name with its parameters.
PROTOCOL = "adam"

HISTOGRAMS = ("target", "rival", "own", "others")

_P, _D = (lambda size: size.p), (lambda size: size.d)
_POSITIVE, _COUNTS = number(0), listed(whole(0))
_LOSS, _ACCURACY = number(-ROUNDING, if_it_converged=True), number(-ROUNDING, 1 + ROUNDING, if_it_converged=True)
_SINGULAR_VALUES = listed(_POSITIVE, most=_D)
_MOMENTS = table({"mean": number(), "deviation": _POSITIVE})

_SCORE_FIELDS = table(
    dict.fromkeys(HISTOGRAMS, _COUNTS)
    | dict.fromkeys(("low", "high", "target_mean"), number())
    | dict.fromkeys(("unit", "target_deviation"), _POSITIVE)
    | {"moments": table(dict.fromkeys(("target", "rival", "margin", "others"), _MOMENTS))}
    | {"own_target": _MOMENTS, "first": table({"target": number(), "rival": number(), "others": _COUNTS})}
)


def _scores(value: object, size: Size) -> bool:
    """Whether these are histograms over the same bins."""
    if not isinstance(value, dict) or not _SCORE_FIELDS(value, size):
        return False
    first = value.get("first", {}).get("others")
    lengths = {len(counts) for counts in (*map(value.get, HISTOGRAMS), first) if counts is not None}
    return len(lengths) <= 1 and ("low" not in value or "high" not in value or value["low"] < value["high"])


def _all(field: Field, names: str) -> dict[str, Field]:
    return dict.fromkeys(names.split(), field)


#: The fields of each memory that represents all that store a stream.
MEMORY: dict[str, Field] = {
    "margin": number(),
    "bits": listed(whole(1)),
    **_all(listed(_POSITIVE), "singular_values noises"),
    **_all(listed(number(0, 1)), "recalled recalled_rounded"),
}

#: Every field of a result. Its possible values are the same in every task that has it.
RESULT: Mapping[str, Field] = {
    **_all(word, "status form"),
    **_all(whole(0), "steps passes"),
    **_all(whole(1), "storable stored limit"),
    **_all(whole(2), "not_storable not_stored"),
    **_all(number(0, 1), "gap first listed first_by_all_rivals listed_by_all_rivals"),
    **_all(_POSITIVE, "upper_bound r_hat effective_samples autocorrelation_time overlap_error log_volume_error"),
    **_all(listed(_POSITIVE), "noises recalled_error"),
    **_all(listed(number(0, 1)), "distances recalled"),
    **_all(_COUNTS, "missed undecided"),
    **_all(_scores, "scores typical_scores"),
    "accuracy": _ACCURACY,
    "accuracy_trace": listed(_ACCURACY),
    "loss": _LOSS,
    "loss_trace": listed(_LOSS),
    "violations": whole(0, _P),
    "margin": number(if_it_converged=True),
    "singular_values": _SINGULAR_VALUES,
    "typical_singular_values": listed(_SINGULAR_VALUES),
    "own_target": _MOMENTS,
    "p_c": or_none(whole(1)),
    "verdicts": listed(row(whole(1), word)),
    "rank": whole(1, _D),
    "attempts": listed(row(whole(2), yes_or_no, word, whole(1))),  # p, whether it was stored, status, passes
    "ways": listed(word),
    "recalled_predicted": listed(number(-ROUNDING, 1 + ROUNDING)),
    "edits": listed(whole(1)),
    "lost": listed(whole(0, _P)),
    "overlap": number(-1 - ROUNDING, 1 + ROUNDING),
    "dimension": whole(1, lambda size: size.d * size.d),
    "log_volume": number(high=1),
    "centre_length": number(0, 1 + ROUNDING),
    "memories": table(dict.fromkeys(("typical", "centre", "largest margin"), table(MEMORY))),
}
_OF_TASKS = {
    "train": "form accuracy violations loss margin steps loss_trace accuracy_trace singular_values scores",
    "capacity": "p_c storable not_storable verdicts singular_values own_target",
    "reach": "rank attempts ways stored not_stored first listed first_by_all_rivals listed_by_all_rivals",
    "approach": "p_c distances attempts limit",
    "margin": "margin upper_bound gap steps noises recalled recalled_error recalled_predicted",
    "edits": "edits lost missed undecided",
    "space": "r_hat effective_samples autocorrelation_time steps passes overlap overlap_error dimension log_volume "
    "log_volume_error typical_singular_values typical_scores centre_length memories",
    "bits": "stored not_stored",
}
#: The fields of a result, by the name of the task, beginning with how it ended.
FIELDS = {task: {name: RESULT[name] for name in ("status", *names.split())} for task, names in _OF_TASKS.items()}


def contradiction(spec: Mapping, result: Mapping) -> str | None:
    """Why fields of a result, each possible by itself, contradict each other; None if they do not."""
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
    numbers = result["edits"]
    for name in ("lost", "missed", "undecided"):
        if name in result and len(result[name]) != len(numbers):
            return f"it has {len(numbers)} numbers of edits and {len(result[name])} {name}, which no run has"
    if any(missed > edits for edits, missed in zip(numbers, result.get("missed", ()))):
        return "it has more edits missed than made, which no run has"
    return None
