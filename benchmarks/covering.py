"""Which tests run which lines of the package: a plugin of pytest for `mutate.py`.

    COVERED_PACKAGE=src/loadstone COVERING=FILE.json python -m pytest -p covering tests/test_files.py

For every test the file tells whether it passed, its seconds and, where coverage.py is installed, the lines of each
module that ran from its setup to its teardown. What other processes run is not seen, and neither is what was run before
and kept: a compiled program, a fixture of the whole file.
"""

from __future__ import annotations

import importlib.util
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

HOME = Path(os.environ["COVERED_PACKAGE"]).resolve()
found: dict[str, dict] = {}
measured = None
if importlib.util.find_spec("coverage"):
    import coverage

    measured = coverage.Coverage(data_file=None, include=[f"{HOME}/*"], config_file=False)
    measured.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if measured:
        measured.switch_context(item.nodeid)
    began, failed_before = time.monotonic(), item.session.testsfailed
    result = yield
    passed = item.session.testsfailed == failed_before
    found[item.nodeid] = {"passed": passed, "seconds": round(time.monotonic() - began, 3), "lines": {}}
    if measured:
        measured.switch_context("")
    return result


def pytest_sessionfinish() -> None:
    if measured:
        measured.stop()
        data = measured.get_data()
        for file in data.measured_files():
            for line, tests in data.contexts_by_lineno(file).items():
                for test in found.keys() & set(tests):
                    found[test]["lines"].setdefault(str(Path(file).relative_to(HOME)), []).append(line)
    Path(os.environ["COVERING"]).write_text(json.dumps(found))
