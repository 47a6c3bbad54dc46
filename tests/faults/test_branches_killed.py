"""Changes of a session's tree, killed before each statement to the state file and each change to another file.

What starts next finds everything as it was before or as it is after, and the same again leads to what is after. Each
run of the tests kills one change of entries and one of files; `scripts/test-kills` all of them.
"""

import json
import os
import resource
import signal
import sqlite3
import sys
import traceback
from functools import partial
from itertools import count

import pytest

from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.engine import Engine

SESSION = "5e551011-0000-4000-8000-000000000000"
CHANGES = ("os.rename", "os.link", "os.remove", "os.mkdir")
SAID = ("one", "two", "three", "four")
IDS = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(len(SAID))]
OPERATIONS = {
    "branch": lambda engine, _: engine.sessions.branches.branch(SESSION, IDS[1]),
    "clear": lambda engine, _: engine.sessions.branches.branch(SESSION, ""),
    "label": lambda engine, _: engine.sessions.branches.label(SESSION, IDS[1], "good"),
    "delete": lambda engine, _: engine.sessions.archive.delete(SESSION),
    "undelete": lambda engine, _: engine.sessions.archive.undelete(SESSION),
    "import": lambda engine, file: engine.sessions.files.import_file(file),
}


@pytest.fixture(params=["sample", pytest.param("each", marks=[pytest.mark.kills, pytest.mark.timeout(1800)])])
def stride(request):
    """How many moments lie between two kills."""
    return {"sample": 5, "each": 1}[request.param]


@pytest.fixture
def talk(world):
    """A recorded session of claude, and a session file beside it."""
    roof = world.home / ".claude"
    transcript = roof / "projects" / "-work" / f"{SESSION}.jsonl"
    transcript.parent.mkdir(parents=True)
    message = {"sessionId": SESSION, "cwd": "/work"}
    lines = [
        message
        | {"uuid": IDS[number], "parentUuid": IDS[number - 1] if number else None, "type": role}
        | {"timestamp": f"2026-01-01T00:00:0{number}Z", "message": {"role": role, "content": text}}
        for number, (role, text) in enumerate(zip(("user", "assistant") * 2, SAID, strict=True))
    ]
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    world.account("a", "cat")
    world.model("m", "a")
    (world.config / "sessions.toml").write_text(f"[a]\nturn_script = 'claude-code-turns {roof}/projects'\n")
    file = world.home / "s.jsonl"
    rows = [{"type": "session", "version": 2, "id": "of-a-file", "cwd": "/w"}]
    said = {"message": {"role": "user", "content": "x"}}
    rows += [{"id": str(n), "parent_id": str(n - 1) if n else None, **said} for n in range(3)]
    rows += [{"id": "l", "parent_id": "2", "kind": "label", "target_id": "1", "label": "here"}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    Engine().sessions.scans.read_new()
    return Talk(world, transcript, file)


class Talk:
    """The two sessions, and what a user sees of them."""

    def __init__(self, world, transcript, file):
        self.world, self._transcript, self.file = world, transcript, file
        self._saved = None

    def save(self):
        """Keep what is there, to begin with it again."""
        self._saved = {path: path.read_bytes() for path in self._files()}

    def restore(self):
        """Begin again with what was kept."""
        for path in self._files() - self._saved.keys():
            path.unlink()
        for path, content in self._saved.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def _files(self):
        roofs = (self.world.data, self._transcript.parents[1])
        return {path for roof in roofs for path in roof.rglob("*") if path.is_file() and not path.is_socket()}

    def look(self):
        """Return what there is to see in any way."""
        engine = Engine()
        listed = {row["chain_id"]: row["session_id"] for row in self.world.rows("SELECT * FROM session_chain_segments")}
        rows = self.world.rows("SELECT chain_id, deleted_at IS NULL AS is_there FROM session_chains")
        trees = {session: engine.sessions.branches.tree(session, "all") for session in {*listed.values()}}
        return {
            "there": {listed[row["chain_id"]]: row["is_there"] for row in rows},
            "transcript": self._transcript.exists() and self._transcript.read_bytes(),
            "entries": {session: [*tree.entries] for session, tree in trees.items()},
            "leaves": {session: tree.leaf for session, tree in trees.items()},
        }


def kill(number, work):
    """Do some work in a child that is killed before one of its steps, and return whether it was."""

    def die_there():
        numbers = count(1)

        def step(*_):
            if next(numbers) == number:
                os.kill(os.getpid(), signal.SIGKILL)

        def connect(*words, real=sqlite3.connect, **more):
            connection = real(*words, **more)
            connection.set_trace_callback(step)
            return connection

        def notice(event, arguments):
            is_written = event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_ACCMODE
            if event in CHANGES or is_written:
                step()

        sqlite3.connect = connect
        sys.addaudithook(notice)
        work()

    code = end_of(start(die_there))
    assert code in (0, -signal.SIGKILL)
    return code != 0


def start(work):
    """Do some work in a child, which ends with 3 where we refuse it; return its process number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except RunnerError:
        code = 3
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def end_of(child):
    """Return how a child has ended."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in ("branch", "delete") else [pytest.mark.kills]) for name in OPERATIONS],
)
def test_a_killed_change_is_there_or_not_and_done_again_it_is(name, talk, stride):
    work = OPERATIONS[name]
    if name == "undelete":
        OPERATIONS["delete"](Engine(), talk.file)
    talk.save()
    old = talk.look()
    work(Engine(), talk.file)
    new = talk.look()
    assert old != new
    kills = 0
    for number in count(1 + len(name) % stride, stride):
        talk.restore()
        was_killed = kill(number, lambda: work(Engine(), talk.file))
        reached = talk.look()
        assert was_killed or reached == new
        for key in old:
            assert reached[key] in (old[key], new[key]), (number, key)
        assert [{"integrity_check": "ok"}] == talk.world.rows("PRAGMA integrity_check")
        if not was_killed:
            break
        kills += 1
        if reached["there"] != new["there"] or name in ("branch", "clear", "label", "import"):
            work(Engine(), talk.file)
            assert new == talk.look(), number
    assert kills > 1


@pytest.mark.parametrize("name", OPERATIONS)
def test_on_a_full_disk_a_change_is_refused_and_nothing_has_changed(name, talk):
    if name == "undelete":
        OPERATIONS["delete"](Engine(), talk.file)
    talk.save()
    old = talk.look()

    def work(most):
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        OPERATIONS[name](Engine(), talk.file)

    for most in (0, 100, 5_000):  # bytes that a file may have: for root and for users what a full disk is
        talk.restore()

        assert 3 == end_of(start(partial(work, most)))
        assert old == talk.look()


def test_two_processes_that_branch_one_session_at_once_both_do(talk):
    def work(entry_id):
        engine = Engine()
        for number in range(20):
            engine.sessions.branches.branch(SESSION, entry_id)
            engine.sessions.branches.label(SESSION, entry_id, str(number))

    children = [start(partial(work, entry_id)) for entry_id in IDS[:2]]

    assert [0, 0] == [end_of(child) for child in children]
    tree = Engine().sessions.branches.tree(SESSION)
    assert tree.leaf in IDS[:2]
    assert ["19", "19", "", ""] == [entry.label for entry in tree.entries]


def test_a_killed_fork_leaves_its_session_as_it_was_and_can_be_made_again(live, stride):
    session, turn = live.begin_turn("the first thing")
    live.live.wait(session, turn)
    of_session = partial(live.engine.sessions.branches.tree, session)
    old = (of_session().leaf, [*of_session().entries])
    forks = 0
    for number in count(1 + stride, 4 * stride):
        was_killed = kill(number, lambda: live.open_engine().live.fork(session))
        known = live.rows("SELECT status FROM live_sessions WHERE forked_from = ?", session)

        assert forks <= len(known) <= forks + 1, number
        assert old == (of_session().leaf, [*of_session().entries])
        forks = len(known)
        if not was_killed:
            break
    forked = [row["session_id"] for row in live.rows("SELECT * FROM live_sessions WHERE forked_from = ?", session)]
    for fork in (*forked[-1:], live.live.fork(session).session.session_id):
        live.live.send(fork, "the second thing", waits=True)

        assert session == live.live.find(fork).forked_from
        assert "the second thing" in [entry.preview for entry in live.engine.sessions.branches.tree(fork).entries]
    assert number > 2 * stride


def test_the_summary_of_what_was_left_is_there_with_the_leaf_at_it_or_nothing_has_changed(talk, stride):
    talk.save()
    old = talk.look()
    for number in count(1, stride):
        talk.restore()
        was_killed = kill(number, lambda: Engine().sessions.branches.branch(SESSION, IDS[1], lambda *_: "a dead end"))
        reached = talk.look()
        own = [entry for entry in reached["entries"][SESSION] if entry.kind == "branch_summary"]

        if was_killed and not own:
            assert old == reached, number
            continue
        (summary,) = own
        assert (IDS[1], summary.entry_id) == (summary.parent_id, reached["leaves"][SESSION]), number
        assert "a dead end" == summary.preview
        if not was_killed:
            break
    assert number > 2 * stride
