"""Facts in words for the commands that prove: where `certify` and `capacity` are given facts instead of a size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from loadstone.arguments import refuse
from loadstone.cli.facts_options import gathered_from
from loadstone.cli.output import print_json
from loadstone.deadline import Deadline
from loadstone.theory.codimension import codimension

if TYPE_CHECKING:
    from loadstone.books.gathered import Gathered

OwnVectors = Annotated[
    Optional[str],
    typer.Option(help="Vectors of the words, if --instance has facts in words (as for loadstone facts store)."),
]


def check_not_drawn(**options: tuple[object, object]) -> None:
    """Refuse options that are about drawn facts where facts are given. Each has its value and its default."""
    for name, (value, default) in options.items():
        if value != default:
            raise refuse(name, value, "left out with --instance: it is about facts that are drawn at random")


def own_facts(
    instance: str, vectors: str, words: str | None, columns: str, phrases: str
) -> tuple[Gathered, dict[str, Any]]:
    """The facts of a file with their vectors, and what to say about them."""
    gathered = gathered_from(instance, vectors, words, columns, phrases)
    about = {"problem": "original", "instance": instance, "vectors": vectors, "d": int(gathered.inputs.shape[1])}
    about |= {"p": len(gathered), "answers": len(gathered.answers)}
    return gathered, about | {"out_of_vocabulary": [name for name, _ in gathered.missing]}


def own_capacity(
    instance: str,
    vectors: str,
    words: str | None,
    columns: str,
    phrases: str,
    seconds: float,
    family: str,
    steps: int,
    budget: str | None,
    json: bool,
) -> None:
    """The largest k whose first k facts are storable, in the order of a file."""
    gathered, about = own_facts(instance, vectors, words, columns, phrases)
    from loadstone.books.prefixes import first_that_fit
    from loadstone.memories.families import subspace_of, written_family
    from loadstone.problems.budget import Budget
    from loadstone.solvers.decide import ProofLimits

    clock, subspace = Deadline(), subspace_of(family, about["d"])
    dimensions = about["d"] ** 2 if subspace is None else subspace.dimension(about["d"])
    guess = dimensions / codimension(max(2, about["answers"]))
    limits = ProofLimits(steps, None if budget is None else Budget.parse(budget))
    fitting = first_that_fit(gathered, guess, seconds, family, limits)
    first_out = gathered.name(fitting.fits) if fitting.is_exact and fitting.fits < len(gathered) else None
    record = about | {
        "family": written_family(family), "p_c": fitting.fits if fitting.is_exact else None, "storable": fitting.fits,
        "not_storable": fitting.fails, "first_out": first_out, "verdicts": fitting.verdicts,
        "seconds": clock.taken,
    }  # fmt: skip
    if json:
        print_json(record)
    elif fitting.is_exact:
        beyond = f", and no W stores {first_out} beside them" if first_out else ""
        took = f"{record['seconds']:.1f} s, proved"
        print(f"Of {len(gathered)} facts, the first {fitting.fits} can be stored{beyond} ({took}).")
    else:
        print(f"Of {len(gathered)} facts, the first {fitting.fits} can be stored, and at most {fitting.most}.")
    if not fitting.is_exact:
        raise typer.Exit(3)
