import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.folder import prepare

LOADSTONE = Path(sys.executable).with_name("loadstone")


@pytest.fixture(scope="module")
def shared_folder(tmp_path_factory):
    """The folder of tests/cli/folder.py, for tests that leave it as it is or only add files."""
    folder = tmp_path_factory.mktemp("folder")
    prepare(folder)
    return folder


@pytest.fixture
def folder(tmp_path):
    """The folder of tests/cli/folder.py, for a test that changes it."""
    prepare(tmp_path)
    return tmp_path


@pytest.fixture
def process():
    """Run a command as a process of its own, where that is the point: it takes seconds to start."""

    def run(words, **options):
        return subprocess.run([LOADSTONE, *words.split()], capture_output=True, text=True, timeout=300, **options)

    return run
