"""loadstone pack and loadstone unpack: a store as one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loadstone.cli import options
from loadstone.cli.output import print_json, say
from loadstone.files import check_writable


def pack(
    store: options.StoreFolder,
    out: Annotated[str, typer.Option(help="The file to write, a zip.")],
    json: options.Json = False,
) -> None:
    """Write all records of a store to one file."""
    from loadstone.runs.pack import pack as pack_store

    check_writable(out)
    packed = pack_store(options.existing_store(store), out)
    if json:
        print_json({"store": store, "out": out} | packed._asdict())
    else:
        damaged = f"; {packed.damaged} were damaged and moved to quarantine" if packed.damaged else ""
        say(f"{out}: {packed.records} records{damaged}.")


def unpack(
    file: Annotated[str, typer.Argument(help="The file that loadstone pack wrote.")],
    store: Annotated[str, typer.Option(help="Folder of the store; made if missing.")],
    json: options.Json = False,
) -> None:
    """Add the records of a packed file to a store. The store keeps the records that it has."""
    from loadstone.runs.pack import check_packed
    from loadstone.runs.pack import unpack as unpack_into
    from loadstone.runs.store import Store

    if not Path(store).exists():
        check_packed(file)  # so that a refused file leaves no new folder behind
    unpacked = unpack_into(file, Store(store))
    if json:
        print_json({"file": file, "store": store} | unpacked._asdict())
    else:
        say(f"{store}: {unpacked.added} records added, {unpacked.already_there} were there already.")
