"""loadstone export: the records of a store as a table for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from loadstone.cli import options
from loadstone.cli.output import print_json, say


def export(
    store: options.StoreFolder,
    out: Annotated[str, typer.Option(help="The file to write.")],
    format: Annotated[Optional[str], typer.Option(help="csv or parquet; default: by the ending of --out.")] = None,
    json: options.Json = False,
) -> None:
    """Write one row for each record of a store: what was run, what came out, how long it took."""
    from loadstone.runs.export import export as export_store

    format = format or ("parquet" if Path(out).suffix == ".parquet" else "csv")
    options.checked_file(out)
    count = export_store(options.existing_store(store), out, format)
    if json:
        print_json({"store": store, "out": out, "format": format, "records": count})
    else:
        say(f"{out}: {count} records as {format}.")
