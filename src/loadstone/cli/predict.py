"""loadstone predict: what the theory says about a size, without training anything."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Annotated, Optional

import typer

from loadstone.arguments import choice
from loadstone.cli.output import print_json, print_pairs
from loadstone.cli.predict_facts import print_facts
from loadstone.cli.trained import trained_memory, trained_rows
from loadstone.frequencies import check_answers, read_frequencies
from loadstone.theory.alone import winning_queries
from loadstone.theory.capacity import capacity
from loadstone.theory.caveats import caveats
from loadstone.theory.facts import impossible_words
from loadstone.theory.prediction import Prediction
from loadstone.theory.prediction import predict as predict_size
from loadstone.theory.storable import storable_interval

#: Widths of well-known language models, from their published descriptions, to give a number some scale.
MODEL_WIDTHS = {
    768: "GPT-2 small and BERT base",
    1600: "GPT-2 XL",
    4096: "Llama 2 7B",
    5120: "Llama 2 13B",
    8192: "Llama 2 70B",
    12288: "GPT-3 175B",
    16384: "Llama 3.1 405B",
}

#: Up to this d the interval takes half a second at most. Beyond, it is narrower than 0.1 % of the capacity.
_LARGEST_WITH_INTERVAL = 4096


def predict(
    d: Annotated[Optional[int], typer.Option(help="Dimension of the embeddings.")] = None,
    p: Annotated[Optional[int], typer.Option("--p", "--facts", help="Number of associations.")] = None,
    load: Annotated[Optional[float], typer.Option(help="Load p log p / d^2, instead of --d or --p.")] = None,
    kappa: Annotated[float, typer.Option(help="Rank fraction m / d, in (0, 1].")] = 1.0,
    answers: Annotated[Optional[int], typer.Option(help="Number of outputs; default: as many as facts.")] = None,
    frequencies: Annotated[
        str, typer.Option(help="How often each answer is a target: uniform, balanced, zipf:s or a file of numbers.")
    ] = "uniform",
    memory: Annotated[
        str, typer.Option("--memory", "--family", help="Family of memories: full, rank:25, symmetric, blocks:8...")
    ] = "full",
    margin: Annotated[float, typer.Option(help="Margin of every fact, in units of |W|.")] = 0.0,
    problem: Annotated[str, typer.Option(help="original (shared outputs) or decoupled.")] = "original",
    curves: Annotated[bool, typer.Option("--curves", help="Also loss and accuracy of the trained memory.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Predict how many facts fit into a d x d memory, and whether so many do."""
    decoupled = choice("problem", problem, ("original", "decoupled")) == "decoupled"
    if answers is not None or memory != "full" or margin != 0 or frequencies != "uniform":
        drawn = read_frequencies(frequencies)
        if drawn != "uniform":
            _, drawn = check_answers(answers, drawn)
        asked = (d, p, answers, memory, decoupled, margin, drawn)
        print_facts(*asked, load=load, kappa=kappa, curves=curves, json=json)
        return
    prediction = predict_size(d, p, load, kappa)
    if curves and prediction.kappa != 1:
        raise ValueError(f"kappa is {kappa}, but must be 1 with --curves: the minimiser is known at full rank only.")
    trained = trained_memory(prediction.p, prediction.d) if curves else {}
    if json:
        words = {"intuition": intuition(prediction), "caveats": _caveats(prediction, decoupled)}
        scatter = {"capacity_interval": _interval(prediction)}
        print_json(asdict(prediction) | scatter | trained | _as_facts(prediction) | words)
        return
    print_pairs(_title(prediction), _rows(prediction) | trained_rows(trained))
    for sentence in (*_caveats(prediction, decoupled), intuition(prediction)):
        if sentence:
            print(sentence)


def intuition(prediction: Prediction) -> str | None:
    """One sentence that names a language model of this width, if there is a well-known one."""
    width = prediction.d
    if width not in MODEL_WIDTHS:
        return None
    count = math.floor(prediction.p_c + 1e-9)
    facts = f"{count:,} facts".replace(",", " ") if count > 1 else "one fact"
    rank = "" if prediction.kappa == 1 else f" of rank {prediction.kappa:g} d"
    return f"For scale: one {width} x {width} matrix{rank}, the width of {MODEL_WIDTHS[width]}, can hold {facts}."


def _caveats(prediction: Prediction, decoupled: bool) -> list[str]:
    impossible = prediction.p * winning_queries(prediction.p, prediction.d).impossible
    found = caveats(prediction.d, prediction.kappa, decoupled)
    return [*found, *impossible_words(impossible, paired=True)]


def _as_facts(prediction: Prediction) -> dict[str, object]:
    """The same in the words of facts and answers, of which there are as many as facts."""
    x = prediction
    family = "full" if x.kappa == 1 else f"rank:{max(1, round(x.kappa * x.d))}"
    delta = 2 * float(capacity(x.kappa)) * x.d**2
    one = winning_queries(x.p, x.d)
    found = {"share_alone": one.alone, "impossible": x.p * one.impossible, "family": family, "delta": delta}
    return found | {"facts": x.p, "answers": x.p, "facts_c": x.p_c, "bound": x.kappa < 1}


def _interval(prediction: Prediction) -> tuple[int, int] | None:
    """Between which p the exact capacity of 95 % of all streams lies: how sharp the threshold is."""
    known = prediction.kappa == 1 and prediction.d <= _LARGEST_WITH_INTERVAL
    return storable_interval(prediction.d) if known else None


def _title(prediction: Prediction) -> str:
    size = f"d = {prediction.d}, p = {prediction.p}, kappa = {prediction.kappa:g}"
    return size + (f" ({prediction.filled_in} set to the capacity)" if prediction.filled_in else "")


def _rows(prediction: Prediction) -> dict[str, str]:
    x = prediction
    known = x.probability_storable is not None
    interval = _interval(x)
    return {
        "capacity of this d, at finite size": f"{math.floor(x.p_c + 1e-9)} associations",
        **({"  of 95 % of random streams": "{} to {}".format(*interval)} if interval else {}),
        "  in the limit of large d": f"{x.p_c_asymptotic:.0f}",
        "  of the Hebbian rule, in the limit": f"{x.p_hebbian:.0f}",
        "least d for this p": f"{x.d_c}" if x.d_c < 10**15 else f"{x.d_c:.4g}",
        "load alpha = p log p / d^2": f"{x.alpha:.4f}",
        "  at capacity, for this p": f"{x.alpha_c_finite:.4f}",
        "  at capacity, in the limit": f"{x.alpha_c:.4f}",
        "probability of being storable": f"{x.probability_storable:.4g}" if known else "known for kappa = 1 only",
        "Hebbian rule recalls": f"{100 * x.hebbian_accuracy:.4g} % of them",
        "  all of them with probability": f"{x.hebbian_probability_all_stored:.4g}",
        "bits per parameter, log2(p!) / parameters": f"{x.bits_per_parameter:.4f}",
        "  at capacity": f"{x.bits_per_parameter_at_capacity:.4f}",
        "parameters, d^2 or 2 d m - m^2": f"{x.parameters}",
        "D(p) and Var k": f"{x.D:.6f}, {x.var_k:.6f}",
    }
