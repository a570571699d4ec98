"""tools/check_exact.py, which is no part of the package."""

import importlib.util
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "check_exact.py"


def _loaded():
    spec = importlib.util.spec_from_file_location("check_exact", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


check_exact = _loaded()
