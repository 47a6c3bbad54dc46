"""What a move that was cut off has left: finished, undone or set aside, and never read as another session."""

import json
from contextlib import closing

import pytest

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.sessions.move_journal import JournaledFile, MoveJournal
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.service.sessions.copy_transcripts import kept_path
from oulipoly_engine.service.sessions.journal import JournalFolder
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.sessions import chains
from oulipoly_engine.store.sessions.chains import SegmentMove

SESSION = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"
AT = "2026-01-02T00:00:00.000000Z"


def line(number, role="user"):
    record = {"type": role, "uuid": f"u{number}", "sessionId": SESSION, "timestamp": f"2026-01-01T00:00:0{number}.000Z"}
    return json.dumps(record | {"message": {"role": role, "content": f"words {number}"}}) + "\n"


TWO, THREE, OTHER = line(1) + line(2), line(1) + line(2) + line(3), line(1) + line(2) + line(4)


class CutMove:
    """A move from a to b whose journal was written."""

    def __init__(self, world):
        self.world = world
        for name in ("a", "b"):
            root = world.home / f".{name}" / "projects"
            (root / "-w").mkdir(parents=True)
            world.account(name, "cat")
            with (world.config / "sessions.toml").open("a") as file:
                file.write(f"[{name}]\nturn_script = 'claude-code-turns {root}'\n")
        self.source, self.target = (self.path(name) for name in ("a", "b"))
        self.source.write_text(TWO)
        with closing(open_store(world.data / "state.db")) as store, store.write():
            given = {"started_at": AT, "last_used_at": AT, "reason": "initial"}
            self.chain = chains.insert(store, "a", SESSION, "m", **given)
        (world.data / "replace_journal").mkdir()
        self.publish(JournaledFile(str(self.source), str(self.target), 0, len(TWO), is_new=True))

    def publish(self, *files):
        journal = MoveJournal(SESSION, self.chain, "a", "b", "manual", AT, AT, files)
        JournalFolder(self.world.data / "replace_journal").publish(SESSION, journal.to_bytes())

    def path(self, account):
        return self.world.home / f".{account}" / "projects" / "-w" / f"{SESSION}.jsonl"

    def owners(self):
        rows = self.world.rows("SELECT chain_id, provider_name FROM session_chain_segments WHERE ended_at IS NULL")
        return [(row["chain_id"] == self.chain, row["provider_name"]) for row in rows]

    def journals(self):
        return [path.name for path in (self.world.data / "replace_journal").rglob("session-*")]


@pytest.fixture
def cut(world):
    return CutMove(world)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (TWO, None, ("a", None)),
        (TWO, line(1), ("a", line(1))),
        (TWO, TWO, ("b", TWO)),
        (TWO, THREE, ("b", THREE)),
        (THREE, TWO, ("a", None)),
        (None, TWO, ("b", TWO)),
    ],
    ids=["not copied", "somebody's own", "copied", "went on there", "went on here", "source is gone"],
)
def test_move_is_finished_where_its_transcript_is_copied_else_undone(cut, source, target, expected):
    for path, text in ((cut.source, source), (cut.target, target)):
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)

    told = cut.world.run("session", "locate", SESSION).stderr

    assert b"that was cut off has been " + (b"finished" if expected[0] == "b" else b"undone") in told
    assert [(True, expected[0])] == cut.owners()
    assert expected[1] == (cut.target.read_text() if cut.target.exists() else None)
    assert [] == cut.journals()


def test_move_whose_session_went_on_on_both_accounts_is_left_and_told(cut):
    cut.source.write_text(THREE)
    cut.target.write_text(OTHER)

    told = cut.world.run("session", "locate", SESSION).stderr

    assert b"the session has gone on on both accounts since" in told
    assert (THREE, OTHER) == (cut.source.read_text(), cut.target.read_text())
    assert [f"session-{SESSION}.pending"] == cut.journals()
    assert b"" == cut.world.run("session-scan").stderr


def test_move_that_was_stored_stays_although_its_session_went_on_here(cut):
    cut.source.write_text(THREE)
    cut.target.write_text(TWO)
    with closing(open_store(cut.world.data / "state.db")) as store:
        chains.move_segment(store, SegmentMove(cut.chain, "a", "b", SESSION, "manual", from_text(AT)))

    assert b"that was cut off has been finished" in cut.world.run("session", "locate", SESSION).stderr
    assert [(True, "b")] == cut.owners()
    assert TWO == cut.target.read_text()


@pytest.fixture
def back(cut):
    """Have all of a session copied over what account b had of it, and the session gone on on a: that is undone."""
    former = cut.target.with_suffix(".former")
    former.write_text(line(1))
    former.rename(kept_path(cut.target, AT))
    cut.target.write_text(TWO)
    cut.source.write_text(THREE)
    cut.publish(JournaledFile(str(cut.source), str(cut.target), 0, len(TWO), is_new=False))
    return cut


def test_undone_move_leaves_what_the_target_had_before(back):
    inode = kept_path(back.target, AT).stat().st_ino

    told = back.world.run("session", "locate", SESSION).stderr

    assert b"that was cut off has been undone" in told
    assert (line(1), inode) == (back.target.read_text(), back.target.stat().st_ino)
    assert [back.target] == list(back.target.parent.iterdir())


@pytest.mark.parametrize("place", ["copy", "former"])
def test_undone_move_loses_no_line_that_a_cli_has_written_meanwhile(back, place):
    written = back.target if place == "copy" else kept_path(back.target, AT)
    with written.open("a") as file:
        file.write(line(4))

    back.world.run("session", "locate", SESSION)

    assert {"copy": TWO, "former": line(1)}[place] + line(4) == back.target.read_text()
    assert [back.target] == list(back.target.parent.iterdir())


def test_undone_move_leaves_a_copy_that_a_cli_has_open_for_writing(back):
    with back.target.open("a") as file:
        back.world.run("session", "locate", SESSION)
        file.write(line(4))

    assert TWO + line(4) == back.target.read_text()


FORK, OTHER_FORK, PARENT = (f"01a1fc4c-000{number}-70c0-a484-ac38dc374bba" for number in range(3))


class CutFork:
    """A move of a forked rollout from c to d that was killed when the rollout it was forked from was copied."""

    def __init__(self, world):
        self.world, self.journals = world, JournalFolder(world.data / "replace_journal")
        for name in ("c", "d"):
            root = world.home / f".{name}" / "sessions"
            (root / "2026" / "01" / "01").mkdir(parents=True)
            world.account(name, "cat")
            with (world.config / "sessions.toml").open("a") as file:
                file.write(f"[{name}]\nturn_script = 'codex-turns {root}'\n")
        self.rollout("c", PARENT)
        for fork in (FORK, OTHER_FORK):
            self.rollout("c", fork, PARENT)
        self.copy(PARENT)
        world.run("session-scan", "c")
        self.journals.path.mkdir(exist_ok=True)
        self.publish(FORK, [PARENT, FORK], parents=(PARENT,))

    def path(self, account, session):
        return self.world.home / f".{account}" / "sessions" / "2026" / "01" / "01" / f"rollout-2026-{session}.jsonl"

    def rollout(self, account, session, parent=None):
        base = {"history_base": {"thread_id": parent, "end_byte_offset": 20}} if parent else {}
        content = [{"type": "input_text", "text": f"words of {session}"}]
        payloads = (
            ("session_meta", {"id": session, **base}),
            (
                "response_item",
                {"type": "message", "role": "user", "content": content},
            ),
        )
        records = [{"type": kind, "timestamp": "2026-01-01T00:00:00.000Z", "payload": one} for kind, one in payloads]
        self.path(account, session).write_text("".join(json.dumps(one) + "\n" for one in records))

    def copy(self, session):
        self.path("d", session).write_bytes(self.path("c", session).read_bytes())

    def chain(self, session):
        rows = self.world.rows("SELECT chain_id FROM session_chain_segments WHERE session_id = ?", session)
        return rows[0]["chain_id"]

    def publish(self, session, sessions, new=True, **more):
        paths = [(self.path("c", one), self.path("d", one)) for one in sessions]
        files = tuple(JournaledFile(str(a), str(b), 0, a.stat().st_size, is_new=new) for a, b in paths)
        journal = MoveJournal(session, self.chain(session), "c", "d", "manual", AT, AT, files, **more)
        self.journals.publish(session, journal.to_bytes())

    def move(self, session):
        """Have another move go on meanwhile, which found the parent where the killed one had put it."""
        self.copy(session)
        with closing(open_store(self.world.data / "state.db")) as store:
            chains.move_segment(store, SegmentMove(self.chain(session), "c", "d", session, "manual", from_text(AT)))

    def settle(self):
        assert f"session {FORK} ".encode() in self.world.run("session", "locate", FORK).stderr

    def accounts(self, session):
        rows = json.loads(self.world.run("session", "list", "--all", "--json").stdout)["conversations"]
        return [row["account"] for row in rows if row["session_id"] == session]


@pytest.fixture
def cut_fork(world):
    return CutFork(world)


def test_undone_move_takes_back_a_parent_that_nobody_builds_on(cut_fork):
    cut_fork.settle()

    assert not cut_fork.path("d", PARENT).exists()


def test_undone_move_leaves_a_parent_with_which_another_fork_goes_on(cut_fork):
    cut_fork.move(OTHER_FORK)

    cut_fork.settle()
    cut_fork.world.run("session-scan")

    assert cut_fork.path("d", PARENT).read_bytes() == cut_fork.path("c", PARENT).read_bytes()
    assert (["c"], ["d"]) == (cut_fork.accounts(PARENT), cut_fork.accounts(OTHER_FORK))


def test_undone_move_leaves_a_parent_that_was_moved_itself(cut_fork):
    cut_fork.move(PARENT)

    cut_fork.settle()

    assert cut_fork.path("d", PARENT).exists()
    assert ["d"] == cut_fork.accounts(PARENT)


def test_undone_move_leaves_a_parent_whose_own_move_was_cut_off_as_well(cut_fork):
    cut_fork.publish(PARENT, [PARENT], new=False)

    cut_fork.settle()

    assert ["d"] == cut_fork.accounts(PARENT)
    assert cut_fork.path("d", PARENT).exists()


def test_move_that_lacks_a_file_beside_its_transcript_is_undone_and_can_be_done_again(cut):
    beside = [path.with_suffix("") / "tool-results" / "one.txt" for path in (cut.source, cut.target)]
    beside[0].parent.mkdir(parents=True)
    beside[0].write_text("a result")
    cut.target.write_text(TWO)  # by whatever means, before the move
    cut.publish(
        JournaledFile(str(beside[0]), str(beside[1]), 0, 8, is_new=True),
        JournaledFile(str(cut.source), str(cut.target), 0, len(TWO), is_new=False),
    )

    told = cut.world.run("session", "locate", SESSION).stderr

    assert b"that was cut off has been undone" in told
    assert [(True, "a")] == cut.owners()
    assert TWO == cut.target.read_text()


def test_lines_of_a_replacement_that_was_set_aside_outlast_a_move(cut):
    folder = JournalFolder(cut.world.data / "replace_journal")
    folder.publish(SESSION, b"damaged")
    folder.canonical(SESSION).write_text("lines to compare with")
    assert str(folder.canonical(SESSION)).encode() in cut.world.run("session", "locate", SESSION).stderr
    cut.publish(JournaledFile(str(cut.source), str(cut.target), 0, len(TWO), is_new=True))

    cut.world.run("session", "locate", SESSION)

    assert "lines to compare with" == folder.canonical(SESSION).read_text()


def test_program_that_runs_already_settles_the_move_before_it_reads_the_target(cut):
    cut.target.write_text(TWO)

    with closing(Engine()) as engine:
        engine.sessions.scans.read_new()

    assert [(True, "b")] == cut.owners()
    assert [] == cut.journals()


def test_target_is_not_read_while_the_move_goes_on(cut):
    cut.target.write_text(TWO)

    with closing(Engine()) as engine, JournalFolder(cut.world.data / "replace_journal").lock_shared():
        done = {one.result.account: one.result.kind for one in engine.sessions.scans.read_accounts()}

    assert {"a": "done", "b": "in-flight"} == done
    assert [(True, "a")] == cut.owners()


@pytest.mark.parametrize("change", [{"files": []}, {"at": "yesterday"}, {"chain_id": 5}, {"schema_version": 2}])
def test_journal_that_cannot_be_understood_is_set_aside(cut, change):
    cut.target.write_text(TWO)
    path = cut.world.data / "replace_journal" / f"session-{SESSION}.pending"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | change))

    told = cut.world.run("session", "locate", SESSION).stderr

    assert b"its journal cannot be understood" in told
    assert b"replacement" not in told
    assert b".canonical.jsonl" not in told
    assert [(True, "a")] == cut.owners()
