"""Accounts renamed, added and removed, and their undo, killed at any moment: done or not done, never half."""

import json
import os
import uuid

import pytest

COMMANDS = {
    "rename": ("account", "rename", "a", "b"),
    "remove": ("account", "remove", "a"),
    "add": ("account", "add", "claude", "b", "--pool", "m", "--no-login", "--no-test"),
}
AFTER = {"rename": {"b"}, "remove": set(), "add": {"a", "b"}}
UNDO = ("account", "undo", "--yes")


@pytest.fixture
def claude(world):
    """Have a program of that name, which `account add` looks for."""
    program = world.home / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho '{}'\n")
    program.chmod(0o755)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        yield


@pytest.mark.kills  # its short form is in tests/engine/test_changes_cut_off.py
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("claude")
def test_killed_changes_of_accounts(world, kills, name):
    root = world.home / ".claude" / "projects" / "-work"
    root.mkdir(parents=True)
    session = str(uuid.uuid4())
    entry = {"sessionId": session, "uuid": "e", "type": "user", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/work"}
    (root / f"{session}.jsonl").write_text(json.dumps(entry | {"message": {"content": "hello"}}) + "\n")
    world.account("a", "cat")
    world.model("m", "a")
    (world.config / "sessions.toml").write_text(f"[a]\nturn_script = 'claude-code-turns {root.parent}'\n")
    command = (*COMMANDS[name], "--yes")
    assert 0 == world.run("session", "scan").returncode
    before = files_of(world)

    def accounts():
        """Return the accounts, each with whether the session is its own, as all files and the state file tell it."""
        listed = json.loads(world.run("session", "list", "--json").stdout)["conversations"]
        names = {row["account"] for row in json.loads(world.run("account", "list", "--json").stdout)["accounts"]}
        assert [session] == [row["session_id"] for row in listed]
        assert not (world.data / "configuration-change.json").exists()
        owners = {row["provider_name"] for row in world.rows("SELECT provider_name FROM session_chain_segments")}
        assert owners == {"b" if names == {"b"} else "a"}
        return names

    for words, old, new in ((command, {"a"}, AFTER[name]), (UNDO, AFTER[name], {"a"})):
        kills.measure(*words)
        for moment in kills:
            assert 0 == world.run(*(UNDO if words is command else command)).returncode
            assert old == accounts()
            kills.kill(moment, *words)
            reached = accounts()
            assert reached in (old, new), moment
            if reached == old:
                redone = world.run(*words)
                assert 0 == redone.returncode, (moment, redone.stderr)
            assert new == accounts(), moment
    assert before == files_of(world)


def files_of(world):
    return {str(path): path.read_text() for path in world.config.rglob("*.toml")}
