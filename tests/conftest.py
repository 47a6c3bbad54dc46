"""What every test stands on: a home of its own, an unchanged environment, and no child left behind."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Tests start our command by module, with the checkout's sources first: the same in an editable install and without one.
SOURCES = os.pathsep.join([str(ROOT / "engine"), str(ROOT / "tui")])


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    for name in list(os.environ):
        if name.startswith(("XDG_", "OULIPOLY_", "DEMO_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PYTHONPATH", SOURCES)


@pytest.fixture(autouse=True)
def _unchanged_environment(_own_home):
    before = dict(os.environ)
    yield
    changed = {name for name in before.keys() | os.environ.keys() if before.get(name) != os.environ.get(name)}
    changed -= {"PYTEST_CURRENT_TEST"}
    assert not changed


@pytest.fixture(autouse=True)
def _no_child_left():
    yield
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    if children.exists():
        assert children.read_text().split() == []


@pytest.fixture
def home(tmp_path):
    """The test's home folder."""
    return tmp_path / "home"


@pytest.fixture
def agents(home):
    """Run our command as a user would and return the finished process, bytes captured."""

    def run(*arguments, stdin=b"", env=None, cwd=None, timeout=25):
        return subprocess.run(
            [sys.executable, "-m", "oulipoly_tui", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            env=dict(os.environ) | {key: str(value) for key, value in (env or {}).items()},
            cwd=cwd or home,
            timeout=timeout,
            check=False,
        )

    return run


class World:
    """A configuration in the test's home, whose CLIs are small shell scripts."""

    def __init__(self, home, run):
        self.config = home / ".config" / "oulipoly-agent-runner"
        self.data = home / ".local" / "share" / "oulipoly-agent-runner"
        self.home = home
        self.run = run
        (self.config / "models").mkdir(parents=True)
        (self.config / "agents").mkdir()

    def account(self, name, script, extra=""):
        """Add an account whose one-shot runs a shell script; the prompt comes on stdin, arguments as `$1` and on."""
        command = ["-c", script, "cli"]
        text = f"[{name}]\ncommand = 'sh'\nargs = {json.dumps(command)}\n{extra}\n"
        with (self.config / "providers.toml").open("a") as file:
            file.write(text)

    def model(self, name, *accounts, extra=""):
        """Add a model with its pool."""
        members = "".join(f"[[providers]]\nname = '{account}'\n" for account in accounts)
        (self.config / "models" / f"{name}.toml").write_text(extra + members)

    def agent(self, name, model, body="Be brief.\n"):
        """Add an agent."""
        (self.config / "agents" / f"{name}.md").write_text(f"---\ndescription: d\nmodel: {model}\n---\n{body}")

    def rows(self, sql, *parameters):
        """Read the state file with SQLite itself."""
        with closing(sqlite3.connect(self.data / "state.db")) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(sql, parameters)]

    def change(self, sql, *parameters):
        """Change the state file with SQLite itself."""
        with closing(sqlite3.connect(self.data / "state.db")) as connection:
            connection.execute(sql, parameters)
            connection.commit()


@pytest.fixture
def world(home, agents):
    """A home with a configuration folder to fill."""
    return World(home, agents)


def marker(name, stream):
    """Return the JSON values of every line of a stream that begins with `name=`."""
    prefix = f"{name}=".encode()
    return [json.loads(line[len(prefix) :]) for line in stream.split(b"\n") if line.startswith(prefix)]


@pytest.fixture
def markers():
    """Return the reader of marker lines."""
    return marker
