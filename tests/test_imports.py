"""Data flows one way between the rooms: checked by a walk over the imports."""

import ast
from pathlib import Path

import pytest

import loadstone

PACKAGE = Path(loadstone.__file__).parent
#: The modules beside the rooms belong to none of them.
BESIDE = set(
    "arguments bisect compiling deadline estimate families_text files forks former_names free_memory frequencies "
    "given_arrays hosts leftovers levels loads parameters plugins progress readable threads trees whitening".split()
)
#: Which rooms a room may import from, besides itself.
ALLOWED = {
    "theory": set(),
    "streams": set(),
    # A pass knows nothing of the problem whose pass it is; problems choose one from the table.
    "kernels": {"streams"},
    "problems": {"streams", "kernels"},
    "memories": {"streams", "kernels", "problems"},
    "proofs": {"kernels", "problems", "memories"},
    "measurements": {"kernels", "problems", "memories", "proofs"},
    # What `solve` returns says what the memory stores.
    "solvers": {"streams", "kernels", "problems", "memories", "proofs", "measurements"},
    "space": {"streams", "problems", "memories", "proofs", "solvers"},
    "tasks": {"streams", "kernels", "problems", "memories", "proofs", "solvers", "space", "measurements"},
    # Only the budget of a book knows the theory: it sets the law beside what is measured.
    "books": {"problems", "memories", "proofs", "solvers", "theory"},
    # What a run does is a task: what is between a spec and its record knows no measurement and no proof.
    "runs": {"streams", "kernels", "problems", "memories", "solvers", "tasks"},
    # The second floor: what is predicted meets what is measured here, and in commands and tests alone.
    "studies": {"theory", "runs"},
    "pages": {"theory"},
    "cli": {"theory", "streams", "problems", "memories", "proofs", "solvers", "measurements", "tasks", "runs"}
    | {"space", "books", "studies", "pages"},
}


def imported_rooms(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("loadstone.")}
    return found - BESIDE


@pytest.mark.parametrize("room", ALLOWED)
def test_rooms_import_one_way(room):
    files = list((PACKAGE / room).rglob("*.py"))
    assert files
    for file in files:
        extra = imported_rooms(file) - ALLOWED[room] - {room}
        assert not extra, f"{file.relative_to(PACKAGE)} imports {extra}"


def test_only_the_budget_of_a_book_knows_the_theory():
    files = {file.name for file in (PACKAGE / "books").glob("*.py") if "theory" in imported_rooms(file)}
    assert files == {"budget.py"}


def test_every_room_is_walked():
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms == set(ALLOWED)


def test_passes_know_nothing_of_solvers_and_solvers_nothing_of_passes():
    for file in (*(PACKAGE / "memories").glob("*.py"), *(PACKAGE / "solvers").glob("*.py")):
        assert "loadstone.kernels.table" not in file.read_text(), file


def test_the_proofs_know_subspaces_and_no_memory():
    for file in (PACKAGE / "proofs").glob("*.py"):
        rest = file.read_text().replace("loadstone.memories.subspaces", "")
        assert "loadstone.memories" not in rest, file
    for file in (PACKAGE / "memories" / "subspaces").glob("*.py"):
        assert "import jax" not in file.read_text() and "from jax " not in file.read_text(), file


def test_public_names_all_exist():
    for name in loadstone.__all__:
        assert getattr(loadstone, name) is not None
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = loadstone.nothing_here
