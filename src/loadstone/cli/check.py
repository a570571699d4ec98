"""loadstone check: verify a proof without the solver that made it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Optional

import typer

from loadstone.cli import options
from loadstone.cli.interrupts import ends_like_an_interrupt
from loadstone.cli.output import print_json, print_line, say
from loadstone.files import check_writable


def check(
    proof: Annotated[str, typer.Argument(help="The proof (.npz) to check.")],
    instance: Annotated[Optional[str], typer.Option(help="Also check that it is about this instance (.npz).")] = None,
    vipr: Annotated[
        Optional[str], typer.Option(help="Also write it, if it is valid, as a VIPR file for exact solvers' checkers.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Check a proof. Exit code 0 only if it is valid."""
    from loadstone.problems.instance_files import read_instance
    from loadstone.proofs.certificate import check_proof

    if vipr is not None:
        check_writable(vipr)
    checked = check_proof(proof, None if instance is None else read_instance(instance))
    if json:
        print_json(asdict(checked))
    else:
        print_line(f"{'valid' if checked.valid else 'NOT valid'}: {checked.verdict or 'no verdict'}. {checked.reason}")
    if not checked.valid:
        raise typer.Exit(1)
    if vipr is not None:
        from loadstone.proofs.vipr import convert

        with ends_like_an_interrupt():
            convert(proof, vipr)
        say(f"{vipr}: the same proof, to be checked with viprchk {vipr}.")
