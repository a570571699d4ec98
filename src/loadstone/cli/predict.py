"""loadstone predict: what the theory says about a size, without training anything."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Annotated, Optional

import typer

from loadstone.cli.output import print_json, print_pairs
from loadstone.theory.prediction import Prediction
from loadstone.theory.prediction import predict as predict_size

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


def predict(
    d: Annotated[Optional[int], typer.Option(help="Dimension of the embeddings.")] = None,
    p: Annotated[Optional[int], typer.Option(help="Number of associations.")] = None,
    load: Annotated[Optional[float], typer.Option(help="Load p log p / d^2, instead of --d or --p.")] = None,
    kappa: Annotated[float, typer.Option(help="Rank fraction m / d, in (0, 1].")] = 1.0,
    curves: Annotated[bool, typer.Option("--curves", help="Also loss and accuracy of the trained memory.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Predict how many associations fit into a d x d memory, or how many of p associations it recalls."""
    prediction = predict_size(d, p, load, kappa)
    if curves and prediction.kappa != 1:
        raise ValueError(f"kappa is {kappa}, but must be 1 with --curves: the minimiser is known at full rank only.")
    trained = _trained(prediction) if curves else {}
    if json:
        print_json(asdict(prediction) | trained | {"intuition": intuition(prediction)})
        return
    print_pairs(_title(prediction), _rows(prediction) | _trained_rows(trained))
    print(intuition(prediction))


def intuition(prediction: Prediction) -> str:
    """One sentence that compares the number with a language model of about this width."""
    width = min(MODEL_WIDTHS, key=lambda known: abs(known - prediction.d) / min(known, prediction.d))
    count = math.floor(predict_size(d=width, kappa=prediction.kappa).p_c + 1e-9)
    facts = f"{count:,} facts".replace(",", " ") if count > 1 else "one fact"
    rank = "" if prediction.kappa == 1 else f" of rank {prediction.kappa:g} d"
    return f"For scale: one {width} x {width} matrix{rank}, the width of {MODEL_WIDTHS[width]}, can hold {facts}."


def _trained(prediction: Prediction) -> dict[str, object]:
    from loadstone.theory.minimiser import minimiser

    found = minimiser(prediction.p, prediction.d)
    return {
        "loss": found.loss,
        "loss_error": found.loss_error,
        "accuracy": found.accuracy,
        "accuracy_error": found.accuracy_error,
        "norm": found.norm,
        "chi": found.chi,
        "minimiser": found.status,
    }


def _title(prediction: Prediction) -> str:
    size = f"d = {prediction.d}, p = {prediction.p}, kappa = {prediction.kappa:g}"
    return size + (f" ({prediction.filled_in} set to the capacity)" if prediction.filled_in else "")


def _rows(prediction: Prediction) -> dict[str, str]:
    x = prediction
    known = x.probability_storable is not None
    return {
        "capacity of this d, at finite size": f"{math.floor(x.p_c + 1e-9)} associations",
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


def _trained_rows(trained: dict[str, object]) -> dict[str, str]:
    if not trained:
        return {}
    return {
        "trained on the cross-entropy: loss": f"{trained['loss']:.4f} +- {trained['loss_error']:.4f}",
        "  accuracy": f"{trained['accuracy']:.4f} +- {trained['accuracy_error']:.4f}",
        "  norm of W": f"{trained['norm']:.4g}",
        "  status": str(trained["minimiser"]),
    }
