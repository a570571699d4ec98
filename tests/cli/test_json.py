"""What commands say to programs: with --json exactly one JSON object on standard output, of the keys and types here."""

import inspect
import json
import shlex
from types import UnionType
from typing import Any, get_args

import pytest

from loadstone.cli.app import COMMANDS, app_of
from tests.cli.folder import FACTS

SIZE = {"problem": str, "d": int, "p": int}
DRAWN = SIZE | {"seed": int, "law": str}
WITH_ANSWERS = {"answers": int, "frequencies": str}
OWN = SIZE | {"instance": str, "vectors": str, "answers": int, "out_of_vocabulary": list[str]}
VERDICT = {
    "family": str, "verdict": str, "margin": float | None,
    "passes": int, "newton_steps": int, "cg_products": int, "dense_solves": int, "seconds": float, "reason": str,
}  # fmt: skip
CHECKED = {"valid": bool, "verdict": str | None, "reason": str, "margin": float | None,
           "remainder": float | None, "family": str}  # fmt: skip
CAPACITY = {
    "problem": str, "d": int, "law": str, "family": str, "dimensions": int, "seeds": list[int],
    "p_c": list[int | None], "alpha_c": list[float | None], "mean_p_c": float | None, "undecided": int,
    "predicted_p_c": float | None, "predicted_interval": list[int] | None, "verdicts": int, "seconds": float,
}  # fmt: skip
SAMPLED = {
    "problem": str, "d": int, "p": int, "seed": int, "answers": int, "family": str, "dimension": int, "mixed": bool,
    "r_hat": float, "effective_samples": float, "autocorrelation_time": float, "overlap": float | None,
    "overlap_error": float | None, "overlap_predicted": float, "free_entropy": float | None,
    "free_entropy_error": float | None, "free_entropy_predicted": float, "log_volume": float | None, "chains": int,
    "steps": int, "passes": int, "method": str, "seconds": float,
}  # fmt: skip
RUN = {"seed": int, "accuracy": float, "violations": int, "loss": float | None, "margin": float | None, "steps": int,
       "passes": int, "status": str, "seconds": float}  # fmt: skip
TRAINED = DRAWN | {
    "kappa": float, "rank": int, "family": str, "solver": str, "stop": str, "load": float, "seeds": int,
    "description": str, "accuracy": float, "violations": float, "loss": float | None, "margin": float | None,
    "steps": float, "passes": float, "seconds": float, "status": str, "runs": [RUN],
}  # fmt: skip
#: Predicted of as many answers as facts; null for other numbers of answers.
OF_THE_PAPER = (
    "alpha alpha_c alpha_c_finite p_c_asymptotic p_hebbian bits_per_parameter bits_per_parameter_at_capacity "
    "hebbian_accuracy hebbian_probability_all_stored"
).split()
PREDICTED = {
    "d": int, "facts": int, "answers": int, "family": str, "kappa": float, "decoupled": bool, "margin": float,
    "frequencies": str, "filled_in": str | None, "delta": float, "bound": bool, "D": float, "var_k": float,
    "facts_c": float, "facts_c_error": float, "probability_storable": float | None, "share_alone": float,
    "impossible": float, "caveats": list[str], "parameters": int | None, "d_c": int | None, "p": int, "p_c": float,
    "capacity_interval": list[int] | None, "intuition": str | None, **dict.fromkeys(OF_THE_PAPER, float | None),
}  # fmt: skip
CURVES = {"loss": float | None, "loss_error": float | None, "accuracy": float, "accuracy_error": float,
          "norm": float | None, "chi": float | None, "minimiser": str}  # fmt: skip
GATHERED = {
    "facts": int, "answers": int, "d": int, "repeated": int, "averaged": list[str], "out_of_vocabulary": list[str],
    "left_out": list[list[str]],
}  # fmt: skip
REASON = {"kind": str, "facts": list[str], "statement": str, "advice": str}
SCREENED = GATHERED | {"input_rank": int, "output_rank": int, "verdict": str, "obstructions": [REASON],
                       "seconds": float}  # fmt: skip
STORED = GATHERED | {
    "stored": int, "proved": bool, "family": str, "impossible": list[str], "failures": [[str, str, str, float]],
    "obstructions": [REASON], "conflict": list[str], "conflict_minimal": bool, "seconds": float, "out": str | None,
}  # fmt: skip
ANSWER = {"subject": str, "answer": str, "score": float, "margin": float, "stored": bool}
FITTING = {"count": int, "fits": int, "fails": int | None, "verdicts": int, "most": int, "all_fit": bool, "exact": bool}
LAW = {
    "answers": int, "input_dimensions": int, "output_dimensions": int, "capacity": float | None,
    "capacity_error": float, "is_bound": bool, "delta": float, "cost": float, "load": float | None,
    "probability": float | None, "with_new_answers": int | None, "caveats": list[str],
}  # fmt: skip
SHUFFLED = {
    "facts": int, "fits": float, "most": float | None, "decided": bool, "shuffles": [FITTING],
    "structure_least": float | None, "structure_most": float | None, "more_may_fit": bool,
}  # fmt: skip
MORE = FITTING | {"first_out": str | None, "known": int, "new_answers": int, "conflict": list[str],
                  "conflict_minimal": bool, "proved": bool}  # fmt: skip
BUDGET = {"book": str, "family": str, "facts": int, "stored": int, "law": LAW, "shuffled": SHUFFLED, "more": MORE,
          "seconds": float}  # fmt: skip
EDITED = {
    "method": str, "edits": int, "taken": list[str], "missed": list[str], "lost": [[str, str, str, float]],
    "kept": int, "gained": list[str], "impossible": list[str], "proved": bool,
    "obstructions": [{"kind": str, "statement": str, "advice": str}], "facts": int, "answers": int, "d": int,
    "stored": int, "averaged": list[str], "out_of_vocabulary": list[str], "left_out": list[str], "seconds": float,
    "out": str | None,
}  # fmt: skip
SWEPT = dict.fromkeys(("total", "before", "done", "diverged", "missing", "lost_workers", "quarantined"), int)
SWEPT |= {"seconds": float, "stopped": str, "complete": bool, "failed": list[str]}
RECORDS = {"records": int, "diverged": int, "quarantined": int, "statuses": {"closed form": int, "diverged": int}}

#: Every command that has --json, with the exit code of this run and the keys of what it says.
RUNS = {
    "certify --d 3 --p 4": (0, DRAWN | VERDICT),
    "certify --d 3 --facts 14 --answers 3 --out new.npz": (0, DRAWN | WITH_ANSWERS | VERDICT),
    "certify --d 12 --p 34 --steps 1": (3, DRAWN | VERDICT),
    "certify --instance x.npz": (0, SIZE | {"instance": str} | VERDICT),
    f"certify --instance f.csv --out proof.npz {FACTS}": (0, OWN | VERDICT),
    "check proof.npz": (0, CHECKED),
    "check x.npz": (1, CHECKED),
    "capacity --d 3 --seeds 2": (0, CAPACITY),
    "capacity --d 10 --seeds 1 --steps 1": (3, CAPACITY),
    "capacity --d 3 --seeds 1 --answers 3 --frequencies zipf:1": (0, CAPACITY | WITH_ANSWERS),
    f"capacity --instance f.csv {FACTS}": (
        0, OWN | {"family": str, "p_c": int | None, "storable": int, "not_storable": int | None,
                  "first_out": str | None, "verdicts": int, "seconds": float},
    ),
    "sample --d 3 --p 2 --steps 2 --no-volume": (0, SAMPLED),
    "predict --d 20": (0, PREDICTED),
    "predict --d 20 --answers 8 --facts 30 --family blocks:4 --margin 0.1": (0, PREDICTED),
    "predict --d 12 --p 60 --curves": (0, PREDICTED | CURVES),
    "train --d 4 --p 6 --solver hebbian": (0, TRAINED),
    "train --d 4 --p 6 --solver hebbian --seeds 2 --answers 3": (0, TRAINED | WITH_ANSWERS),
    f"facts screen f.csv {FACTS}": (0, SCREENED),
    f"facts store f.csv {FACTS}": (0, STORED),
    "facts store many.csv --vectors w.txt --out many.book": (0, STORED),
    "facts recall b.book Chad Atlantis": (1, {"book": str, "answers": [ANSWER], "unknown": list[str]}),
    f"facts budget b.book --shuffles 1 --more more.jsonl {FACTS}": (0, BUDGET),
    "facts budget b.book --shuffles 0": (0, BUDGET | {"shuffled": None, "more": None}),
    "facts edit b.book c.csv --vectors v.txt --method batch": (0, EDITED),
    "status --store s": (0, RECORDS),
    "status grid.toml --store s": (
        0, RECORDS | {"total": int, "done": int, "missing": int, "seconds_left": float | None},
    ),
    "run grid.toml --store s --workers 1": (0, SWEPT),
    "export --store s --out s.csv": (0, {"store": str, "out": str, "format": str, "records": int}),
    "pack --store s --out s.zip": (0, {"store": str, "out": str, "records": int, "damaged": int}),
    "unpack s.zip --store other": (0, {"file": str, "store": str, "added": int, "already_there": int}),
}  # fmt: skip


def fits(value: object, kind: Any) -> bool:
    """Whether a value is of a type; a whole number is a number too, but True is not one."""
    if isinstance(kind, dict):
        return isinstance(value, dict) and value.keys() == kind.keys() and all(fits(value[k], kind[k]) for k in kind)
    if isinstance(kind, list) or get_args(kind) and not isinstance(kind, UnionType):
        (first, *more) = kind if isinstance(kind, list) else get_args(kind)
        if more:
            return len(value) == len(kind) and all(map(fits, value, kind))
        return isinstance(value, list) and all(fits(one, first) for one in value)
    if isinstance(kind, UnionType):
        return any(fits(value, one) for one in get_args(kind))
    if kind in (None, type(None)):
        return value is None
    return isinstance(value, (int, float) if kind is float else kind) and (kind is bool or not isinstance(value, bool))


@pytest.mark.parametrize("words", RUNS)
def test_one_json_object_of_these_keys_and_nothing_else_on_standard_output(words, command, shared_folder):
    code, schema = RUNS[words]
    done = command(*shlex.split(words), "--json", cwd=shared_folder)
    assert done.returncode == code and done.stdout.count("\n") == 1 and "{" not in done.stderr, done.stderr
    answer = json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    wrong = {name: answer.get(name) for name in schema if not fits(answer.get(name), schema[name])}
    assert answer.keys() == schema.keys() and not wrong


def test_every_command_with_the_option_is_among_them():
    app = app_of(COMMANDS)
    commands = {one.name: one.callback for one in app.registered_commands}
    for group in app.registered_groups:
        commands |= {
            f"{group.name} {one.callback.__name__}": one.callback for one in group.typer_instance.registered_commands
        }
    for name, callback in commands.items():
        assert ("json" in inspect.signature(callback).parameters) == any(words.startswith(name) for words in RUNS), name
