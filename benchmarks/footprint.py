"""What an installation takes: its size by package, the time to import it, and which packages its commands use.

    python benchmarks/footprint.py --wheel dist/loadstone-0.2.0-py3-none-any.whl --out benchmarks/footprint.json

The wheel is installed into an empty environment, and its commands are tried there; then its extras, one after another.
So this also tests the wheel.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_ROUNDS = 5
#: What people do with loadstone, each as the words of a command.
COMMANDS = {
    "predict": "predict --d 768 --json",
    "explore": "explore --out explore.html",
    "train": "train --d 20 --p 40 --json --out memory.safetensors",
    "certify": "certify --d 12 --p 30 --json --out proof.npz",
    "check": "check proof.npz --json",
    "facts store": "facts store {facts} --vectors {vectors} --columns country,capital --out book.safetensors --json",
    "facts recall": "facts recall book.safetensors France --json",
    "run": "run {grid} --store store --workers 1 --json",
}
#: What each extra is for. Without it the command is refused in one sentence, which names the extra.
EXTRAS = {
    "cluster": "run {grid} --store wide --workers 2 --json",
    "figures": "reproduce entropy --out figures",
    "parquet": "export --store store --out runs.parquet --json",
}
#: Runs a command and prints the top-level modules that it imported.
_WATCHED = """
import json, sys
from loadstone.cli.app import main
try:
    main()
except SystemExit as end:
    names = sorted({name.partition(".")[0] for name in sys.modules})
    print(json.dumps(names), file=sys.stderr)
    raise
"""
_SIZES = """
import importlib.metadata as metadata, json
sizes = {}
for one in metadata.distributions():
    files = [file.locate() for file in one.files or ()]
    sizes[one.metadata["Name"].lower()] = sum(file.stat().st_size for file in files if file.is_file())
print(json.dumps({"sizes": sizes, "modules": {k: v[0].lower() for k, v in metadata.packages_distributions().items()}}))
"""
_GRID = '[[grid]]\nproblem = "original"\nd = 8\np = 8\nseeds = 2\n'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wheel", required=True, type=Path, help="the wheel to install")
    parser.add_argument("--out", type=Path, help="JSON file for the numbers")
    options = parser.parse_args()
    if not options.wheel.is_file():
        sys.exit(f"wheel is {options.wheel}, but must be a file: run `make dist` first.")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        subprocess.run([sys.executable, "-m", "venv", place / "empty"], check=True)
        python, wheel = place / "empty" / "bin" / "python", options.wheel.resolve()
        install(python, str(wheel))
        found = measured(python, place)
        found["extras"] = {extra: added(python, wheel, extra, place) for extra in EXTRAS}
    report(found)
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")


def install(python: Path, what: str) -> None:
    """Install something for an interpreter."""
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", ROOT / "constraints.txt"]
    subprocess.run([*pip, what], check=True)


def measured(python: Path, folder: Path) -> dict:
    """Sizes of all packages, import times, and for each command the packages that it imported."""
    sizes, owners = packages(python)
    used: dict[str, list[str]] = {}
    (folder / "grid.toml").write_text(_GRID)
    for name, words in COMMANDS.items():
        told = tried(python, words, folder, 0)
        modules = json.loads(re.findall(r"^\[.*\]$", told, re.MULTILINE)[-1])
        used[name] = sorted({owners[one] for one in modules if one in owners} & set(sizes))
    needed = {one for packages in used.values() for one in packages}
    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "packages": len(sizes),
        "megabytes": round(sum(sizes.values()) / 1e6, 1),
        "sizes": {name: round(size / 1e6, 2) for name, size in sorted(sizes.items(), key=lambda pair: -pair[1])},
        "used": used,
        "never used": sorted(set(sizes) - needed),
        "processor seconds": {
            "python alone": timed(python, "pass"),
            "import loadstone": timed(python, "import loadstone"),
            "predict": timed(python, "import loadstone; loadstone.predict(d=768)"),
            "original": timed(python, "import loadstone; loadstone.original(loadstone.Stream(0, 8), 8)"),
        },
    }


def added(python: Path, wheel: Path, extra: str, folder: Path) -> dict:
    """What an extra adds to the packages that are there. Its command is tried without and with it."""
    told = tried(python, EXTRAS[extra], folder, 2)
    if f"pip install 'loadstone[{extra}]'" not in told:
        sys.exit(f"Without the extra {extra} its command must name it, but says: {told}")
    before, _ = packages(python)
    install(python, f"{wheel}[{extra}]")
    after, _ = packages(python)
    tried(python, EXTRAS[extra], folder, 0)
    megabytes = (sum(after.values()) - sum(before.values())) / 1e6
    return {"packages": len(after) - len(before), "megabytes": round(megabytes, 1)}


def packages(python: Path) -> tuple[dict[str, int], dict[str, str]]:
    """The bytes of each installed package, and the package of each module."""
    about = json.loads(subprocess.run([python, "-c", _SIZES], check=True, capture_output=True, text=True).stdout)
    return {name: size for name, size in about["sizes"].items() if name not in ("pip", "setuptools")}, about["modules"]


def tried(python: Path, words: str, folder: Path, code: int) -> str:
    """What a command tells on standard error; it must end with this code."""
    files = {"facts": ROOT / "examples" / "capitals.csv", "vectors": ROOT / "examples" / "capitals.glove.txt"}
    arguments = words.format(grid=folder / "grid.toml", **files).split()
    done = subprocess.run([python, "-c", _WATCHED, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"loadstone {' '.join(arguments)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stderr


def timed(python: Path, code: str) -> float:
    """The median processor time of a few starts, in seconds: other work on the machine hardly changes it."""
    times = []
    for _ in range(_ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([python, "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return round(statistics.median(times), 3)


def report(found: dict) -> None:
    """The numbers in words."""
    print(f"{found['packages']} packages, {found['megabytes']} MB, Python {found['python']}")
    print("largest:", ", ".join(f"{name} {size}" for name, size in list(found["sizes"].items())[:8]))
    print("never imported by the commands tried:", ", ".join(found["never used"]) or "none")
    for extra, more in found["extras"].items():
        print(f"with the extra {extra}: {more['packages']} packages and {more['megabytes']} MB more")
    times = found["processor seconds"]
    print("processor seconds:", ", ".join(f"{name} {seconds}" for name, seconds in times.items()))


if __name__ == "__main__":
    main()
