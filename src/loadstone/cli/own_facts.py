"""Facts in words for `loadstone capacity`: how many of a file can be stored, in its order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from loadstone.cli.output import UNDECIDED, print_json, print_line
from loadstone.deadline import Deadline
from loadstone.theory.codimension import codimension

if TYPE_CHECKING:
    from loadstone.books.gathered import Gathered
    from loadstone.solvers.decide import ProofLimits


def own_capacity(
    gathered: Gathered, about: dict[str, Any], seconds: float, family: str, limits: ProofLimits, json: bool
) -> None:
    """Print the largest k whose first k facts are storable."""
    from loadstone.books.prefixes import first_that_fit
    from loadstone.memories.families import subspace_of, written_family

    clock, subspace = Deadline(), subspace_of(family, about["d"])
    dimensions = about["d"] ** 2 if subspace is None else subspace.dimension(about["d"])
    guess = dimensions / codimension(max(2, about["answers"]))
    fitting = first_that_fit(gathered, guess, seconds, family, limits)
    first_out = gathered.name(fitting.fits) if fitting.is_exact and fitting.fits < len(gathered) else None
    if json:
        record = about | {
            "family": written_family(family), "p_c": fitting.fits if fitting.is_exact else None,
            "storable": fitting.fits, "not_storable": fitting.fails, "first_out": first_out,
            "verdicts": fitting.verdicts, "seconds": clock.taken,
        }  # fmt: skip
        print_json(record)
    elif fitting.is_exact:
        beyond = f", and no W stores {first_out} beside them" if first_out else ""
        took = f"{clock.taken:.1f} s, proved"
        print_line(f"Of {len(gathered)} facts, the first {fitting.fits} can be stored{beyond} ({took}).")
    else:
        print_line(f"Of {len(gathered)} facts, the first {fitting.fits} can be stored, and at most {fitting.most}.")
    if not fitting.is_exact:
        raise typer.Exit(UNDECIDED)
