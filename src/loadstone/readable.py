"""Values in one line that a person can read: arrays by their type and shape, numbers with four digits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

#: At most this many items of a list are shown.
_SHOWN = 3


def readable(value: Any) -> str:
    """The `__repr__` of a dataclass or a named tuple. Fields that are None or empty are left out."""
    named = value._fields if hasattr(value, "_fields") else [field.name for field in fields(value) if field.repr]
    return _in_words(value, named)


def _in_words(value: Any, names: Iterable[str]) -> str:
    words = [f"{name}={in_short(content)}" for name in names if not _is_empty(content := getattr(value, name))]
    return f"{type(value).__name__}({', '.join(words)})"


def _is_empty(content: Any) -> bool:
    return content is None or (isinstance(content, (str, tuple, list, Mapping)) and not content)


def in_short(content: Any) -> str:
    """A value in a few words: an array by its type and shape, a number with four digits, a list by its first items."""
    if hasattr(content, "dtype") and hasattr(content, "shape"):
        return f"{content.dtype}{list(content.shape)}" if content.shape else f"{content}"
    if isinstance(content, Enum):
        return repr(content.value)
    if isinstance(content, float):
        return f"{content:.4g}"
    if isinstance(content, tuple) and hasattr(content, "_fields"):
        return _in_words(content, content._fields)
    if isinstance(content, (tuple, list)):
        shown = [in_short(item) for item in content[:_SHOWN]]
        if len(content) > _SHOWN:
            shown.append(f"... {len(content)} in all")
        return f"[{', '.join(shown)}]"
    if isinstance(content, Mapping):
        return f"{{{', '.join(f'{key}: {in_short(item)}' for key, item in list(content.items())[:_SHOWN])}}}"
    return repr(content)
