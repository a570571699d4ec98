"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO


def check_writable(path: str | Path) -> Path:
    """Refuse, before any long work, a path at which no file can be made."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file.")
    if path.exists() and not path.is_file():
        # A new file would take the place of a device or a pipe.
        raise FileExistsError(f"{path} is a device or a pipe, not a plain file: give the name of a file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a folder: make it first, or write elsewhere.")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{path.parent} cannot be written to: change its permissions, or write elsewhere.")
    return path


def write_whole(path: str | Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then give it that name; on failure leave nothing behind."""
    path = check_writable(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
