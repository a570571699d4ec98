"""How a name is looked up among words that have vectors."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection

#: What separates the words of a phrase.
_BETWEEN = re.compile(r"[\s_\-/,]+")


def composed(name: str) -> str:
    """The name with each accent and its letter as one character. Written as two, it looks and means the same."""
    return unicodedata.normalize("NFC", name)


def spellings(name: str) -> list[str]:
    """The ways in which a set of vectors may write a name, the most faithful first: as it is, with underscores between
    its words as word2vec has them, and both in small letters as GloVe has them; last, all of these with accents
    apart from their letters, as some files have them."""
    plain = composed(name)
    joined = "_".join(plain.split())
    usual = (plain, joined, plain.lower(), joined.lower())
    return list(dict.fromkeys((name, *usual, *(unicodedata.normalize("NFD", spelling) for spelling in usual))))


def words_of(phrase: str) -> list[str]:
    """The words of a phrase; none if it is a single word."""
    words = [word for word in _BETWEEN.split(composed(phrase)) if word]
    return words if len(words) > 1 else []


def nearest(name: str, known: Collection[str]) -> str | None:
    """The known name that is spelled most like this one, if one is at all."""
    by_small_letters = {composed(known_name).lower(): known_name for known_name in known}
    name = composed(name).lower()
    if name in by_small_letters:
        return by_small_letters[name]
    # Comparing is slow for long texts, and a name of thousands of characters has no typing mistake to be found.
    similar = difflib.get_close_matches(name[:200], by_small_letters, n=1)
    return by_small_letters[similar[0]] if similar else None
