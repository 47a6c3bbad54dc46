"""Start-up stays cheap because each path imports only what it needs: the lists of loaded modules are the guard."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.agents.agents import Agent, AgentPlan
from oulipoly_engine.store.agents.agents import insert as insert_agent
from oulipoly_engine.store.base.db import open_store

# Runs the entry point as the installed command does, then lists what it imported.
_WRAPPER = """
import json, sys
target, sys.argv = sys.argv[1], ["agents", *sys.argv[2:]]
before = set(sys.modules)
from oulipoly_tui.__main__ import main
code = main()
with open(target, "w") as file:
    json.dump(sorted(set(sys.modules) - before), file)
sys.exit(code)
"""
_SCREEN = {"textual", "rich", "asyncio"}
_NETWORK = {"http", "ssl"}
_CHECKERS = {"pydantic", "pydantic_core", "attrs", "typing_extensions"}  # 70 ms and more, at every start
_CONFIGURATION = _CHECKERS | {"tomlkit", "yaml"}
_STATE = {"sqlite3", "peewee"}
_SERVER = {"fastapi", "starlette", "uvicorn", "cryptography", "http_ece", "py_vapid"}
_OTHER_DATABASES = ("psycopg", "psycopg2", "psycopg2cffi", "pymysql", "MySQLdb", "pysqlite3")
_PROCESSES = {"subprocess", "selectors", "tempfile", "uuid"}
_MOST_FILES = 78  # of ours that a one-shot loads, 75 of which it enters; a folder's own file is empty
_OF_AGENTS_THAT_RUN = ("facade.agents.agents", "facade.agents.serving", "service.agents.logins", "service.agents.tools")
_NOT_AT_A_START = ("facade.agents.work", "facade.images.images", "service.isolation", "core.web.grants")
_REDACTORS = {"hashlib", "oulipoly_engine.core.text.redact", "oulipoly_engine.store.base.read_only"}
_SESSIONS = ".config/oulipoly-agent-runner/sessions.toml"
_UNRECORDED = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def loaded_modules(tmp_path, home):
    """Run our command and return the modules that it imported; it must end with `expects`."""

    def run(*arguments, expects=0):
        target = tmp_path / "loaded.json"
        done = subprocess.run(
            [sys.executable, "-c", _WRAPPER, str(target), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(os.environ),
            cwd=home,
            timeout=60,
            check=False,
        )
        assert expects == done.returncode, done.stderr.decode()
        return set(json.loads(target.read_text()))

    return run


@pytest.fixture
def loaded(loaded_modules):
    """Run our command and return the top-level modules that it imported."""
    return lambda *arguments, expects=0: top(loaded_modules(*arguments, expects=expects))


def top(names):
    """Return the top-level modules of those."""
    return {name.partition(".")[0] for name in names}


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

    assert _STATE == modules & (_STATE | _CONFIGURATION | _SCREEN | _NETWORK)


def test_drivers_of_other_databases_that_are_installed_are_not_loaded(tmp_path, home):
    folder = tmp_path / "installed"
    folder.mkdir()
    for name in _OTHER_DATABASES:
        (folder / f"{name}.py").write_text("raise SystemExit('loaded: ' + __name__)\n")
    code = (
        "import sys; from pathlib import Path; from oulipoly_engine.store.base.db import open_store\n"
        "open_store(Path('state.db')).close()\n"
        f"print(*(name for name in {_OTHER_DATABASES!r} if name in sys.modules))\n"
        "import psycopg"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(folder)},
        cwd=home,
        timeout=60,
        check=False,
    )

    assert ("\n", "loaded: psycopg\n") == (done.stdout, done.stderr)  # hidden while peewee is imported, no longer


def test_what_peewee_gets_in_place_of_modules_no_other_thread_can_meet(home):
    names = (*_OTHER_DATABASES, "inspect", "logging", "hashlib", "socket")
    code = (
        "import builtins, sys\n"
        "real, met = builtins.__import__, set()\n"
        "def watched(*arguments):\n"
        "    found = {name: sys.modules[name] for name in " + repr(names) + " if name in sys.modules}\n"
        "    met.update(name for name, each in found.items() if getattr(each, '__spec__', None) is None)\n"
        "    return real(*arguments)\n"
        "builtins.__import__ = watched\n"
        "from oulipoly_engine.store.base.orm import SqliteDatabase\n"
        "print(sorted(met), len(SqliteDatabase.__name__))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert ("[] 14\n", "") == (done.stdout, done.stderr)


def test_trace_of_an_unknown_id_loads_no_configuration(loaded, configured):
    modules = loaded("trace", _UNRECORDED, expects=1)

    assert set() == modules & (_CONFIGURATION | _SCREEN | _NETWORK)


def test_the_first_one_shot_checks_the_configuration_and_loads_no_writer(loaded_modules, configured):
    names = loaded_modules("-m", "still", "hello")

    plain = top(names)
    assert {"pydantic", "tomllib", "sqlite3", "subprocess"} <= plain
    assert set() == plain & ({"tomlkit", "yaml", "difflib"} | _SCREEN | _NETWORK)
    # Of the facade, nothing that it does not ask.
    parts = {name.removeprefix("oulipoly_engine.facade.") for name in names if "engine.facade." in name}
    parts = {name for name in parts if not name.startswith("base.")}
    assert {"runs", "runs.one_shots"} == parts - {"engine", "base", "output", "diagnostics"}
    assert not [name for name in names if "artifacts" in name]  # it returns nothing

    by_agent = top(loaded_modules("helper", "hello"))  # an agent's file costs the first run yaml and nothing else

    assert {"yaml"} <= by_agent - plain
    assert set() == by_agent & ({"tomlkit"} | _SCREEN | _NETWORK)


_READERS = [
    pytest.param(["helper", "hello"], id="one-shot of an agent"),
    pytest.param(["--agent-file", "mine.md", "mine", "hello"], id="one-shot of an agent's file"),
    pytest.param(["-m", "still", "--models-dir", "pools", "hello"], id="one-shot of a pool elsewhere"),
    pytest.param(["session", "list"], id="session list"),
    pytest.param(["config", "show"], id="config show"),
    pytest.param(["status"], id="status"),
    pytest.param(["quota-check", "--cached"], id="quota-check"),
    pytest.param(["report"], id="report"),
    pytest.param(["why", "still"], id="why"),
    pytest.param(["--linear"], id="linear"),
]


@pytest.mark.parametrize("arguments", _READERS)
def test_a_configuration_that_was_read_before_loads_no_checker(loaded, configured, home, agents, arguments):
    (home / "mine.md").write_text("---\nmodel: still\n---\nBe brief.\n")
    (home / "pools").mkdir()
    (home / "pools" / "still.toml").write_text('[[providers]]\nname = "quiet"\n')
    agents(*arguments)

    modules = loaded(*arguments)

    assert set() == modules & (_CONFIGURATION | _SCREEN | _NETWORK)


def test_a_one_shot_of_what_was_read_before_reads_no_toml_and_loads_few_files(loaded_modules, configured, home, agents):
    agents("-m", "still", "hello")

    modules = top(loaded_modules("-m", "still", "hello"))

    assert {"sqlite3", "subprocess"} <= modules
    assert set() == modules & (_CONFIGURATION | {"tomllib", "difflib"} | _SCREEN | _NETWORK)

    (home / _SESSIONS).unlink()  # after a scan, copies are kept by their hashes
    agents("-m", "still", "hello")

    modules = loaded_modules("-m", "still", "hello")

    assert set() == modules & _REDACTORS
    names = {name for name in modules if name.startswith("oulipoly_")}
    folders = {name.rpartition(".")[0] for name in names}
    assert len(names - folders) <= _MOST_FILES, sorted(names - folders)
    assert [] == [name for name in names if {"live", "drivers", "host", "web"} & set(name.split("."))]


def test_a_list_of_agents_loads_no_live_sessions_no_images_and_no_logins(loaded_modules, configured, home, agents):
    agents("status")  # makes the state file
    now = datetime(2026, 11, 30, tzinfo=UTC)
    store = open_store(home / ".local/share/oulipoly-agent-runner/state.db")
    insert_agent(store, Agent("an-agent", "stopped-one", "x", "none", "stopped", now, now))
    store.close()

    modules = loaded_modules("agent", "ps")

    assert "oulipoly_engine.store.agents.agents" in modules
    assert set() == top(modules) & (_CONFIGURATION | _SCREEN | _NETWORK | _SERVER | {"tempfile"})
    ours = {tuple(name.split(".")[1:3]) for name in modules if name.startswith("oulipoly_engine.")}
    assert set() == ours & {(layer, part) for layer in ("facade", "service") for part in ("live", "images")}
    assert set() == modules & {f"oulipoly_engine.{name}" for name in _OF_AGENTS_THAT_RUN}


def test_a_start_of_an_agent_that_was_read_before_loads_no_sessions_and_no_builder(loaded_modules, home, agents):
    agents("status")  # makes the state file
    now = datetime(2026, 11, 30, tzinfo=UTC)
    plan = AgentPlan(runtime="/nowhere", source_text="FROM scratch")
    store = open_store(home / ".local/share/oulipoly-agent-runner/state.db")
    insert_agent(store, Agent("an-agent", "stopped-one", "x", "none", "stopped", now, now, plan=plan))
    store.close()

    modules = loaded_modules("agent", "start", "stopped-one", expects=1)  # once its program is looked for

    assert "oulipoly_engine.service.agents.tree" in modules
    assert set() == top(modules) & (_CONFIGURATION | _SCREEN | _NETWORK | _SERVER | {"logging", "secrets"})
    assert set() == modules & {f"oulipoly_engine.{name}" for name in _NOT_AT_A_START}


@pytest.mark.parametrize("name", ["agents.supervisor", "live.session_host"])
def test_a_process_that_holds_something_loads_no_library_that_msgspec_can_do_without(home, name):
    code = f"import oulipoly_engine.service.{name}, sys; print('typing_extensions' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert ("False\n", "") == (done.stdout, done.stderr)


def test_an_edit_is_checked_once(loaded, configured, home, agents):
    agents("-m", "still", "hello")
    for name in ("providers.toml", "models/still.toml", "sessions.toml", "config.toml"):
        with (home / ".config" / "oulipoly-agent-runner" / name).open("a") as file:
            file.write("# a remark\n")
        assert "pydantic" in loaded("-m", "still", "hello"), name

    assert set() == loaded("-m", "still", "hello") & (_CONFIGURATION | {"tomllib"})


def test_neither_hashes_nor_the_redactor_are_loaded_by_a_list_that_needs_none(loaded_modules, configured, home, agents):
    (home / _SESSIONS).unlink()
    agents("session", "list")

    assert set() == loaded_modules("session", "list") & _REDACTORS


def test_a_check_reads_every_file_anew(loaded, configured, agents):
    agents("config", "check")

    modules = loaded("config", "check")

    assert {"tomllib", "yaml", "pydantic"} <= modules
    assert set() == modules & ({"tomlkit"} | _SCREEN | _NETWORK)


def test_no_command_of_the_headless_face_loads_the_screen_s_libraries():
    code = (
        "import sys; from oulipoly_engine.cli.base import commands\n"
        "served = [entry for entry in commands.SUBCOMMANDS if entry.module]\n"
        "for entry in served: commands.load(entry)\n"
        "print(len(served), *(name for name in sys.modules if name.partition('.')[0] in "
        f"{{'textual', 'rich', 'oulipoly_tui', *{_SERVER}}}))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    count, *found = done.stdout.split()
    assert int(count) > 0
    assert [] == found


def test_the_linear_face_loads_nothing_of_the_screen_s_libraries(loaded, configured):
    modules = loaded("--linear")

    assert {"oulipoly_tui", "sqlite3"} <= modules
    assert set() == modules & (_SCREEN | _NETWORK | {"tomlkit"})


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
        "oulipoly_tui.orders.line",
        "oulipoly_tui.commands.palette",
        "oulipoly_tui.commands.pools",
        "oulipoly_tui.commands.sessions",
        "oulipoly_tui.screens.help",
    )
    code = (
        "import sys; from oulipoly_tui import entry, app; from oulipoly_tui.panes.quota import pools\n"
        f"print(*(name for name in {late!r} if name in sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    assert [] == done.stdout.split()


def test_a_completed_word_loads_no_parser(loaded, configured):
    modules = loaded("__complete", "bash", "-m", "")

    assert set() == modules & ({"argparse"} | _CHECKERS | _STATE | _PROCESSES - {"uuid"} | _SCREEN | _NETWORK)


def test_what_is_loaded_is_not_walked_as_a_command_ends():
    code = (
        "import atexit, gc, sys\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 1000))\n"  # called after what main registers
        "sys.argv = ['agents', '--version']\n"
        "from oulipoly_tui.__main__ import main\n"
        "sys.exit(main())"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert "True" == done.stdout.splitlines()[-1]
