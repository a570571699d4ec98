"""Values in one line that a person can read: arrays by their type and shape, numbers with four digits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

#: So many items of a list are shown.
_SHOWN = 3


def readable(value: Any) -> str:
    """The `__repr__` of a dataclass or a named tuple. Fields that are None or empty are left out."""
    named = getattr(value, "_fields", None)
    return _in_words(value, named or [field.name for field in fields(value) if field.repr])


def _in_words(value: Any, names: Iterable[str]) -> str:
    words = [f"{name}={_word(held)}" for name in names if _says_something(held := getattr(value, name))]
    return f"{type(value).__name__}({', '.join(words)})"


def _says_something(held: Any) -> bool:
    return held is not None and not (isinstance(held, (str, tuple, list, Mapping)) and not held)


def _word(held: Any) -> str:
    if hasattr(held, "dtype") and hasattr(held, "shape"):
        return f"{held.dtype}{list(held.shape)}" if held.shape else f"{held}"
    if isinstance(held, Enum):
        return repr(held.value)
    if isinstance(held, float):
        return f"{held:.4g}"
    if isinstance(held, tuple) and hasattr(held, "_fields"):
        return _in_words(held, held._fields)
    if isinstance(held, (tuple, list)):
        shown = [_word(one) for one in held[:_SHOWN]]
        if len(held) > _SHOWN:
            shown.append(f"... {len(held)} in all")
        return f"[{', '.join(shown)}]"
    if isinstance(held, Mapping):
        return f"{{{', '.join(f'{key}: {_word(one)}' for key, one in list(held.items())[:_SHOWN])}}}"
    return repr(held)
