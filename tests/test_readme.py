"""What the README shows must run as shown."""

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_the_five_lines_of_python_run(tmp_path, monkeypatch, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len([line for line in code.splitlines() if line and not line.startswith(("import", "from"))]) <= 5
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert "accuracy=1," in capsys.readouterr().out
    assert [path.suffix for path in tmp_path.iterdir()] == [".safetensors"]


def test_the_facts_that_it_stores_and_asks_give_the_output_that_it_shows(tmp_path, command):
    (tmp_path / "examples").symlink_to(README.parent / "examples")
    (shown,) = re.findall(r"```\n(\$ loadstone facts.*?)```", README.read_text(), re.DOTALL)
    for one in shown.split("$ loadstone ")[1:]:
        line, _, output = one.partition("\n")
        done = command(*line.split(), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert _without_numbers(done.stdout) == _without_numbers(output) and output


def _without_numbers(text: str) -> list[list[str]]:
    """Words, without times, and scores to three digits: the last ones depend on the machine."""
    text = re.sub(r"in [\d.]+ s", "", text)
    rounded = re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.3g}", text)
    return [line.split() for line in re.sub("[━┃┏┓┗┛┡┩╇┳─└┘┴]+", "", rounded).splitlines() if line.strip()]


def test_every_command_that_it_names_exists():
    named = set(re.findall(r"^loadstone (\w+)", README.read_text(), re.MULTILINE))
    from loadstone.cli.app import COMMANDS, app_of

    app = app_of(COMMANDS)
    assert {one.name for one in (*app.registered_commands, *app.registered_groups)} == set(COMMANDS)
    assert named and named <= set(COMMANDS)
