"""The stub of the package: what editors and type checkers read instead of the table of lazily imported names.

`python -m tests.stub`, in the root of a checkout, rewrites it from that table.
"""

from pathlib import Path

import loadstone

PATH = Path(loadstone.__file__).with_name("__init__.pyi")


def stub() -> str:
    """Every public name, imported from its home under its own name: so a type checker knows that it is meant for use.

    In the order that ruff wants: modules, and in each of them constants, classes, functions.
    """
    homes = sorted((home, *_rank(name)) for home, names in loadstone._HOMES.items() for name in names)
    lines = [f"from loadstone.{home} import {name} as {name}" for home, _, name in homes]
    return "\n".join([*lines, "", "__version__: str", ""])


def _rank(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


if __name__ == "__main__":
    PATH.write_text(stub())
