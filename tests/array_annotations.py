"""While the tests run, array annotations are checked at every call: dtypes, shapes, and that sizes agree.

Only calls that return are checked: a wrong argument that a function refuses does not make its annotation wrong.
Annotations without an array are left to mypy.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, get_args, get_type_hints

import jax
from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray, install_import_hook

#: The name of `checked` below, as jaxtyping's import hook wants it.
CHECKED = f"{__name__}.checked"


def modules_with_arrays(rooms: Sequence[str]) -> list[str]:
    """The modules of these rooms that annotate arrays; a room that has none is an error."""
    package = Path(find_spec("loadstone").origin).parent
    modules = []
    for room in rooms:
        files = [file for file in sorted((package / room).rglob("*.py")) if "jaxtyping" in file.read_text()]
        assert files, f"loadstone/{room} has no arrays to check"
        modules += [".".join(file.relative_to(package.parent).with_suffix("").parts) for file in files]
    return modules


def check_arrays_in(modules: Sequence[str]) -> None:
    """Check every function and dataclass of these modules, and of those below them, that is imported from now on."""
    install_import_hook(modules, CHECKED)


def spare_functions_without_arrays() -> None:
    """There is nothing to check in them, and to find that at each call takes a tenth of the time of some tests."""
    for name, module in list(sys.modules.items()):
        if name.startswith("loadstone."):
            for function in _wrapped_functions(module):
                try:
                    hints = get_type_hints(function)
                except NameError:  # a name that only mypy imports
                    continue
                function.__no_type_check__ = not any(map(_holds_array, hints.values()))  # jaxtyping looks for this


def _wrapped_functions(module: ModuleType) -> Iterator[FunctionType]:
    """Functions and methods of a module's own that are called through another: jaxtyping's, as a rule."""
    own = [held for held in vars(module).values() if getattr(held, "__module__", None) == module.__name__]
    held = own + [one for kind in own if isinstance(kind, type) for one in vars(kind).values()]
    for one in held:
        function = getattr(one, "__func__", getattr(one, "fget", one))
        if isinstance(function, FunctionType) and hasattr(function, "__wrapped__"):
            yield function


def checked(twin: Callable) -> Callable:
    """jaxtyping asks this for two empty twins of a function, and calls one before the function, the other after it.

    The first says nothing of the returned value and goes unchecked; the second has the arguments, too.
    """
    hints = {name: hint if _holds_array(hint) else Any for name, hint in twin.__annotations__.items()}
    if twin.__annotations__.get("return", Any) is Any or all(hint is Any for hint in hints.values()):
        return twin
    twin.__annotations__ = hints
    check = beartype(twin, conf=BeartypeConf(is_pep484_tower=True))  # an int will do for a float
    return _unless_pytree(check) if twin.__name__ == "__init__" else check


def _holds_array(hint: object) -> bool:
    return (isinstance(hint, type) and issubclass(hint, AbstractArray)) or any(map(_holds_array, get_args(hint)))


def _unless_pytree(check: Callable) -> Callable:
    """JAX also makes pytrees with stacked arrays, or with no arrays at all, in their fields: these go unchecked.

    Of a dataclass its fields are checked as they are in the end: it may have put what it was given into another form.
    """

    @functools.wraps(check)
    def check_made(made: object, *arguments: object, **named: object) -> None:
        if not jax.tree_util.all_leaves([made]):
            return
        if dataclasses.is_dataclass(made):
            held = {field.name: getattr(made, field.name) for field in dataclasses.fields(made) if field.init}
            arguments = (*held.values(), *arguments[len(held) :])
            named = {name: value for name, value in named.items() if name not in held}
        check(made, *arguments, **named)

    return check_made
