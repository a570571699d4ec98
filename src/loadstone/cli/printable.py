"""Text from files, made fit for a terminal, where it could otherwise move the cursor, change colours or hide words."""

from __future__ import annotations

import unicodedata

#: Two that are invisible, but part of how names are written in Persian and in Indian scripts.
_KEPT = frozenset("\u200c\u200d")


def printable(text: str) -> str:
    """The text with every character that is not for reading as Python writes it, such as \\x1b, \\u202e or \\n."""
    if text.isprintable():
        return text
    return "".join(letter if _is_for_reading(letter) else ascii(letter)[1:-1] for letter in text)


def _is_for_reading(letter: str) -> bool:
    is_space = unicodedata.category(letter) == "Zs"  # such as the one that does not break
    return letter.isprintable() or is_space or letter in _KEPT
