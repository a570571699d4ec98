"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from loadstone import leftovers
from loadstone.arguments import path_of, refuse

#: The names that `_temporary` gives.
_TEMPORARY = re.compile(r"\.loadstone-[0-9a-f]{16}\.part")


class Version(NamedTuple):
    """What tells a file from another, or a later one, of the same name."""

    device: int
    number: int
    size: int
    changed: int


def version_of(path: str | Path) -> Version:
    """The version of a file that is there now, to be given to `write_whole` when the file is to be replaced."""
    present = os.stat(path)
    return Version(present.st_dev, present.st_ino, present.st_size, present.st_mtime_ns)


def check_writable(path: str | Path) -> Path:
    """Refuse, before any long work, a path at which `write_whole` cannot make a file."""
    path_of("path", path)
    if str(path) in ("", ".") or "\0" in str(path):
        raise refuse("file", str(path), "the name of a file")
    path = Path(path)
    target = _target(path)
    _check_present(path, target)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{target.parent} is not a folder: make it first, or write elsewhere.")
    temporary = _temporary(target)
    try:
        open(temporary, "xb").close()
    except OSError as error:
        raise type(error)(f"{target.parent} cannot be written to ({error.strerror}): write elsewhere.") from error
    finally:
        temporary.unlink(missing_ok=True)
    return path


def write_whole(path: str | Path, write: Callable[[IO[bytes]], object], *, replacing: Version | None = None) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it to `path`; on failure leave nothing behind.

    A file that is there keeps its permissions and its owner, and a symbolic link stays: its target is written. Each
    writer has a separate temporary file, so if several write to one path, the last one wins. What a killed writer has
    left in the folder is removed.

    replacing: the version that the contents were made from. If the file is another by now, it is left as it is.
    """
    target = _target(check_writable(path))
    temporary = _temporary(target)
    leftovers.remove_files(target.parent, _TEMPORARY)
    try:
        with open(temporary, "xb", opener=_private if target.exists() else None) as file:
            leftovers.hold(file.fileno())
            write(file)
            file.flush()
            _take_over(target, file.fileno())
            os.fsync(file.fileno())
        with _alone_in(target.parent) if replacing else contextlib.nullcontext():
            if replacing and (not target.exists() or version_of(target) != replacing):
                raise FileExistsError(f"{path} has changed since it was read, and was left as it is: start again.")
            os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    """What is to be written: the file that a symbolic link leads to, or else the path itself."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else path


def _private(path: str, flags: int) -> int:
    """Open a file that nobody else may read, because that which it will replace may be so."""
    return os.open(path, flags, 0o600)


def _take_over(replaced: Path, file: int) -> None:
    """Give a file the group, the owner and the permissions of the one that it will replace, as far as the system allows
    it."""
    try:
        present = os.stat(replaced)
    except FileNotFoundError:
        return
    with contextlib.suppress(PermissionError):
        os.fchown(file, -1, present.st_gid)
    with contextlib.suppress(PermissionError):
        os.fchown(file, present.st_uid, -1)
    os.fchmod(file, stat.S_IMODE(present.st_mode))


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other writer compares and replaces a file in this folder. Not every network file system can lock
    one; there two could still do so within the same millisecond."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _temporary(path: Path) -> Path:
    """A name that no other writer has. It does not contain the file's name, which may be as long as is allowed."""
    return path.with_name(f".loadstone-{secrets.token_hex(8)}.part")


def _check_present(path: Path, target: Path) -> None:
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
    folder = os.stat(target.parent)
    owners = (0, present.st_uid, folder.st_uid)
    if folder.st_mode & stat.S_ISVTX and os.geteuid() not in owners:
        raise PermissionError(f"{path} belongs to another user and cannot be replaced: write elsewhere.")


def _short(path: Path, most: int = 80) -> str:
    text = str(path)
    return text if len(text) <= most else f"{text[: most // 2]}...{text[-most // 2 :]}"
