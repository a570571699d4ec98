"""The options that several commands have, each written once, in the order in which help shows their panels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Optional

import typer

from loadstone.arguments import positive, refuse, whole
from loadstone.parameters import value_of
from loadstone.theory.load import nearest_associations

#: The panels of help, by purpose.
WHAT, HOW, LIMITS, DEVICES, OUTPUT = "What", "How", "Limits", "Devices", "Output"

Dimension = Annotated[int, typer.Option("--d", help="Dimension of the embeddings.", rich_help_panel=WHAT)]
#: For commands that take facts of a file instead.
DimensionOrFile = Annotated[
    Optional[int], typer.Option("--d", help="Dimension of the embeddings.", rich_help_panel=WHAT)
]
Size = Annotated[Optional[int], typer.Option("--p", "--facts", help="Number of associations.", rich_help_panel=WHAT)]
Load = Annotated[Optional[float], typer.Option(help="Load p log p / d^2, instead of --p.", rich_help_panel=WHAT)]
Kind = Annotated[str, typer.Option(help="original, decoupled or groups:8.", rich_help_panel=WHAT)]
Law = Annotated[str, typer.Option(help="gaussian, sphere, rademacher, power law:1.", rich_help_panel=WHAT)]
Answers = Annotated[
    Optional[int], typer.Option(help="Number of outputs; default: as many as inputs.", rich_help_panel=WHAT)
]
Frequencies = Annotated[
    str,
    typer.Option(
        help="How often each answer is a target: uniform, balanced, zipf:s or a file of numbers.", rich_help_panel=WHAT
    ),
]
Seed = Annotated[int, typer.Option(help="Which stream of associations.", rich_help_panel=WHAT)]
FirstSeed = Annotated[int, typer.Option(help="First stream of associations.", rich_help_panel=WHAT)]
Seeds = Annotated[int, typer.Option(help="How many streams, one after the other from --seed.", rich_help_panel=WHAT)]
RankFraction = Annotated[float, typer.Option(help="Rank fraction m / d, in (0, 1].", rich_help_panel=WHAT)]
AnyFamily = Annotated[
    str, typer.Option(help="Family of W: full, symmetric, masked:0.5, blocks:8, psd...", rich_help_panel=WHAT)
]
LinearFamily = Annotated[
    str,
    typer.Option(
        help="Linear family of W: full, symmetric, blocks:8, masked:0.5, masked:FILE.npy...", rich_help_panel=WHAT
    ),
]

NewtonSteps = Annotated[int, typer.Option(help="Most Newton steps for a verdict.", rich_help_panel=LIMITS)]
HessianBudget = Annotated[
    Optional[str], typer.Option(help="Memory for the Hessian, such as 8GiB.", rich_help_panel=LIMITS)
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.", rich_help_panel=OUTPUT)]
Settings = Annotated[
    Optional[list[str]],
    typer.Option(
        "--set", help="A parameter of the solver, as in learning_rate=0.1; may be repeated.", rich_help_panel=HOW
    ),
]

#: The largest sizes that a spec allows.
MOST_DIMENSION, MOST_ASSOCIATIONS = 2**24, 2**31 - 1


def associations_from(p: int | None, load: float | None, d: int) -> int:
    """p itself, or the p whose load is nearest to `load`; exactly one of the two must be given."""
    d = whole("d", d, 1, MOST_DIMENSION)
    if (p is None) == (load is None):
        raise ValueError("The problem needs a size: give either --load or --p, and not both.")
    if p is not None:
        return whole("p", p, 2, MOST_ASSOCIATIONS)
    nearest = nearest_associations(positive("load", load), d)
    if not 2 <= nearest <= MOST_ASSOCIATIONS:
        allowed = f"such that p is at least 2 and at most {MOST_ASSOCIATIONS}: it gives p = {nearest} at d = {d}"
        raise refuse("load", load, allowed)
    return nearest


def parameters_from(settings: Iterable[str] | None) -> dict[str, object]:
    """What `--set name=value` says, each name once."""
    parameters: dict[str, object] = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise refuse("set", setting, "of the form name=value, such as learning_rate=0.1")
        if name.strip() in parameters:
            raise refuse("set", setting, f"given once for {name.strip()}")
        parameters[name.strip()] = value_of(value.strip())
    return parameters
