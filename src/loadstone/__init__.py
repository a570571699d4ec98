"""loadstone: how many facts fit into a linear associative memory, stored, edited and proved.

The public names stand in the stub beside this file, __init__.pyi, and nowhere else. Each is imported from its module
when it is first used, so that the theory alone starts without JAX.
"""

import re
import warnings
from importlib import import_module
from pathlib import Path

from loadstone.forks import check_not_forked

__version__ = "0.2.0"

_IMPORT = re.compile(r"^from (\S+) import (.+)$", re.MULTILINE)
_ALIAS = re.compile(r"^(\w+) = (\w+)$", re.MULTILINE)


def _homes(stub: str) -> dict[str, tuple[str, str]]:
    """The module of each public name, and its name in that module."""
    imported, homes = {}, {}
    for module, names in _IMPORT.findall(stub):
        for original, _, name in (part.partition(" as ") for part in names.split(", ")):
            imported[original] = module, original
            if name == original:  # as a stub says that a name is public
                homes[name] = module, original
    return homes | {name: imported[original] for name, original in _ALIAS.findall(stub)}


_HOMES = _homes(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name in _HOMES:
        module, original = _HOMES[name]
        if not module.startswith("loadstone.theory."):
            check_not_forked()
        return getattr(import_module(module), original)
    from loadstone.former_names import FORMER, former

    if name in FORMER:
        message = f"loadstone.{name} is {FORMER[name]} now; the old name goes in the next release."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return former(name)
    raise AttributeError(f"module 'loadstone' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
