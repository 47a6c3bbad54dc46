"""Sessions carried from one account to another: files first, then the chain, the source untouched."""

import fcntl
import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.accounts.accounts import Account, ResumeSpec, StorageSpec, StorageType
from oulipoly_engine.core.sessions.move import MoveReason
from oulipoly_engine.errors import MoveRefused, SessionAmbiguous, SessionBusy
from oulipoly_engine.process.liveness import start_ticks
from oulipoly_engine.records import replace
from oulipoly_engine.service.sessions.copy_transcripts import first_line_with
from oulipoly_engine.service.sessions.journal import JournalFolder
from oulipoly_engine.service.sessions.lease import Leases
from oulipoly_engine.service.sessions.locate import Locator, find_session
from oulipoly_engine.service.sessions.move import Mover
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.sessions import chains, imported, notes
from oulipoly_engine.store.sessions.split import find_split
from oulipoly_engine.testing import FakeClock

SID = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"
CODEX = "01a1fc4c-d561-70c0-a484-ac38dc374bba"
OTHER_FORK = "01a1fc4c-2222-70c0-a484-ac38dc374bba"
PARENT = "01a1fc4c-0000-70c0-a484-ac38dc374bba"


def account(home, name, kind):
    root = home / f".{name}" / ("projects" if kind == "claude" else "sessions")
    root.mkdir(parents=True)
    program = "claude-code" if kind == "claude" else "codex"
    storage_type = StorageType.CLAUDE_CODE if kind == "claude" else StorageType.CODEX_SESSION
    spec = StorageSpec(f"{program}-cwd {root}", f"{program}-locate-transcript {root}", storage_type)
    return Account(name, "cli", resume=ResumeSpec(flag="--resume"), storage=spec)


class Machine:
    """Two claude and two codex accounts, a store, and what moves between them."""

    def __init__(self, folder):
        self.home = folder / "accounts"
        self.project = folder / "work" / "proj"
        self.project.mkdir(parents=True)
        kinds = {"a": "claude", "b": "claude", "c": "codex", "d": "codex", "plain": None}
        self.accounts = {name: account(self.home, name, kind) for name, kind in kinds.items() if kind}
        self.accounts["plain"] = Account("plain", "cli", resume=ResumeSpec(flag="--resume"))
        self.clock = FakeClock()
        self.store = open_store(folder / "state.db")
        locator = Locator(self.accounts, {}, folder / "sessions", self.home, dict(os.environ))
        self.leases = Leases(folder / "locks", self.clock)
        journals = JournalFolder(folder / "journals")
        self.mover = Mover(self.store, locator, self.leases, self.clock, journals, folder / "scan-locks")

    def root(self, name):
        return self.home / f".{name}" / ("projects" if name in "ab" else "sessions")

    def claude(self, lines, name="a", session=SID):
        path = self.root(name) / str(self.project).replace("/", "-").replace("_", "-") / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    def codex(self, session=CODEX, name="c", **meta):
        path = self.root(name) / "2026" / "11" / "21" / f"rollout-2026-11-21T04-10-56-{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        payload = {"id": session, "cwd": str(self.project), "model_provider": "openai", "cli_version": "0.169.0"} | meta
        path.write_text(json.dumps({"type": "session_meta", "payload": payload}) + "\n{}\n")
        return path

    def chain(self, name="a", session=SID):
        at = to_text(self.clock.now() - timedelta(days=3))
        with self.store.write():
            return chains.insert(self.store, name, session, "m", started_at=at, last_used_at=at, reason="initial")

    def plan(self, target="b", session=SID, **more):
        return self.mover.plan(self.mover.find(session, target), target, MoveReason.MANUAL, **more)

    def move(self, target="b", session=SID, **more):
        moved = self.mover.carry_out(self.plan(target, session, **more))
        self.clock.advance(1)
        return moved

    def segments(self):
        rows = self.store.rows(
            "SELECT provider_name, transition_reason, ended_at IS NULL FROM session_chain_segments ORDER BY id"
        )
        return [tuple(row) for row in rows]


@pytest.fixture
def machine(tmp_path):
    made = Machine(tmp_path)
    yield made
    made.store.close()


def test_transcript_and_chain_go_and_the_source_stays(machine):
    source = machine.claude(["one", "two"])
    machine.chain()

    moved = machine.move()

    assert "one\ntwo\n" == source.read_text() == moved.plan.target.read_text()
    assert machine.root("b") / source.relative_to(machine.root("a")) == moved.plan.target
    assert [("a", "initial", 0), ("b", "manual", 1)] == machine.segments()
    assert "b" == find_session(machine.store, SID, machine.clock.now()).account


def read_copy(machine, lines=("one", "two"), name="b"):
    """Have what lies on an account read for a session of its own there, as when a move was killed before journals."""
    machine.claude(lines, name)
    return machine.chain(name)


def test_copy_that_became_a_session_of_its_own_is_joined_and_loses_nothing(machine):
    machine.claude(["one", "two", "three"])
    first = machine.chain()
    other = read_copy(machine)
    notes.rename(machine.store, first, "mine", machine.clock.now())
    notes.rename(machine.store, other, "copy", machine.clock.now())
    notes.annotate(machine.store, other, "said of the copy", machine.clock.now())
    notes.pin(machine.store, other, machine.clock.now())
    (split,) = find_split(machine.store)
    assert (SID, {("a", first), ("b", other)}) == (split.session_id, set(split.chains))

    moved = machine.move()

    assert "one\ntwo\nthree\n" == moved.plan.target.read_text()
    assert [("a", "initial", 0), ("b", "manual", 1)] == machine.segments()
    kept = notes.of_chain(machine.store, first)
    assert ("mine", "Also called: copy\n\nsaid of the copy", True) == (kept.name, kept.note, bool(kept.pinned_at))
    assert [(first,)] == machine.store.rows("SELECT chain_id FROM session_chains")
    assert () == find_split(machine.store)


def test_session_that_has_gone_on_in_its_copy_goes_on_there(machine):
    machine.claude(["one"])
    machine.chain()
    read_copy(machine, ["one", "two"])

    moved = machine.move()

    assert ((), "one\ntwo\n") == (moved.plan.parts, moved.plan.target.read_text())
    assert [("a", "initial", 0), ("b", "manual", 1)] == machine.segments()


def test_session_that_has_gone_on_on_both_accounts_is_two_and_stays_so(machine):
    machine.claude(["one", "mine"])
    machine.chain()
    read_copy(machine, ["one", "theirs"])

    with pytest.raises(SessionAmbiguous, match="they are two sessions now"):
        machine.move()
    assert [("a", "initial", 1), ("b", "initial", 1)] == machine.segments()


def test_parent_that_is_copied_along_is_no_other_session_on_the_target(machine):
    machine.codex(PARENT)
    machine.chain("c", PARENT)
    machine.codex(history_base={"thread_id": PARENT, "end_byte_offset": 20})
    machine.chain("c", CODEX)

    machine.move("d", CODEX)
    with machine.store.write():
        made = imported.adopt(machine.store, "d", [PARENT, CODEX])

    assert 0 == made
    assert "c" == find_session(machine.store, PARENT, machine.clock.now()).account


def test_only_the_owner_may_read_the_copy(machine):
    machine.claude(["one"])
    machine.chain()

    assert 0o600 == machine.move().plan.target.stat().st_mode & 0o777


def test_folder_beside_the_transcript_goes_with_it(machine):
    source = machine.claude(["one"])
    (source.with_name(SID) / "subagents").mkdir(parents=True)
    (source.with_name(SID) / "subagents" / "agent-1.jsonl").write_text("sub")
    (source.with_name(SID) / "link").symlink_to("/etc/passwd")
    machine.chain()

    moved = machine.move()

    beside = moved.plan.target.with_name(SID)
    assert 1 == moved.files
    assert ["subagents"] == [path.name for path in beside.iterdir()]
    assert "sub" == (beside / "subagents" / "agent-1.jsonl").read_text()


@pytest.mark.parametrize("leads_to", ["nowhere", "a file"])
def test_a_link_in_the_place_of_a_file_beside_the_transcript_is_refused(machine, tmp_path, leads_to):
    folder = machine.claude(["one"]).with_suffix("")
    folder.mkdir()
    (folder / "result.txt").write_text("a result")
    machine.chain()
    plan = machine.plan()
    link = plan.folder[1] / "result.txt"
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "elsewhere")
    if leads_to == "a file":
        (tmp_path / "elsewhere").write_text("else")

    with pytest.raises(MoveRefused, match=r"result\.txt is a link"):
        machine.mover.carry_out(plan)
    assert link.is_symlink()
    assert not plan.target.exists()


@pytest.mark.parametrize("name", ["n" * 255, "\u6539" * 85], ids=["letters", "three bytes each"])
def test_file_beside_the_transcript_may_have_the_longest_name(machine, name):
    folder = machine.claude(["one"]).with_suffix("")
    folder.mkdir()
    (folder / name).write_text("a result")
    machine.chain()

    moved = machine.move()

    assert {name: "a result"} == {path.name: path.read_text() for path in moved.plan.target.with_suffix("").iterdir()}


def test_a_link_in_the_place_of_the_folder_beside_the_transcript_is_left_out(machine, tmp_path):
    source = machine.claude(["one"])
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key.txt").write_text("private")
    source.with_name(SID).symlink_to(tmp_path / "private")
    machine.chain()

    moved = machine.move()

    assert (0, False) == (moved.files, moved.plan.target.with_name(SID).exists())


def test_a_link_in_the_place_of_the_target_is_refused(machine, tmp_path):
    machine.claude(["one"])
    machine.chain()
    target = machine.plan().target
    target.parent.mkdir(parents=True)
    target.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(MoveRefused, match="is a link"):
        machine.move()
    assert not (tmp_path / "elsewhere").exists()


def test_session_is_anchored_in_the_folder_that_it_goes_on_in(machine, tmp_path):
    machine.claude(["one"])
    machine.chain()
    other = tmp_path / "other place_x"
    other.mkdir()
    (tmp_path / "link").symlink_to(other)

    moved = machine.move(working_directory=tmp_path / "link")

    assert str(other).replace("/", "-").replace(" ", "-").replace("_", "-") == moved.plan.target.parent.name


def test_way_back_reopens_the_former_part_and_keeps_what_was_said_meanwhile(machine):
    source = machine.claude(["one"])
    machine.chain()
    target = machine.move().plan.target
    target.write_text("one\ntwo\n")

    moved = machine.move("a")

    assert ("one\ntwo\n", None) == (source.read_text(), moved.kept)
    assert [("a", "manual", 1), ("b", "manual", 0)] == machine.segments()


def test_way_back_over_another_history_keeps_that_one_beside(machine):
    source = machine.claude(["one"])
    machine.chain()
    machine.move().plan.target.write_text("edited\n")

    moved = machine.move("a")

    assert ("edited\n", "one\n") == (source.read_text(), moved.kept.read_text())
    assert ".jsonl" != moved.kept.suffix


def test_what_the_target_had_is_read_before_it_is_set_aside(machine):
    source = machine.claude(["one"])
    machine.chain()
    machine.move().plan.target.write_text("edited\n")
    seen = []

    replace(machine.mover, read=lambda name: seen.append((name, source.read_text()))).carry_out(machine.plan("a"))

    assert [("a", "one\n")] == seen


def test_foreign_transcript_of_the_same_id_is_not_replaced(machine):
    machine.claude(["one"])
    stranger = machine.claude(["else"], "b")
    machine.chain()

    with pytest.raises(MoveRefused, match="goes another way"):
        machine.move()
    assert "else\n" == stranger.read_text()
    assert [("a", "initial", 1)] == machine.segments()


def test_copy_that_lies_there_already_is_taken_as_it_is(machine):
    machine.claude(["one"])
    machine.claude(["one"], "b")
    machine.chain()

    machine.move()

    assert ("b", "manual", 1) in machine.segments()


def test_compacted_session_is_copied_from_its_last_summary_on(machine):
    lines = ['{"uuid":"u1"}', '{"uuid":"u2"}', '{"uuid":"u3","parentUuid":"u2"}']
    machine.claude(lines)
    machine.chain()
    with machine.store.write():
        machine.store.insert(
            "session_turns",
            provider_name="a",
            session_id=SID,
            turn_id="u2",
            timestamp=to_text(machine.clock.now()),
            role="user",
            is_compaction_boundary=1,
            ingested_at=to_text(machine.clock.now()),
        )

    moved = machine.move()

    assert "\n".join(lines[1:]) + "\n" == moved.plan.target.read_text()
    assert 2 == moved.plan.first_line
    assert [("u2",)] == machine.store.rows("SELECT last_turn_id FROM session_chain_segments WHERE ended_at NOTNULL")


def test_boundary_is_looked_for_behind_a_line_that_is_too_long(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("u2" * 20 + "\nu1\nu2\n")

    assert (44, 3) == first_line_with(path, "u2", 39)


def test_boundary_that_the_file_does_not_hold_is_an_error(machine):
    machine.claude(["one"])
    machine.chain()
    with machine.store.write():
        values = {"provider_name": "a", "session_id": SID, "turn_id": "gone", "timestamp": "x", "role": "user"}
        machine.store.insert("session_turns", **values, is_compaction_boundary=1, ingested_at="x")

    with pytest.raises(MoveRefused, match="compacted at turn gone"):
        machine.plan()


def test_session_that_another_chain_has_open_there_is_refused(machine):
    machine.claude(["one"])
    machine.chain()
    at = to_text(machine.clock.now() - timedelta(days=9))
    with machine.store.write():
        chains.insert(machine.store, "b", SID, "m", started_at=at, last_used_at=at, reason="initial")

    with pytest.raises(SessionAmbiguous, match="open on account 'b' in another session"):
        machine.plan()


def test_session_that_a_cli_has_open_is_busy(machine):
    machine.claude(["one"])
    machine.chain()
    marks = machine.home / ".a" / "sessions"
    marks.mkdir()
    state = {"pid": os.getpid(), "sessionId": SID, "procStart": str(start_ticks(os.getpid()))}
    (marks / f"{os.getpid()}.json").write_text(json.dumps(state))

    with pytest.raises(SessionBusy, match="claude, process"):
        machine.plan()


def test_mark_of_a_killed_cli_holds_nobody_up(machine):
    machine.claude(["one"])
    machine.chain()
    marks = machine.home / ".a" / "sessions"
    marks.mkdir()
    (marks / "1.json").write_text(json.dumps({"pid": os.getpid(), "sessionId": SID, "procStart": "1"}))

    machine.move()


def test_leased_session_is_busy(machine):
    machine.claude(["one"])
    machine.chain()
    machine.leases.acquire(SID, "a")

    with pytest.raises(SessionBusy, match=f"is held until .* by process {os.getpid()}") as refused:
        machine.plan()

    assert {"token", "expires_at"} == set(refused.value.extra)


@pytest.mark.parametrize(
    ("target", "text"),
    [("a", "already"), ("c", "keeps codex_session"), ("plain", "session_storage"), ("nope", "no account 'nope'")],
)
def test_account_that_cannot_take_it_is_refused_with_the_reason(machine, target, text):
    machine.claude(["one"])
    machine.chain()

    with pytest.raises(MoveRefused, match=text):
        machine.plan(target)


def test_accounts_that_share_their_folder_only_change_the_chain(machine):
    source = machine.claude(["one"])
    machine.root("b").rmdir()
    machine.root("b").symlink_to(machine.root("a"))
    machine.chain()

    moved = machine.move()

    assert ((), "one\n") == (moved.plan.parts, source.read_text())
    assert ("b", "manual", 1) in machine.segments()


def refuse(machine, monkeypatch, plan, before=lambda: None):
    """Have a move refused by the store when all is copied."""

    def refused(*_):
        before()
        raise SessionBusy("it has gone elsewhere")

    with monkeypatch.context() as patch:
        patch.setattr(chains, "move_segment", refused)
        with pytest.raises(SessionBusy):
            machine.mover.carry_out(plan)


def test_refused_way_back_leaves_what_was_there_before(machine, monkeypatch):
    source = machine.claude(["one"])
    machine.chain()
    machine.move().plan.target.write_text("one\ntwo\n")

    refuse(machine, monkeypatch, machine.plan("a"))

    assert "one\n" == source.read_text()
    assert [source] == list(source.parent.iterdir())


def test_way_back_drops_no_line_that_is_written_into_what_it_replaces(machine, monkeypatch):
    source = machine.claude(["one"])
    machine.chain()
    machine.move().plan.target.write_text("one\ntwo\n")

    with source.open("a") as late:
        moved = machine.move("a")
        late.write("late\n")

    assert ("one\ntwo\n", "one\nlate\n") == (source.read_text(), moved.kept.read_text())


def test_forks_of_one_parent_move_at_the_same_time_and_one_is_refused(machine, monkeypatch):
    parent = machine.codex(PARENT)
    for session in (CODEX, OTHER_FORK):
        machine.codex(session, history_base={"thread_id": PARENT, "end_byte_offset": 20})
        machine.chain("c", session)
    plans = []

    refuse(machine, monkeypatch, machine.plan("d", CODEX), lambda: plans.append(machine.plan("d", OTHER_FORK)))
    moved = machine.mover.carry_out(plans[0])

    assert parent.read_bytes() == (moved.plan.target.parent / parent.name).read_bytes()


def test_failing_store_takes_the_copy_back(machine, monkeypatch):
    machine.claude(["one"])
    machine.chain()
    plan = machine.plan()
    with machine.store.write():
        machine.store.execute("DELETE FROM session_chains")

    with pytest.raises(SessionBusy, match="has meanwhile left"):
        machine.mover.carry_out(plan)
    assert not plan.target.exists()


def test_interruption_behind_the_commit_leaves_the_copy(machine, monkeypatch):
    machine.claude(["one"])
    machine.chain()
    plan, move = machine.plan(), chains.move_segment

    def interrupted(*given):
        move(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(chains, "move_segment", interrupted)

    with pytest.raises(KeyboardInterrupt):
        machine.mover.carry_out(plan)
    assert [("a", "initial", 0), ("b", "manual", 1)] == machine.segments()
    assert "one\n" == plan.target.read_text()


def test_unwritable_target_is_refused_and_nothing_changes(machine):
    machine.claude(["one"])
    machine.chain()
    machine.root("b").rmdir()
    machine.root("b").write_text("a file")

    with pytest.raises(MoveRefused, match="nothing was moved"):
        machine.move()
    assert [("a", "initial", 1)] == machine.segments()


def test_codex_rollout_goes_to_the_same_day(machine):
    source = machine.codex()
    machine.chain("c", CODEX)

    moved = machine.move("d", CODEX)

    assert source.read_bytes() == moved.plan.target.read_bytes()
    assert Path("2026/11/21") == moved.plan.target.relative_to(machine.root("d")).parent


def test_codex_provider_that_the_target_lacks_is_named(machine):
    machine.codex(model_provider="mine")
    machine.chain("c", CODEX)

    with pytest.raises(MoveRefused, match=r"model provider 'mine'.*model_providers\.mine"):
        machine.plan("d", CODEX)
    (machine.home / ".d" / "config.toml").write_text("[model_providers.mine]\nname = 'x'\n")
    machine.move("d", CODEX)


def test_forked_codex_session_brings_what_it_was_forked_from(machine):
    parent = machine.codex(PARENT)
    machine.codex(history_base={"thread_id": PARENT, "end_byte_offset": 20})
    machine.chain("c", CODEX)

    moved = machine.move("d", CODEX)

    assert 1 == moved.files
    assert parent.read_bytes() == (moved.plan.target.parent / parent.name).read_bytes()


def test_fork_whose_parent_is_gone_or_differs_is_refused(machine):
    machine.codex(history_base={"thread_id": PARENT, "end_byte_offset": 40})
    machine.chain("c", CODEX)
    with pytest.raises(MoveRefused, match="whose rollout is not below"):
        machine.plan("d", CODEX)
    machine.codex(PARENT)
    machine.codex(PARENT, "d").write_text("something else, and of some length, so that it differs")

    with pytest.raises(MoveRefused, match="another version"):
        machine.plan("d", CODEX)


def test_older_codex_is_not_given_a_paginated_rollout(machine):
    machine.codex(history_mode="paginated")
    machine.codex("01a1fc4c-1111-70c0-a484-ac38dc374bba", "d", cli_version="0.120.0")
    machine.chain("c", CODEX)

    with pytest.raises(MoveRefused, match=r"last ran codex 0\.120"):
        machine.plan("d", CODEX)


def test_codex_session_that_is_being_written_is_busy(machine):
    machine.codex()
    machine.chain("c", CODEX)
    lock = machine.home / ".c" / "thread-writer-locks" / f"{CODEX}.lock"
    lock.parent.mkdir()
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(SessionBusy, match="codex"):
            machine.plan("d", CODEX)
    machine.move("d", CODEX)


def test_only_claude_accounts_with_a_way_to_resume_are_moved_between_unasked(machine):
    assert {"a", "b"} == machine.mover.movable(["a", "b", "c", "plain", "nope"])
