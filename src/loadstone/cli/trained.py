"""How predictions of loss and accuracy are shown, in JSON and in a table."""

from __future__ import annotations

from loadstone.theory.minimiser import Minimiser, minimiser


def trained_memory(facts: int, d: int, answers: int | None = None, delta: float | None = None) -> dict[str, object]:
    """Loss and accuracy of the memory that training on the cross-entropy converges to."""
    found: Minimiser = minimiser(facts, d, answers=answers, delta=delta)
    return {
        "loss": found.loss,
        "loss_error": found.loss_error,
        "accuracy": found.accuracy,
        "accuracy_error": found.accuracy_error,
        "norm": found.norm,
        "chi": found.chi,
        "minimiser": found.status,
    }


def trained_rows(trained: dict[str, object]) -> dict[str, str]:
    """The same as rows of a table."""
    if not trained:
        return {}
    return {
        "trained on the cross-entropy: loss": f"{trained['loss']:.4f} +- {trained['loss_error']:.4f}",
        "  accuracy": f"{trained['accuracy']:.4f} +- {trained['accuracy_error']:.4f}",
        "  norm of W": f"{trained['norm']:.4g}",
        "  status": str(trained["minimiser"]),
    }
