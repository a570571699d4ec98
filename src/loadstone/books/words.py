"""The words in a book's file: those that `Book.save` writes, and no others."""

from __future__ import annotations

import json
from typing import Any

#: What may be said about a book, and of which kind it is. More may be said, which nothing here reads.
_SAID = {"family": str, "proved": bool}
_LISTED = {"conflicts": list, "edits": dict, "impossible": str, "averaged": str, "out_of_vocabulary": str}


def words_from(text: str) -> dict[str, Any]:
    """`subjects`, `answers` and `about` as a file holds them, or a ValueError that says what is wrong."""
    words = json.loads(text)
    if not isinstance(words, dict) or not isinstance(about := words.get("about"), dict):
        raise ValueError("it does not say what it is about")
    for name in ("subjects", "answers"):
        if not _is_list_of(str, words.get(name)):
            raise ValueError(f"its {name} are not a list of words")
    for name, kind in _SAID.items():
        if name in about and not isinstance(about[name], kind):
            raise ValueError(f"'{name}' cannot be {about[name]!r}")
    for name, kind in _LISTED.items():
        if name in about and not _is_list_of(kind, about[name]):
            raise ValueError(f"'{name}' cannot be {about[name]!r}")
    return words


def _is_list_of(kind: type, value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)
