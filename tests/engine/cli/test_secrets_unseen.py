"""A secret that somebody put into the configuration, an argument or a note is neither shown nor stored by us."""

from __future__ import annotations

import json
import re
from contextlib import closing
from datetime import UTC, datetime

import pytest

from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.runs import activity, invocations
from oulipoly_engine.store.runs.invocations import NewInvocation
from oulipoly_engine.store.sessions import sessions

KEY = "sk-proj-" + "Q7x2m9ZkT4vB8nL1" + "cR5wY3dH6jF0pS"  # in parts: scanners take such a thing for a leaked key
BARE = "7f3KQm9sLw2PzX8v" + "N4bTc6RyHd1JgAe5UoZiEq0M"
SESSION = "0b52a2d6-4e2c-4d0a-8f3e-1f2a3b4c5d6e"

LOOKS = [("--usage", "--json"), ("account", "list"), ("config", "check"), ("config", "show")]


def letters(text):
    """Return a text as it is after any change of its signs and cases: a column of vendors has names so."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def assert_unseen(secret, done):
    assert b"Traceback" not in done.stderr
    assert letters(secret) not in letters((done.stdout + done.stderr).decode())


def assert_not_stored(secret, world):
    files = [path for path in (world.home / ".local").rglob("*") if path.is_file()]

    assert files
    assert [] == [path for path in files if secret.encode() in path.read_bytes()]


def test_key_inside_a_command_that_cannot_be_started_is_neither_shown_nor_stored(world):
    world.config.mkdir(parents=True, exist_ok=True)
    (world.config / "providers.toml").write_text(
        f"[a]\ncommand = '/nowhere/{KEY}'\nargs = ['--key', '{KEY}']\nprompt_mode = 'stdin'\n"
    )
    world.model("m", "a")

    done = world.run("-m", "m", "x")

    assert 1 == done.returncode
    assert b"[redacted]' was not found" in done.stderr
    assert_not_stored(KEY, world)
    for arguments in LOOKS:
        assert_unseen(KEY, world.run(*arguments))


def test_what_a_run_failed_with_is_stored_without_secrets(world):
    world.data.mkdir(parents=True)
    now = datetime.now(UTC)
    with closing(open_store(world.data / "state.db")) as store:
        row = invocations.begin(store, NewInvocation("a" * 8, "m", "a", 0, now))
        invocations.end(store, row, Outcome(success=False, exit_code=1, finished_at=now, error_text=f"it said {KEY}"))

    assert [{"last_error": "it said [redacted]"}] == world.rows("SELECT last_error FROM account_counters")


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
        ("session", "locate", KEY),
        ("config", KEY),
    ],
    ids=["value", "value of a secret's name", "no name", "model", "agent", "session", "session, JSON", "command"],
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


def test_key_in_the_place_of_a_setting_is_told_without_it(world):
    world.account("a", "true", f"resume = '{KEY}'")
    world.model("m", "a")

    done = [world.run(*arguments) for arguments in [("config", "check"), ("config", "check", "--json"), ("status",)]]
    with closing(Engine()) as engine:
        troubles = engine.snapshot().problems

    assert [True, True] == [b"[redacted]" in one.stdout for one in done[:2]]
    for one in done:
        assert_unseen(KEY, one)
    assert troubles
    assert KEY not in str(troubles)


def scan(world, *said):
    """Have a session in which a user said one thing after the other, each with its answer."""
    folder = world.home / ".claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    world.account("a", "true")
    (world.config / "sessions.toml").write_text(f"[a]\nturn_script = 'claude-code-turns {folder.parent}'\n")
    lines = []
    for number, text in enumerate(said):
        for role in ("user", "assistant"):
            message = {"role": role, "content": text}
            if role == "assistant":
                usage = {"input_tokens": 5, "output_tokens": 7}
                message |= {"id": f"msg_{number}", "model": "claude-opus-4-5", "usage": usage}
            shared = {"type": role, "uuid": f"{role}{number}", "sessionId": SESSION, "cwd": "/work"}
            lines.append(shared | {"timestamp": f"2026-11-22T10:00:0{number}Z", "message": message})
    (folder / f"{SESSION}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    world.run("session-scan")


def assert_all_unseen(world, *commands):
    done = [world.run(*arguments) for arguments in commands]

    assert [0] * len(done) == [one.returncode for one in done], [one.stderr for one in done]
    for one in done:
        assert_unseen(KEY, one)
    return done


def test_what_was_said_is_listed_and_found_without_secrets(world):
    scan(world, f"deploy with {KEY}", f"a needle beside {KEY}")

    done = assert_all_unseen(
        world,
        ("session", "list"),
        ("session", "list", "--json"),
        ("session", "search", "needle"),
        ("session", "search", "needle", "--json"),
        ("session", "show", SESSION),
        ("session", "show", SESSION, "--json"),
        ("session", "export", SESSION, "--format", "markdown"),
    )

    assert [True] * len(done) == [b"[redacted]" in one.stdout for one in done], [one.stdout for one in done]


def test_name_and_note_of_a_session_are_shown_without_secrets(world):
    scan(world, "a needle")

    done = assert_all_unseen(
        world,
        ("session", "name", SESSION, f"deploys with {KEY}"),
        ("session", "note", SESSION, f"the key is {KEY}"),
        ("session", "list"),
        ("session", "list", "--json"),
        ("session", "show", SESSION),
        ("session", "show", SESSION, "--json"),
        ("session", "search", "needle"),
        ("session", "search", "needle", "--json"),
        ("session", "export", SESSION, "--format", "markdown"),
        ("session", "export", SESSION, "--format", "html"),
        ("report", "--by", "session"),
    )

    assert b"[redacted]" in done[2].stdout
    with closing(open_store(world.data / "state.db")) as store:
        assert {SESSION: "deploys with [redacted]"} == sessions.titles(store, "a", [SESSION])
