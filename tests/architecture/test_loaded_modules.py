"""Start-up stays cheap because each path imports only what it needs: the lists of loaded modules are the guard."""

import json
import os
import subprocess
import sys

import pytest

# Runs the entry point as the installed command does, then lists what it imported.
_WRAPPER = """
import json, sys
target, sys.argv = sys.argv[1], ["agents", *sys.argv[2:]]
before = set(sys.modules)
from oulipoly_tui.__main__ import main
code = main()
with open(target, "w") as file:
    json.dump(sorted({name.partition(".")[0] for name in set(sys.modules) - before}), file)
sys.exit(code)
"""
_SCREEN = {"textual", "rich", "asyncio"}
_NETWORK = {"http", "ssl"}
_CHECKERS = {"pydantic", "pydantic_core", "attrs", "typing_extensions"}  # 70 ms and more, at every start
_CONFIGURATION = _CHECKERS | {"tomlkit", "yaml"}
_STATE = {"sqlite3"}
_PROCESSES = {"subprocess", "selectors", "tempfile", "uuid"}
_UNRECORDED = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def loaded(tmp_path, home):
    """Run our command and return the top-level modules that it imported; it must end with `expects`."""

    def run(*arguments, expects=0):
        target = tmp_path / "loaded.json"
        done = subprocess.run(
            [sys.executable, "-c", _WRAPPER, str(target), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(os.environ),
            cwd=home,
            timeout=25,
            check=False,
        )
        assert expects == done.returncode, done.stderr.decode()
        return set(json.loads(target.read_text()))

    return run


@pytest.fixture
def configured(home):
    """Write a model of one account whose CLI prints nothing, an agent for it, and a scripts file."""
    folder = home / ".config" / "oulipoly-agent-runner"
    for name, text in {
        "providers.toml": '[quiet]\ncommand = "true"\n',
        "sessions.toml": '[quiet]\nturn_script = "true"\ntranscript_locator = "echo /nowhere"\n',
        "models/still.toml": '[[providers]]\nname = "quiet"\n',
        "agents/helper.md": "---\nmodel: still\ndescription: a helper\n---\nBe brief.\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["--version"], 0, id="version"),
        pytest.param(["--help"], 0, id="help"),
        pytest.param(["--modle", "x"], 2, id="unknown option"),
        pytest.param(["--timeout", "soon", "-m", "x"], 2, id="bad value"),
    ],
)
def test_what_needs_no_state_loads_neither_state_nor_configuration(loaded, arguments, code):
    modules = loaded(*arguments, expects=code)

    assert set() == modules & (_STATE | _CONFIGURATION | _PROCESSES | _SCREEN | _NETWORK | {"tomllib", "logging"})


def test_schema_probe_loads_sqlite_alone(loaded):
    modules = loaded("session", "schema-probe")

    assert {"sqlite3"} == modules & (_STATE | _CONFIGURATION | _SCREEN | _NETWORK | {"subprocess", "tomllib"})


def test_trace_of_what_kept_no_session_loads_no_configuration(loaded, configured, agents):
    answer = agents("-m", "still", "hello").stdout.decode()
    identity = json.loads(answer.partition("OULIPOLY_RESULT=")[2])["id"]

    modules = loaded("trace", identity)

    assert {"sqlite3"} == modules & (_STATE | _CONFIGURATION | _SCREEN | _NETWORK)


def test_trace_of_an_unknown_id_loads_no_configuration(loaded, configured):
    modules = loaded("trace", _UNRECORDED, expects=1)

    assert set() == modules & (_CONFIGURATION | _SCREEN | _NETWORK)


def test_a_one_shot_loads_neither_writers_nor_readers_that_it_does_not_need(loaded, configured):
    modules = loaded("-m", "still", "hello")

    assert {"tomllib", "sqlite3", "subprocess"} <= modules
    assert set() == modules & (_CONFIGURATION | {"difflib"} | _SCREEN | _NETWORK)


def test_an_agent_file_costs_a_one_shot_yaml_and_nothing_else(loaded, configured):
    plain = loaded("-m", "still", "hello")

    by_agent = loaded("helper", "hello")

    assert {"yaml"} <= by_agent - plain
    assert set() == by_agent & (_CHECKERS | {"tomlkit"} | _SCREEN | _NETWORK)


def test_checking_every_file_takes_no_checking_library(loaded, configured):
    modules = loaded("config", "check")

    assert {"tomllib", "yaml"} <= modules
    assert set() == modules & _CHECKERS


def test_no_command_of_the_headless_face_loads_the_screen_s_libraries():
    code = (
        "import sys; from oulipoly_engine.cli import commands\n"
        "for name in commands.names(): commands.load(name)\n"
        "print(len(commands.names()), *(name for name in sys.modules if name.partition('.')[0] in "
        "{'textual', 'rich', 'oulipoly_tui'}))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=25, check=False)

    assert done.returncode == 0, done.stderr
    count, *found = done.stdout.split()
    assert int(count) > 0
    assert [] == found


def test_the_linear_face_loads_nothing_of_the_screen_s_libraries(loaded, configured):
    modules = loaded("--linear")

    assert {"oulipoly_tui", "sqlite3"} <= modules
    assert set() == modules & (_SCREEN | _NETWORK | _CHECKERS)


def test_the_first_frame_waits_for_no_engine_and_no_heavy_widget():
    late = (
        "oulipoly_engine.facade.engine",
        "oulipoly_engine.store.base.db",
        "sqlite3",
        "textual.widgets._text_area",
        "textual.widgets._markdown",
        "textual.widgets._data_table",
        "watchfiles",
        "oulipoly_tui.linear.linear",
        "oulipoly_tui.commands.line",
        "oulipoly_tui.commands.palette",
        "oulipoly_tui.commands.pools",
        "oulipoly_tui.commands.sessions",
        "oulipoly_tui.screens.help",
    )
    code = (
        "import sys; from oulipoly_tui import entry, app; from oulipoly_tui.panes.quota import pools\n"
        f"print(*(name for name in {late!r} if name in sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=25, check=False)

    assert done.returncode == 0, done.stderr
    assert [] == done.stdout.split()
