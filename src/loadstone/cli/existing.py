"""A store that a command only reads must exist; one that it writes to is created."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loadstone.runs.store import Store


def existing_store(folder: str) -> Store:
    """The store in a folder; refused if there is none, because opening it would create one."""
    from loadstone.runs.store import Store

    if not (Path(folder) / "records").is_dir():
        raise FileNotFoundError(f"store is {folder!r}, but must be the folder of a store, which holds records/.")
    return Store(folder)
