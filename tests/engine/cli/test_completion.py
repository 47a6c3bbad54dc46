"""What is offered where a word is typed, and that the table of it, the man page and the reference are up to date."""

import importlib.util
import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from oulipoly_engine.cli.completion import complete
from oulipoly_engine.paths import from_environment
from oulipoly_engine.store.base import db

SESSION = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"
AT = "2026-11-20T10:00:00.000000Z"


@pytest.fixture
def configured():
    """A home with a model, an agent, an account, a session and a terminal."""
    paths = from_environment(os.environ)
    for folder in (paths.models, paths.agents, paths.runtime):
        folder.mkdir(parents=True)
    (paths.models / "opus.toml").write_text('[[providers]]\nname = "work"\n')
    (paths.agents / "reviewer.md").write_text("")
    paths.providers.write_text('[work]\ncommand = "claude"\n["re\\nst"]\ncommand = "claude"\n')
    (paths.runtime / "3fa2b1.json").write_text(
        f'{{"id": "3fa2b1", "label": "vim", "cwd": "/", "pid": 1, "host_pid": 1, "started_at": "{AT}"}}'
    )
    db.open_store(paths.state_db).close()
    with closing(sqlite3.connect(paths.state_db)) as connection, connection:
        connection.execute(
            "INSERT INTO session_chains(chain_id, created_at, last_used_at, model_name) VALUES (?, ?, ?, 'opus')",
            (SESSION, AT, AT),
        )


def offered(line):
    return [word for word, _ in complete.offer(line.split(" "))]


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ter", ["terminal"]),
        ("terminal att", ["attach"]),
        ("terminal attach ", ["3fa2b1"]),
        ("attach 3f", ["3fa2b1"]),
        ("session show 9e", [SESSION]),
        ("session show ff", []),
        ("session show --lim", ["--limit"]),
        ("session show --tur", []),
        ("session list --sort cr", ["created"]),
        ("account dr", ["drain"]),
        ("account drain wo", ["work"]),
        ("why op", ["opus"]),
        ("-m op", ["opus"]),
        ("--model=op", ["--model=opus"]),
        ("-p /x -m op", ["opus"]),
        ("-m opus op", []),
        ("rev", ["reviewer"]),
        ("reviewer rev", []),
        ("repl --resume 9e", [SESSION]),
        ("quota check wo", ["work"]),
        ("quota check work wo", ["work"]),
        ("session export x --output ", [":files"]),
        ("repl --project ", [":folders"]),
        ("terminal -- vi", [":programs"]),
        ("terminal new -- vi no", [":files"]),
        ("session move x wo", ["work"]),
        ("runtime show wo", ["work"]),
        ("--linear", ["--linear"]),
        ("nonsense --x", []),
    ],
)
def test_offers(line, words, configured):
    assert words == offered(line)


def test_a_name_that_a_terminal_would_obey_is_left_out(configured, capfd):
    assert 0 == complete.run(["fish", "account", "drain", ""])

    assert "work\tclaude\n" == capfd.readouterr().out


@pytest.mark.parametrize(
    ("words", "shown"), [(["--model", "=", "op"], "opus\n"), (["--model", "="], "opus\n"), (["--model=op"], "opus\n")]
)
def test_bash_cuts_a_word_at_the_equals_sign(words, shown, configured, capfd):
    assert 0 == complete.run(["bash", *words])

    assert shown == capfd.readouterr().out


def test_nothing_is_offered_and_nothing_made_where_nothing_is():
    assert [] == offered("session show ")
    assert [] == offered("account drain ")
    assert not from_environment(os.environ).data.exists()


def test_what_is_made_of_the_commands_is_up_to_date():
    path = Path(__file__).parents[3] / "scripts" / "command_reference.py"
    spec = importlib.util.spec_from_file_location("command_reference", path)
    script = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    try:
        spec.loader.exec_module(script)
        assert 0 == script.main(["--check"]), "run scripts/command_reference.py"
    finally:
        sys.path[:] = before


def test_the_json_of_every_command_is_described():
    root = Path(__file__).parents[3]
    table = json.loads((root / "engine/oulipoly_engine/cli/completion/table.json").read_text())
    told = (root / "docs" / "json.md").read_text()
    able = [name for name, spec in table.items() if name and "--json" in spec.get("options", {})]

    assert [] == [name for name in able if f"| `{name}`" not in told and f", `{name}`" not in told]


def test_help_opens_no_state_file(agents, home):
    assert 0 == agents("account", "list", "--help").returncode
    assert not (home / ".local/share/oulipoly-agent-runner/state.db").exists()
