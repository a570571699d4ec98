"""Commands in this process."""

import pytest


@pytest.fixture
def told(command):
    """A command in this process, where it need not be one of its own: exit code, standard output and error."""

    def run_here(*arguments):
        done = command(*arguments)
        return done.returncode, done.stdout, done.stderr

    return run_here
