"""Compiled kernels: made once for a machine, and loaded only if nobody but the user can have written them."""

import ctypes
import os
import shutil
import stat
from pathlib import Path

import pytest

from loadstone.kernels import libraries

COMPILER = next((path for name in ("c++", "g++", "clang++") if (path := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
NOBODY = 65534


class Cache:
    """A folder of libraries, and a small one to be kept there, with a compiler that counts its calls."""

    def __init__(self, place: Path) -> None:
        self.folder, self.source, self.flags = place / "loadstone", place / "three.cc", ["-shared", "-fPIC"]
        self.source.write_text('extern "C" int three() { return 3; }')
        self._calls = place / "calls"
        self.compiler = place / "c++"
        self.compiler.write_text(f'#!/bin/sh\n[ "$1" = --version ] || echo >> {self._calls}\nexec {COMPILER} "$@"\n')
        self.compiler.chmod(0o755)

    def three(self) -> int:
        return libraries.load(self.source, [], flags=self.flags).three()

    @property
    def compilations(self) -> int:
        return len(self._calls.read_text().splitlines())

    @property
    def library(self) -> Path:
        (library,) = self.folder.iterdir()
        return library


@pytest.fixture
def cache(tmp_path, monkeypatch):
    cache = Cache(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda name: str(cache.compiler) if name == "c++" else None)
    return cache


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_it_is_compiled_once_into_a_folder_of_the_user_alone_whatever_the_umask(cache, umask):
    before = os.umask(umask)
    try:
        assert cache.three() == cache.three() == 3 and cache.compilations == 1
    finally:
        os.umask(before)
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700 and stat.S_IMODE(cache.library.stat().st_mode) == 0o600


def test_other_flags_and_another_source_make_another_library(cache):
    cache.three()
    cache.flags.append("-O1")
    cache.three()
    cache.source.write_text(cache.source.read_text() + "\n")
    cache.three()
    assert cache.compilations == len(list(cache.folder.iterdir())) == 3


DAMAGES = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "cut by a byte": lambda content: content[:-1],
    "zeroed": lambda content: bytes(len(content)),
    "one bit": lambda content: content[:4000] + bytes([content[4000] ^ 1]) + content[4001:],
    "without its digest": lambda content: content[:-32],
    "text": lambda content: b"made\n",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_library_is_compiled_again(cache, damage):
    cache.three()
    library, content = cache.library, cache.library.read_bytes()
    library.unlink()  # a new file: the old one is in use here
    library.write_bytes(damage(content))
    assert cache.three() == 3 and cache.compilations == 2
    assert cache.library.read_bytes() == content and cache.three() == 3 and cache.compilations == 2


@pytest.mark.parametrize("theirs", [pytest.param(True, marks=AS_ROOT), False])
def test_a_library_that_others_may_have_written_is_compiled_again(cache, theirs):
    """It says four, with a good digest."""
    cache.three()
    planted, three = cache.library, cache.source.read_text()
    cache.source.write_text(three.replace("return 3", "return 4"))
    cache.three()
    (four,) = set(cache.folder.iterdir()) - {planted}
    four.replace(planted)
    cache.source.write_text(three)
    if theirs:
        os.chown(planted, NOBODY, NOBODY)
    else:
        planted.chmod(0o666)
    assert cache.three() == 3 and cache.compilations == 3
    assert planted.stat().st_uid == os.geteuid() and not planted.stat().st_mode & 0o022


@AS_ROOT
def test_a_folder_of_another_user_is_not_used(cache):
    cache.folder.mkdir()
    os.chown(cache.folder, NOBODY, NOBODY)
    with pytest.raises(PermissionError, match="belongs to another user"):
        cache.three()
    assert not list(cache.folder.iterdir())


def test_a_folder_that_others_can_enter_is_closed_to_them(cache):
    cache.folder.mkdir()
    cache.folder.chmod(0o777)
    cache.three()
    assert stat.S_IMODE(cache.folder.stat().st_mode) == 0o700


def test_a_link_in_the_place_of_a_library_is_not_followed(cache, tmp_path):
    cache.three()
    library = cache.library
    library.symlink_to(library.rename(tmp_path / "elsewhere.so"))
    assert cache.three() == 3 and cache.compilations == 2 and not cache.library.is_symlink()


def test_the_digest_behind_a_library_does_not_keep_it_from_being_loaded(cache):
    cache.three()
    assert ctypes.CDLL(str(cache.library)).three() == 3
