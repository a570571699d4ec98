"""Kernels in C++ as libraries: compiled for this kind of machine, and kept in the user's cache.

A library that is loaded is executed. So they lie in a folder that only the user can enter, and one is loaded only if
the user owns it, nobody else can write to it, and its last bytes are the SHA-256 of all before them, which loaders
ignore. Any other is compiled again.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import stat
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import jax
import jaxlib

from loadstone.files import write_whole
from loadstone.leftovers import temporary_folder

_DIGEST_BYTES = hashlib.sha256().digest_size
#: Lines of /proc/cpuinfo that tell kinds of processors apart, on x86 and on ARM.
_KINDS = ("flags", "model name", "Features", "CPU ")


def load(source: Path, headers: Sequence[Path], *, flags: Sequence[str]) -> ctypes.CDLL:
    """The library of a C++ file, from the user's cache or newly compiled; an OSError or a SubprocessError if there can
    be none."""
    compiler = next((path for name in ("c++", "g++", "clang++") if (path := shutil.which(name))), None)
    if compiler is None:
        raise FileNotFoundError("no C++ compiler is installed")
    library = _own_folder() / _name(source, headers, compiler, flags)
    if not _is_intact(library):
        content = _compiled(source, compiler, flags)
        if not _is_intact(library):  # several processes may compile at once
            library.unlink(missing_ok=True)  # so that the new file has an owner and a mode of its own
            write_whole(library, lambda file: _write(file, content))
    return ctypes.CDLL(str(library))


def _name(source: Path, headers: Sequence[Path], compiler: str, flags: Sequence[str]) -> str:
    """The name of a file, which says all that its contents depend on."""
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    texts = [file.read_text() for file in (source, *headers)]
    system = [jaxlib.__version__, *platform.libc_ver(), _processor()]
    identity = "\n".join([*texts, version, " ".join(flags), *system])
    return f"{source.stem}-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.so"


def _processor() -> str:
    """What `-march=native` depends on: machines of several kinds may share a home folder."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.platform() + platform.processor()
    return platform.machine() + "".join(sorted({line for line in lines if line.startswith(_KINDS)}))


def _own_folder() -> Path:
    """The folder of libraries, which only this user can enter, whatever the umask."""
    stated = Path(os.environ.get("XDG_CACHE_HOME", ""))
    folder = (stated if stated.is_absolute() else Path.home() / ".cache") / "loadstone"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    state = os.stat(folder)
    if state.st_uid != os.geteuid():
        raise PermissionError(f"{folder} belongs to another user")
    if stat.S_IMODE(state.st_mode) & 0o077:
        folder.chmod(0o700)
    return folder


def _is_intact(library: Path) -> bool:
    """Whether a library is there that nobody but this user can have written, and all of it."""
    try:
        handle = os.open(library, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    with open(handle, "rb") as file:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o022:
            return False
        content = file.read()
    return content[-_DIGEST_BYTES:] == _digest(content[:-_DIGEST_BYTES])


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _compiled(source: Path, compiler: str, flags: Sequence[str]) -> bytes:
    with temporary_folder() as scratch:
        fresh = Path(scratch) / "library.so"
        command = [compiler, *flags, f"-I{jax.ffi.include_dir()}", str(source), "-o", str(fresh)]
        subprocess.run(command, capture_output=True, check=True, timeout=300)
        return fresh.read_bytes()


def _write(file: IO[bytes], content: bytes) -> None:
    os.fchmod(file.fileno(), 0o600)
    file.write(content + _digest(content))
