"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO

from loadstone import leftovers
from loadstone.arguments import refuse

#: The names that `_temporary` gives.
_TEMPORARY = re.compile(r"\.loadstone-[0-9a-f]{16}\.part")


def check_writable(path: str | Path) -> Path:
    """Refuse, before any long work, a path at which `write_whole` cannot make a file."""
    if str(path) in ("", ".") or "\0" in str(path):
        raise refuse("file", str(path), "the name of a file")
    path = Path(path)
    _check_present(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a folder: make it first, or write elsewhere.")
    temporary = _temporary(path)
    try:
        open(temporary, "xb").close()
    except OSError as error:
        raise type(error)(f"{path.parent} cannot be written to ({error.strerror}): write elsewhere.") from error
    finally:
        temporary.unlink(missing_ok=True)
    return path


def write_whole(path: str | Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it to `path`; on failure leave nothing behind.

    Each writer has a separate temporary file, so if several write to one path, the last one wins. What a killed writer
    has left in the folder is removed.
    """
    path = check_writable(path)
    temporary = _temporary(path)
    leftovers.remove_files(temporary.parent, _TEMPORARY)
    try:
        with open(temporary, "xb") as file:
            leftovers.hold(file.fileno())
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    """A name that no other writer has. It does not contain the file's name, which may be as long as is allowed."""
    return path.with_name(f".loadstone-{secrets.token_hex(8)}.part")


def _check_present(path: Path) -> None:
    """Refuse a path at which something exists that a new file must not or cannot replace."""
    try:
        present = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:  # such as a name that is too long
        raise type(error)(f"{_short(path)} cannot be the name of a file ({error.strerror}): give another.") from error
    if stat.S_ISDIR(present.st_mode):
        raise IsADirectoryError(f"{path} is a folder: give the name of a file.")
    if not stat.S_ISREG(present.st_mode):
        # The rename would replace the device or pipe by a plain file.
        raise FileExistsError(f"{path} is a device or a pipe, not a plain file: give the name of a file.")
    folder = os.stat(path.parent)
    owners = (0, os.lstat(path).st_uid, folder.st_uid)
    if folder.st_mode & stat.S_ISVTX and os.geteuid() not in owners:
        raise PermissionError(f"{path} belongs to another user and cannot be replaced: write elsewhere.")


def _short(path: Path, most: int = 80) -> str:
    text = str(path)
    return text if len(text) <= most else f"{text[: most // 2]}...{text[-most // 2 :]}"
