"""The options that spread a problem over devices and processes. What they do is tested in tests/problems."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

TRAIN = ("train", "--d", 6, "--p", 12)


def test_a_platform_that_jax_does_not_have_ends_in_one_sentence():
    """In a process of its own, because JAX looks for its devices once."""
    line = [Path(sys.executable).with_name("loadstone"), *map(str, TRAIN)]
    surroundings = os.environ | {"JAX_PLATFORMS": "abacus"}
    done = subprocess.run(line, env=surroundings, capture_output=True, text=True, timeout=100)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "JAX_PLATFORMS is 'abacus', but must be a platform that JAX has here" in done.stderr


@pytest.mark.soak
def test_a_command_over_devices(command):
    alone, spread = (json.loads(command(*TRAIN, "--json", *more).stdout) for more in ((), ("--devices", 1)))
    assert spread["description"] == "original, outputs shared, over 1 device"
    assert spread["violations"] == alone["violations"] == 0
    assert spread["loss"] == pytest.approx(alone["loss"], rel=1e-3)


def test_what_libraries_print_is_no_answer():
    code = """if True:
        import os
        from loadstone.cli.streams import keep_output_for_answers
        print("before")
        keep_output_for_answers()
        os.write(1, b"a library\\n")
        print("after")"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, "before\nafter\n", "a library\n")


@pytest.mark.soak
def test_of_two_processes_the_first_answers_with_one_json_object():
    """Gloo, by which processors talk to each other, prints a line."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    line = [Path(sys.executable).with_name("loadstone"), *map(str, TRAIN), "--json", "--coordinator", address]
    both = [
        subprocess.Popen([*line, "--processes", "2", "--process", str(one)], stdout=subprocess.PIPE, text=True)
        for one in range(2)
    ]
    first, second = (one.communicate(timeout=300)[0] for one in both)
    assert json.loads(first)["description"] == "original, outputs shared, over 2 devices" and second == ""
