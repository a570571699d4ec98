"""What annotations say of arrays is checked at every call while the tests run: kinds, shapes, and that sizes agree.

Annotations without an array are left to mypy: many tests hand a wrong word or number to a public function on purpose,
and what they want to see is the function's own sentence.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, get_args

import jax
from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray, install_import_hook

#: The name of `checked` below, as jaxtyping's import hook wants it.
CHECKED = f"{__name__}.checked"


def check_arrays_in(modules: Sequence[str]) -> None:
    """Check every function and dataclass of these modules, and of those below them, that is imported from now on."""
    install_import_hook(modules, CHECKED)


def checked(function: Callable) -> Callable:
    """jaxtyping calls this with an empty twin of a function, and then the twin before and after the function itself."""
    hints = {name: hint if _holds_array(hint) else Any for name, hint in function.__annotations__.items()}
    if all(hint is Any for hint in hints.values()):
        return function
    function.__annotations__ = hints
    check = beartype(function, conf=BeartypeConf(is_pep484_tower=True))  # an int will do for a float
    return _unless_pytree(check) if function.__name__ == "__init__" else check


def _holds_array(hint: object) -> bool:
    return (isinstance(hint, type) and issubclass(hint, AbstractArray)) or any(map(_holds_array, get_args(hint)))


def _unless_pytree(check: Callable) -> Callable:
    """JAX also makes pytrees with stacked arrays, or with no arrays at all, in their fields: these go unchecked."""

    @functools.wraps(check)
    def check_made(made: object, *arguments: object, **named: object) -> None:
        if jax.tree_util.all_leaves([made]):
            check(made, *arguments, **named)

    return check_made
