"""A secret that somebody put into the configuration, an argument or a note is neither shown nor stored by us."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.runs import activity

KEY = "sk-proj-" + "Q7x2m9ZkT4vB8nL1" + "cR5wY3dH6jF0pS"  # in parts: scanners take such a thing for a leaked key
BARE = "7f3KQm9sLw2PzX8v" + "N4bTc6RyHd1JgAe5UoZiEq0M"
SESSION = "0b52a2d6-4e2c-4d0a-8f3e-1f2a3b4c5d6e"

LOOKS = [("--usage", "--json"), ("account", "list"), ("config", "check"), ("config", "show")]


def assert_unseen(secret, done):
    assert b"Traceback" not in done.stderr
    assert secret.encode() not in done.stdout + done.stderr


def assert_not_stored(secret, world):
    files = [path for path in (world.home / ".local").rglob("*") if path.is_file()]

    assert files
    assert [] == [path for path in files if secret.encode() in path.read_bytes()]


def test_key_inside_a_command_that_cannot_be_started_is_neither_shown_nor_stored(world):
    world.config.mkdir(parents=True, exist_ok=True)
    (world.config / "providers.toml").write_text(f"[a]\ncommand = '/nowhere/{KEY}'\nprompt_mode = 'stdin'\n")
    world.model("m", "a")

    done = world.run("-m", "m", "x")

    assert 1 == done.returncode
    assert b"[redacted]' was not found" in done.stderr
    assert_not_stored(KEY, world)
    for arguments in LOOKS:
        assert_unseen(KEY, world.run(*arguments))


def test_failure_that_an_older_version_stored_raw_is_not_shown(world):
    world.account("a", "exit 1")
    world.model("m", "a")
    world.run("-m", "m", "x")
    world.change("UPDATE account_counters SET last_error = ?", f"it said {KEY}")

    with closing(open_store(world.data / "state.db")) as store:
        assert ["it said [redacted]"] == [failure.text for failure in activity.failures(store)]


@pytest.mark.parametrize(
    "arguments",
    [
        ("-m", "m", "-i", f"count={KEY}", "x"),
        ("-m", "m", "-i", "api_token=hunter2hunter2", "x"),
        ("-m", "m", "-i", KEY, "x"),
        ("-m", KEY, "x"),
        (KEY, "x"),
        ("session", "show", KEY),
        ("config", KEY),
    ],
    ids=["value", "value of a secret's name", "no name", "model", "agent", "session", "command"],
)
def test_refused_argument_is_repeated_without_its_secret(world, arguments):
    world.account("a", "echo ran")
    world.model("m", "a")
    with (world.config / "models" / "m.toml").open("a") as file:
        for name in ("count", "api_token"):
            file.write(f"[[inputs]]\nname = '{name}'\ntype = 'integer'\nflag = '--{name}'\n")

    done = world.run(*arguments)

    assert 0 != done.returncode
    assert_unseen(KEY, done)
    assert_unseen("hunter2hunter2", done)


def test_what_quota_script_and_login_refresh_say_is_shown_and_stored_without_bare_tokens_and_cut(world):
    world.account("a", "true")
    with (world.config / "providers.toml").open("a") as file:
        said = f"{BARE} was refused {'again ' * 200}"
        file.write(f'quota_script = "echo {said} >&2; exit 1"\nauth_refresh_command = "echo {said}; exit 1"\n')
    world.model("m", "a")

    done = world.run("quota-check")

    assert_unseen(BARE, done)
    assert b"was refused" in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 2000
    assert_unseen(BARE, world.run("--usage", "--json"))
    assert_not_stored(BARE, world)


def test_name_and_note_of_a_session_are_shown_without_secrets(world):
    folder = world.home / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    world.account("a", "true")
    (world.config / "sessions.toml").write_text(f"[a]\nturn_script = 'claude-code-turns {folder.parent}'\n")
    record = {"type": "user", "uuid": "u1", "sessionId": SESSION, "cwd": "/work", "timestamp": "2026-11-22T10:00:00Z"}
    (folder / f"{SESSION}.jsonl").write_text(json.dumps(record | {"message": {"content": "a needle"}}) + "\n")

    world.run("session-scan")

    done = [
        world.run("session", "name", SESSION, f"deploys with {KEY}"),
        world.run("session", "note", SESSION, f"the key is {KEY}"),
        world.run("session", "list"),
        world.run("session", "list", "--json"),
        world.run("session", "show", SESSION),
        world.run("session", "show", SESSION, "--json"),
        world.run("session", "search", "needle"),
        world.run("session", "search", "needle", "--json"),
        world.run("session", "export", SESSION, "--format", "markdown"),
        world.run("session", "export", SESSION, "--format", "html"),
        world.run("report", "--by", "session"),
    ]

    assert [0] * len(done) == [one.returncode for one in done], [one.stderr for one in done]
    assert b"[redacted]" in done[2].stdout
    for one in done:
        assert_unseen(KEY, one)
