"""What the README shows must run as shown."""

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_the_five_lines_of_python_run(tmp_path, monkeypatch, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert len([line for line in code.splitlines() if line and not line.startswith(("import", "from"))]) <= 5
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert "accuracy=1.0" in capsys.readouterr().out
    assert [path.suffix for path in tmp_path.iterdir()] == [".safetensors"]


def test_every_command_that_it_names_exists():
    named = set(re.findall(r"^loadstone (\w+)", README.read_text(), re.MULTILINE))
    from loadstone.cli.app import COMMANDS, app_of

    app = app_of(COMMANDS)
    assert {one.name for one in (*app.registered_commands, *app.registered_groups)} == set(COMMANDS)
    assert named and named <= set(COMMANDS)
