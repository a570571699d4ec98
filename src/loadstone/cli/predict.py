"""loadstone predict: what the theory predicts for a size, without training anything."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Annotated, Optional

from loadstone.arguments import choice, refuse
from loadstone.cli import options
from loadstone.cli.output import print_json, print_line, print_pairs
from loadstone.frequencies import read_frequencies
from loadstone.theory import prediction as theory
from loadstone.theory.answers import memories_seen
from loadstone.theory.minimiser import Minimiser, minimiser
from loadstone.theory.prediction import Prediction
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
    d: options.DimensionOrFile = None,
    p: options.Size = None,
    load: Annotated[Optional[float], options.what(help="Load p log p / d^2, instead of --d or --p.")] = None,
    kappa: options.RankFraction = 1.0,
    answers: Annotated[Optional[int], options.what(help="Number of outputs; default: as many as facts.")] = None,
    frequencies: options.Frequencies = "uniform",
    memory: Annotated[
        str, options.what("--memory", "--family", help="Family of memories: full, rank:25, symmetric, blocks:8...")
    ] = "full",
    margin: Annotated[float, options.what(help="Margin of every fact, in units of |W|.")] = 0.0,
    problem: Annotated[str, options.what(help="original (shared outputs) or decoupled.")] = "original",
    curves: Annotated[bool, options.output("--curves", help="Also loss and accuracy of the trained memory.")] = False,
    json: options.Json = False,
) -> None:
    """Predict how many facts fit into a d x d memory, and whether a given number does."""
    decoupled = choice("problem", problem, ("original", "decoupled")) == "decoupled"
    prediction = theory.predict(
        d, p, load=load, kappa=kappa, answers=answers, family=memory, decoupled=decoupled, margin=margin,
        frequencies=read_frequencies(frequencies),
    )  # fmt: skip
    trained = _trained(prediction) if curves else None
    if json:
        print_json(_record(prediction) | (_record_of_minimiser(trained) if trained else {}))
        return
    rows = rows_of_the_paper(prediction) if prediction.is_paper_setting else _rows(prediction)
    print_pairs(_title(prediction), rows | (_rows_of_minimiser(trained) if trained else {}))
    for sentence in (*prediction.caveats, intuition(prediction)):
        if sentence:
            print_line(sentence)


def intuition(prediction: Prediction) -> str | None:
    """One sentence that names a language model of this width, if there is a well-known one."""
    width = prediction.d
    if not prediction.is_paper_setting or width not in MODEL_WIDTHS:
        return None
    count = prediction.whole_capacity
    facts = f"{count:,} facts".replace(",", " ") if count > 1 else "one fact"
    rank = "" if prediction.kappa == 1 else f" of rank {prediction.kappa:g} d"
    return f"For scale: one {width} x {width} matrix{rank}, the width of {MODEL_WIDTHS[width]}, can hold {facts}."


def _record(prediction: Prediction) -> dict[str, object]:
    """The prediction for JSON, under the paper's names too."""
    x = prediction
    papers = {"p": x.facts, "p_c": x.facts_c, "filled_in": _filled_in(x), "capacity_interval": _interval(x)}
    return asdict(x) | papers | {"caveats": list(x.caveats), "intuition": intuition(x)}


def _filled_in(prediction: Prediction) -> str | None:
    return "p" if prediction.is_paper_setting and prediction.filled_in == "facts" else prediction.filled_in


def _interval(prediction: Prediction) -> tuple[int, int] | None:
    """The interval of p that holds the exact capacity of 95 % of all streams; None where it is not known."""
    known = prediction.is_paper_setting and prediction.kappa == 1 and prediction.d <= _LARGEST_WITH_INTERVAL
    return storable_interval(prediction.d) if known else None


def _title(prediction: Prediction) -> str:
    x = prediction
    size = f"d = {x.d}, {x.facts} facts, {x.answers} answers, {x.family} memories"
    if x.is_paper_setting:
        size = f"d = {x.d}, p = {x.facts}, kappa = {x.kappa:g}"
    return size + (f" ({_filled_in(x)} set to the capacity)" if x.filled_in else "")


def _rows(prediction: Prediction) -> dict[str, str]:
    x = prediction
    return {
        "capacity, an upper bound" if x.bound else "capacity": f"{x.whole_capacity} facts",
        "statistical dimension delta of the memories": f"{x.delta:.6g}",
        "cost of a fact, D": f"{x.D:.6f}",
        "load, facts times D / delta": f"{x.facts * x.D / x.delta if x.delta else math.inf:.4f}",
        "probability of being storable": _probability(x, "not known"),
        "facts that can be stored alone": f"{100 * x.share_alone:.6g} %",
        "answers are targets": x.frequencies if isinstance(x.frequencies, str) else "with given frequencies",
        "margin": f"{x.margin:g}",
    }


def rows_of_the_paper(prediction: Prediction) -> dict[str, str]:
    """The table for the paper's setting: as many answers as facts, no family, no margin. The explorer has it too."""
    x = prediction
    interval = _interval(x)
    return {
        "capacity of this d, at finite size": f"{x.whole_capacity} associations",
        **({"  of 95 % of random streams": "{} to {}".format(*interval)} if interval else {}),
        "  in the limit of large d": f"{x.p_c_asymptotic:.0f}",
        "  of the Hebbian rule, in the limit": f"{x.p_hebbian:.0f}",
        "least d for this p": f"{x.d_c}" if x.d_c is None or x.d_c < 10**15 else f"{x.d_c:.4g}",
        "load alpha = p log p / d^2": f"{x.alpha:.4f}",
        "  at capacity, for this p": f"{x.alpha_c_finite:.4f}",
        "  at capacity, in the limit": f"{x.alpha_c:.4f}",
        "probability of being storable": _probability(x, "known for kappa = 1 only"),
        "Hebbian rule recalls": f"{100 * (x.hebbian_accuracy or 0):.4g} % of them",
        "  all of them with probability": f"{x.hebbian_probability_all_stored:.4g}",
        "bits per parameter, log2(p!) / parameters": f"{x.bits_per_parameter:.4f}",
        "  at capacity": f"{x.bits_per_parameter_at_capacity:.4f}",
        "parameters, d^2 or 2 d m - m^2": f"{x.parameters}",
        "D(p) and Var k": f"{x.D:.6f}, {x.var_k:.6f}",
    }


def _probability(prediction: Prediction, unknown: str) -> str:
    probability = prediction.probability_storable
    return unknown if probability is None else f"{probability:.4g}"


def _trained(prediction: Prediction) -> Minimiser:
    """The memory that training on the cross-entropy converges to."""
    x = prediction
    if x.is_paper_setting:
        if x.kappa != 1:
            raise refuse("kappa", x.kappa, "1 with --curves: the minimiser is known at full rank only")
        return minimiser(x.facts, x.d)
    faces = memories_seen(x.family, x.d, answers=x.answers, decoupled=x.decoupled).faces
    if faces is None or faces.coins:
        raise refuse("memory", x.family, "a linear family, such as full or symmetric, with --curves")
    return minimiser(x.facts, x.d, answers=x.answers, delta=x.delta)


def _record_of_minimiser(trained: Minimiser) -> dict[str, object]:
    names = ("loss", "loss_error", "accuracy", "accuracy_error", "norm", "chi")
    return {name: getattr(trained, name) for name in names} | {"minimiser": trained.status}


def _rows_of_minimiser(trained: Minimiser) -> dict[str, str]:
    return {
        "trained on the cross-entropy: loss": f"{trained.loss:.4f} +- {trained.loss_error:.4f}",
        "  accuracy": f"{trained.accuracy:.4f} +- {trained.accuracy_error:.4f}",
        "  norm of W": f"{trained.norm:.4g}",
        "  status": trained.status,
    }
