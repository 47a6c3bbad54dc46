"""A move killed at any moment loses nothing and leaves nothing half moved: the next start finishes or undoes it.

Both accounts have turn scripts, as after an ordinary set-up: whatever lies on the target would be read.
"""

import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import cycle

import pytest

from oulipoly_engine.facade.engine import Engine

COUNT = 6  # entries of a session's transcript


def record(session, number, cwd):
    role = "assistant" if number % 2 else "user"
    shared = {"sessionId": session, "uuid": f"{session[:8]}-{number}", "cwd": cwd, "type": role}
    at = f"2026-01-01T00:{number:02}:00.000Z"
    content = [{"type": "text", "text": f"words {number} " + "x" * 20_000}]
    return json.dumps(shared | {"timestamp": at, "message": {"role": role, "content": content}}) + "\n"


class Moves:
    """Sessions of two accounts of Claude Code, a and b, and of two of Codex, c and d."""

    def __init__(self, world):
        self.world = world
        self.folder = str(world.home).replace("/", "-").replace("_", "-").replace(".", "-")
        claude, codex = ("claude-code", "claude_code", "projects"), ("codex", "codex_session", "sessions")
        for name, (program, storage_type, folder) in {"a": claude, "b": claude, "c": codex, "d": codex}.items():
            root = world.home / f".{name}" / folder
            root.mkdir(parents=True)
            world.account(
                name,
                "cat",
                f"[{name}.resume]\nkind = 'flag'\nflag = '--resume'\n[{name}.session_storage]\nkind = 'script'\n"
                f"cwd_script = '{program}-cwd {root}'\ntranscript_script = '{program}-locate-transcript {root}'\n"
                f"storage_type = '{storage_type}'",
            )
            with (world.config / "sessions.toml").open("a") as file:
                file.write(f"[{name}]\nturn_script = '{program}-turns {root}'\n")

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

    def rollout(self, account, session):
        return self.world.home / f".{account}" / "sessions" / "2026" / "01" / "01" / f"rollout-2026-{session}.jsonl"

    def begin_forks(self):
        """Have a session on account c, and two that were forked from it; return the three."""
        parent, *forks = sessions = [str(uuid.uuid4()) for _ in range(3)]
        self.rollout("c", parent).parent.mkdir(parents=True, exist_ok=True)
        for session in sessions:
            base = {"history_base": {"thread_id": parent, "end_byte_offset": 20}} if session in forks else {}
            content = [{"type": "input_text", "text": "x" * 20_000}]
            message = {"type": "message", "role": "user", "content": content}
            payloads = {"session_meta": {"id": session, **base}, "response_item": message}
            records = [
                {"type": kind, "timestamp": "2026-01-01T00:00:00.000Z", "payload": one}
                for kind, one in payloads.items()
            ]
            self.rollout("c", session).write_text("".join(json.dumps(one) + "\n" for one in records))
        return sessions

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


def test_killed_moves_back(moves, kills):
    undisturbed, *sessions = [moves.begin() for _ in range(len(kills) + 1)]
    cwd = str(moves.world.home)
    with closing(Engine()) as engine:
        engine.sessions.scans.read_accounts()
        for session in (undisturbed, *sessions):
            engine.sessions.moves.move(session, "b")
            with moves.path("b", session).open("a") as file:
                file.write(record(session, COUNT, cwd))
        engine.sessions.scans.read_accounts()
    kills.measure("session", "move", undisturbed, "a")

    for moment, session in zip(kills, sessions, strict=False):
        former, whole = (moves.path(account, session).read_text() for account in ("a", "b"))
        kills.kill(moment, "session", "move", session, "a")
        owner = moves.listed(session)[0][0]
        assert {"a": whole, "b": former}[owner] == moves.path("a", session).read_text(), moment
        moves.run("session", "move", session, "a")

        assert [("a", COUNT + 2)] == moves.listed(session), moment
        assert whole == moves.path("a", session).read_text() == moves.path("b", session).read_text()
        assert [] == [path for path in moves.path("a", session).parent.iterdir() if ".kept-" in path.name]


def test_killed_move_of_a_fork_while_another_one_goes(moves, kills):
    undisturbed, *families = [moves.begin_forks() for _ in range(len(kills) + 1)]
    moves.run("session-scan")
    kills.measure("session", "move", undisturbed[1], "d")

    with ThreadPoolExecutor(1) as pool:
        for moment, (parent, killed, other) in zip(kills, families, strict=False):
            moving = pool.submit(moves.run, "session", "move", other, "d")
            kills.kill(moment, "session", "move", killed, "d")
            moving.result()
            assert ["c"] == [account for account, _ in moves.listed(parent)], moment
            assert moves.rollout("d", parent).read_text() == moves.rollout("c", parent).read_text(), moment
            moves.run("session", "move", killed, "d")

            assert [["c"], ["d"], ["d"]] == [
                [account for account, _ in moves.listed(session)] for session in (parent, killed, other)
            ], moment
            assert moves.rollout("d", parent).exists()
