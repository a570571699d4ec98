"""loadstone predict with answers, a family of memories, a margin or frequencies: N D(M) = delta."""

from __future__ import annotations

import math
from dataclasses import asdict, fields

from loadstone.arguments import rank_fraction, refuse
from loadstone.cli.output import print_json, print_pairs
from loadstone.cli.trained import trained_memory, trained_rows
from loadstone.theory.answers import memories_seen
from loadstone.theory.cone import merge_law
from loadstone.theory.facts import FactsPrediction, predict_facts
from loadstone.theory.prediction import Prediction


def print_facts(
    d: int | None,
    facts: int | None,
    answers: int | None,
    memory: str,
    decoupled: bool,
    margin: float,
    frequencies: str | tuple[float, ...],
    *,
    load: float | None,
    kappa: float,
    curves: bool,
    json: bool,
) -> None:
    """Print what the law says, as JSON or as a table with its caveats."""
    if load is not None:
        raise refuse("load", load, "left out where answers, a family, a margin or frequencies are given: say --facts")
    found = predict_facts(d, facts, answers, _family(memory, kappa, d), decoupled, margin, frequencies)
    trained = _trained(found) if curves else {}
    if json:
        # Keys that a prediction for as many answers as facts has, and this one has not, are null.
        known = dict.fromkeys(field.name for field in fields(Prediction))
        same = {"p": found.facts, "p_c": found.facts_c, "kappa": kappa, "var_k": merge_law(found.answers).variance}
        print_json(known | same | asdict(found) | {"caveats": list(found.caveats)} | trained)
        return
    print_pairs(_title(found), _rows(found) | trained_rows(trained))
    for sentence in found.caveats:
        print(sentence)


def _family(memory: str, kappa: float, d: int | None) -> str:
    if rank_fraction("kappa", kappa) == 1:
        return memory
    if memory != "full" or d is None:
        allowed = "1 with a family of memories" if memory != "full" else "1 unless d is given too"
        raise refuse("kappa", kappa, f"{allowed}: say --memory rank:m")
    return f"rank:{max(1, round(kappa * d))}"


def _trained(found: FactsPrediction) -> dict[str, object]:
    room = memories_seen(found.family, found.d, found.answers, found.decoupled)
    if room.faces is None or room.faces.coins:
        raise refuse("memory", found.family, "a linear family, such as full or symmetric, with --curves")
    return trained_memory(found.facts, found.d, found.answers, found.delta)


def _title(found: FactsPrediction) -> str:
    size = f"d = {found.d}, {found.facts} facts, {found.answers} answers, {found.family} memories"
    return size + (f" ({found.filled_in} set to the capacity)" if found.filled_in else "")


def _rows(found: FactsPrediction) -> dict[str, str]:
    probability = found.probability_storable
    return {
        "capacity, an upper bound" if found.bound else "capacity": f"{math.floor(found.facts_c * (1 + 1e-9))} facts",
        "statistical dimension delta of the memories": f"{found.delta:.6g}",
        "cost of a fact, D": f"{found.D:.6f}",
        "load, facts times D / delta": f"{found.facts * found.D / found.delta:.4f}",
        "probability of being storable": "not known" if probability is None else f"{probability:.4g}",
        "facts that can be stored alone": f"{100 * found.share_alone:.6g} %",
        "answers are targets": found.frequencies if isinstance(found.frequencies, str) else "with given frequencies",
        "margin": f"{found.margin:g}",
    }
