"""loadstone check: verify a proof without the solver that made it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Optional

import typer

from loadstone.cli import options
from loadstone.cli.output import print_json, print_line


def check(
    proof: Annotated[str, typer.Argument(help="The proof (.npz) to check.")],
    instance: Annotated[Optional[str], typer.Option(help="Also check that it is about this instance (.npz).")] = None,
    json: options.Json = False,
) -> None:
    """Check a proof. Exit code 0 only if it is valid."""
    from loadstone.problems.instance_files import read_instance
    from loadstone.proofs.certificate import check_proof

    checked = check_proof(proof, None if instance is None else read_instance(instance))
    if json:
        print_json(asdict(checked))
    else:
        print_line(f"{'valid' if checked.valid else 'NOT valid'}: {checked.verdict or 'no verdict'}. {checked.reason}")
    if not checked.valid:
        raise typer.Exit(1)
