"""loadstone check: verify a proof without the solver that found it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Optional

import typer

from loadstone.cli.options import Json
from loadstone.cli.output import print_json


def check(
    proof: Annotated[str, typer.Argument(help="The proof (.npz) to check.")],
    instance: Annotated[Optional[str], typer.Option(help="Also check that it is about this instance (.npz).")] = None,
    json: Json = False,
) -> None:
    """Check a proof. Exit code 0 only if it is valid."""
    from loadstone.problems.instance_files import read_instance
    from loadstone.proofs.certificate import check_proof

    found = check_proof(proof, None if instance is None else read_instance(instance))
    if json:
        print_json(asdict(found))
    else:
        print(f"{'valid' if found.valid else 'NOT valid'}: {found.verdict or 'no verdict'}. {found.reason}")
    if not found.valid:
        raise typer.Exit(1)
