"""A move killed at any moment loses nothing and leaves nothing half moved: the next start finishes or undoes it.

Both accounts have turn scripts, as after an ordinary set-up: whatever lies on the target would be read.
"""

import json
import uuid
from itertools import cycle

import pytest

COUNT = 6  # entries of a session's transcript


def record(session, number, cwd):
    role = "assistant" if number % 2 else "user"
    shared = {"sessionId": session, "uuid": f"{session[:8]}-{number}", "cwd": cwd, "type": role}
    at = f"2026-01-01T00:{number:02}:00.000Z"
    content = [{"type": "text", "text": f"words {number} " + "x" * 20_000}]
    return json.dumps(shared | {"timestamp": at, "message": {"role": role, "content": content}}) + "\n"


class Moves:
    """Sessions of two accounts of Claude Code."""

    def __init__(self, world):
        self.world = world
        self.folder = str(world.home).replace("/", "-").replace("_", "-").replace(".", "-")
        for name in ("a", "b"):
            root = world.home / f".{name}" / "projects"
            root.mkdir(parents=True)
            world.account(
                name,
                "cat",
                f"[{name}.resume]\nkind = 'flag'\nflag = '--resume'\n[{name}.session_storage]\nkind = 'script'\n"
                f"cwd_script = 'claude-code-cwd {root}'\ntranscript_script = 'claude-code-locate-transcript {root}'\n"
                "storage_type = 'claude_code'",
            )
            with (world.config / "sessions.toml").open("a") as file:
                file.write(f"[{name}]\nturn_script = 'claude-code-turns {root}'\n")

    def path(self, account, session):
        return self.world.home / f".{account}" / "projects" / self.folder / f"{session}.jsonl"

    def begin(self):
        """Have a session on account a, with a large result and a sub-agent beside its transcript."""
        session = str(uuid.uuid4())
        beside = self.path("a", session).with_suffix("")
        (beside / "subagents").mkdir(parents=True)
        (beside / "result.txt").write_text("large result")
        side = json.loads(record(session, 2, str(self.world.home))) | {"isSidechain": True, "uuid": f"{session}-side"}
        (beside / "subagents" / "agent-1.jsonl").write_text(json.dumps(side) + "\n")
        cwd = str(self.world.home)
        self.path("a", session).write_text("".join(record(session, number, cwd) for number in range(COUNT)))
        return session

    def run(self, *arguments):
        done = self.world.run(*arguments)
        assert 0 == done.returncode, (arguments, done.stderr)
        return done

    def files(self, session):
        found = (self.world.home / ".b").rglob("*")
        return {path.name for path in found if session in str(path) and path.is_file()}

    def listed(self, session):
        """Return the account and the number of entries of each row that the list has for a session."""
        rows = json.loads(self.run("session", "list", "--all", "--json").stdout)["conversations"]
        return [(row["account"], row["turns"]) for row in rows if row["session_id"] == session]


@pytest.fixture
def moves(world):
    return Moves(world)


def test_killed_moves(moves, kills):
    undisturbed, *sessions = [moves.begin() for _ in range(len(kills) + 1)]
    moves.run("session-scan")
    kills.measure("session", "move", undisturbed, "b")

    looks = cycle((("session-scan",), ("session", "list"), None))
    for moment, session, look in zip(kills, sessions, looks, strict=False):
        kills.kill(moment, "session", "move", session, "b")
        if look is not None:
            moves.run(*look)
            assert 1 == len(moves.listed(session)), moment
        moves.run("session", "move", session, "b")

        assert [("b", COUNT + 1)] == moves.listed(session), moment
        assert moves.path("a", session).read_text() == moves.path("b", session).read_text()
        assert {"agent-1.jsonl", "result.txt", f"{session}.jsonl"} == moves.files(session)
        assert [] == list((moves.world.data / "replace_journal").glob("session-*"))
