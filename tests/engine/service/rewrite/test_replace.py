"""Replacing a session and taking it back: guards, rows, kept preimages, and what the CLIs leave lying about."""

import fcntl
import gzip
import json
import os
import shlex
import sqlite3
import stat
import threading
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.accounts.accounts import Account, StorageSpec, StorageType
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.core.rewrite.replacement_input import keep_unchanged
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.core.transcripts.canonical import Chunk
from oulipoly_engine.errors import (
    PreimageMismatch,
    ReplacementInvalid,
    RequestRefused,
    RunnerError,
    SchemaIncompatible,
    SessionBusy,
    StorageUnsupported,
)
from oulipoly_engine.records import replace
from oulipoly_engine.service.live.event_retention import shorten_session
from oulipoly_engine.service.rewrite.replace import Replacer
from oulipoly_engine.service.sessions.lease import Leases
from oulipoly_engine.service.sessions.locate import Locator
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.live import live_events, live_sessions
from oulipoly_engine.store.sessions import chains, leaves
from oulipoly_engine.testing import FakeClock

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def claude_lines(*texts):
    shared = {"sessionId": SESSION, "type": "user", "timestamp": "2026-04-17T08:00:00Z"}
    records = (shared | {"uuid": f"t{n}", "message": {"content": text}} for n, text in enumerate(texts, 1))
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def codex_lines(*texts):
    lines = [{"type": "session_meta", "payload": {"id": SESSION}}]
    for number, text in enumerate(texts, 1):
        message = {
            "type": "message",
            "id": f"m{number}",
            "role": "user",
            "content": [{"type": "input_text", "text": text}],
        }
        lines.append({"timestamp": "2026-04-17T08:00:00Z", "type": "response_item", "payload": message})
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


class Bench:
    """One session of one account, and a service that replaces it."""

    def __init__(self, folder, kind=StorageType.CLAUDE_CODE):
        self.folder, self.kind = folder, kind
        self.data = folder / "data"
        if kind is StorageType.CODEX_SESSION:
            self.transcript = folder / "cli" / "sessions" / "2026" / f"rollout-x-{SESSION}.jsonl"
            content = codex_lines("one", "two")
        else:
            self.transcript = folder / "cli" / "projects" / "p" / f"{SESSION}.jsonl"
            content = claude_lines("one", "two")
        self.transcript.parent.mkdir(parents=True)
        self.transcript.write_bytes(content)
        self.clock = FakeClock()
        self.store = open_store(self.data / "state.db")
        at = to_text(NOON)
        with self.store.write():
            chain = chains.insert(self.store, "acc", SESSION, "m", started_at=at, last_used_at=at, reason="initial")
        row = chains.find_owning_chains(self.store, SESSION)[0].segments[0].row_id
        self.session = ResolvedSession(chain, "m", "acc", SESSION, NOON, row)
        self.account = Account("acc", storage=StorageSpec("true", f"echo {shlex.quote(str(self.transcript))}", kind))

    def replacer(self, at_step=lambda step: None):
        locator = Locator({"acc": self.account}, {}, self.folder, self.folder, dict(os.environ))
        return Replacer(self.store, locator, self.clock, self.data, at_step)

    def edited(self, text="edited", place=-1):
        """Return the session's records with another text in one of them."""
        records = list(keep_unchanged(self.replacer().current(self.session).records))
        records[place] = replace(records[place], content=(Chunk("text", text),))
        return records

    def edit(self, text="edited", **more):
        return self.replacer(**more).carry_out(self.session, self.edited(text))

    def entries(self):
        rows = self.store.rows("SELECT turn_id, body FROM session_turns ORDER BY id")
        return [(entry, json.loads(body)[0]["text"]) for entry, body in rows]

    def leftovers(self):
        """List what lies about that a finished replacement does not leave."""
        journals = [path for path in (self.data / "replace_journal").rglob("*") if path.is_file()]
        return journals + [path for path in self.transcript.parent.iterdir() if path.name.startswith(".")]

    def kept(self):
        return [path for path in (self.data / "preimages").rglob("*") if path.is_file()]


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path / "b")
    yield made
    made.store.close()


@pytest.fixture
def codex(tmp_path):
    made = Bench(tmp_path / "b", StorageType.CODEX_SESSION)
    yield made
    made.store.close()


def test_transcript_and_rows_are_the_wanted_ones(bench):
    receipt = bench.edit()

    chain, segment = (
        chains.find_owning_chains(bench.store, SESSION)[0],
        chains.find_owning_chains(bench.store, SESSION)[0].segments[0],
    )
    assert claude_lines("one", "edited") == bench.transcript.read_bytes()
    assert [("t1", "one"), ("t2", "edited")] == bench.entries()
    assert ("t2", datetime(2026, 4, 17, 8, tzinfo=UTC)) == (segment.last_turn_id, chain.last_used_at)
    assert receipt.postimage_sha256 == bench.replacer().current(bench.session).sha256
    assert [] == bench.leftovers()
    assert None is Leases(bench.data / "locks", bench.clock).live(SESSION)


def test_mode_of_the_transcript_stays_and_what_is_kept_is_private(bench):
    bench.transcript.chmod(0o640)

    bench.edit()

    assert 0o640 == stat.S_IMODE(bench.transcript.stat().st_mode)
    assert [0o600] == [stat.S_IMODE(path.stat().st_mode) for path in bench.kept()]


def test_turns_of_sub_agents_stay_and_others_go(bench):
    for entry_id, is_sidechain, source in (("s1", 1, "/other.jsonl"), ("gone", 0, None)):
        with bench.store.write():
            bench.store.insert(
                "session_turns",
                provider_name="acc",
                session_id=SESSION,
                turn_id=entry_id,
                timestamp=to_text(NOON),
                role="user",
                is_sidechain=is_sidechain,
                source_file=source,
                ingested_at=to_text(NOON),
                body='[{"type":"text","text":"x"}]',
            )

    bench.edit()

    assert {"s1", "t1", "t2"} == {entry for entry, _ in bench.entries()}


def test_events_whose_texts_entries_held_have_them_again_before_those_go(bench):
    live_sessions.insert(bench.store, LiveSession("s1", "/w", "r", "claude", "m", NOON, NOON, "acc", SESSION))
    items = [ev.Item(str(number), "user_message", "completed", text) for number, text in enumerate(("one", "two"))]
    events = [ev.Numbered(number, to_text(NOON), ev.ItemEnded(item)) for number, item in enumerate(items, 1)]
    live_events.append(bench.store, "s1", events)
    bench.edit("two")  # the rows that a scan would make
    shorten_session(bench.store, "s1")
    (shortened,) = bench.store.rows("SELECT COUNT(*) FROM live_events WHERE event NOT LIKE '%two%'")

    bench.edit()

    assert 2 == shortened[0]
    assert ["one", "two"] == [each.event.item.text for each in live_events.after(bench.store, "s1", 0)]
    assert [("t1", "one"), ("t2", "edited")] == bench.entries()


def test_events_of_a_session_that_has_gone_on_under_another_id_have_their_texts_again_too(bench):
    live_sessions.insert(bench.store, LiveSession("s1", "/w", "r", "claude", "m", NOON, NOON, "acc", "another"))
    said = ev.ItemEnded(ev.Item("1", "user_message", "completed", "two"))
    happened = (ev.SessionOpened(SESSION), said, ev.NativeIdChanged("another"))
    events = [ev.Numbered(number, to_text(NOON), event) for number, event in enumerate(happened, 1)]
    live_events.append(bench.store, "s1", events)
    bench.edit("two")
    shorten_session(bench.store, "s1")

    bench.edit()

    assert said == live_events.after(bench.store, "s1", 0)[1].event


def test_session_goes_on_behind_its_new_end_and_its_entries_stay_those_of_their_turns(bench):
    bench.edit("two")
    with bench.store.write():
        bench.store.execute("UPDATE session_chains SET leaf = 't1'")
        bench.store.execute("UPDATE session_turns SET live_turn_id = 'ours', native_id = 'theirs' WHERE turn_id = 't1'")

    bench.edit()

    assert "t2" == leaves.find_leaf(bench.store, "acc", SESSION)
    turns = bench.store.rows("SELECT turn_id, live_turn_id, native_id FROM session_turns ORDER BY id")
    assert [("t1", "ours", "theirs"), ("t2", None, None)] == turns


def test_undo_goes_back_step_by_step_and_can_be_undone(bench):
    before = bench.transcript.read_bytes()
    bench.edit("second")
    bench.edit("third")

    undone = bench.replacer().undo(bench.session)
    assert claude_lines("one", "second") == bench.transcript.read_bytes()
    bench.replacer().undo(bench.session, undone.operation_uuid)
    assert claude_lines("one", "third") == bench.transcript.read_bytes()
    bench.replacer().undo(bench.session)
    bench.replacer().undo(bench.session)
    assert before == bench.transcript.read_bytes()
    assert [("t1", "one"), ("t2", "two")] == bench.entries()
    with pytest.raises(RequestRefused, match="nothing to undo"):
        bench.replacer().undo(bench.session)
    assert ["import-replace"] * 2 + ["undo"] * 4 == [one.operation for one in bench.replacer().history(bench.session)]


def test_what_was_replaced_before_a_move_is_still_known(bench):
    receipt = bench.edit()
    (known,) = bench.replacer().history(replace(bench.session, account="other"))

    assert receipt.operation_uuid == known.operation_uuid


def test_the_oldest_preimages_are_given_up_beyond_the_limit_and_never_a_sessions_newest(bench):
    for text in ("first", "second", "third"):
        replacer = replace(bench.replacer(), preimage_limit_bytes=1)
        replacer.carry_out(bench.session, bench.edited(text))
    known = replacer.history(bench.session)

    assert [False, False, True] == [replacer.can_undo(one) for one in known]
    replacer.undo(bench.session)
    assert claude_lines("one", "second") == bench.transcript.read_bytes()
    with pytest.raises(RequestRefused, match="preimage_limit_mb"):
        replacer.undo(bench.session)
    assert claude_lines("one", "second") == bench.transcript.read_bytes()


def test_nothing_is_given_up_within_the_limit_or_without_one(bench):
    for limit, text in ((0, "first"), (1 << 30, "second"), (0, "third")):
        replace(bench.replacer(), preimage_limit_bytes=limit).carry_out(bench.session, bench.edited(text))

    assert 3 == len(bench.kept())


def test_undo_of_a_transcript_that_went_on_is_refused(bench):
    bench.edit()
    with bench.transcript.open("ab") as file:
        file.write(claude_lines("later").replace(b"t1", b"t3"))
    before = bench.transcript.read_bytes()

    with pytest.raises(PreimageMismatch, match="has changed since"):
        bench.replacer().undo(bench.session)

    assert (before, []) == (bench.transcript.read_bytes(), bench.leftovers())


def test_undo_of_what_is_not_there_or_not_standing_is_refused(bench):
    receipt = bench.edit()
    bench.replacer().undo(bench.session)

    with pytest.raises(RequestRefused, match="already undone"):
        bench.replacer().undo(bench.session, receipt.operation_uuid)
    with pytest.raises(RequestRefused, match="has no replacement nope"):
        bench.replacer().undo(bench.session, "nope")


DAMAGES = {
    "no gzip": lambda data: b"no gzip",
    "cut": lambda data: data[: len(data) // 2],
    "its head alone": lambda data: data[:10] + b"\xff" * 40,
    "another's": lambda data: gzip.compress(b"another"),
    "empty": lambda data: b"",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_preimage_is_never_put_back(bench, damage):
    bench.edit()
    bench.kept()[0].write_bytes(damage(bench.kept()[0].read_bytes()))
    before = bench.transcript.read_bytes()

    with pytest.raises(RunnerError, match=r"cannot be read|is not what was put there"):
        bench.replacer().plan_undo(bench.session)
    with pytest.raises(RunnerError, match=r"cannot be read|is not what was put there"):
        bench.replacer().undo(bench.session)

    assert before == bench.transcript.read_bytes()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_preimage_is_kept_anew_by_the_next_replacement_of_the_same(bench, damage):
    old = bench.transcript.read_bytes()
    bench.edit()
    bench.kept()[0].write_bytes(damage(bench.kept()[0].read_bytes()))
    bench.transcript.write_bytes(old)

    bench.edit()

    assert old == gzip.decompress(bench.kept()[0].read_bytes())


def test_same_turns_again_write_no_file_and_keep_nothing(bench):
    inode = bench.transcript.stat().st_ino

    receipt = bench.replacer().carry_out(bench.session, keep_unchanged(bench.replacer().current(bench.session).records))

    assert (inode, None, []) == (bench.transcript.stat().st_ino, receipt.operation_uuid, bench.kept())
    assert [("t1", "one"), ("t2", "two")] == bench.entries()


def test_plan_touches_nothing_and_tells_who_holds_the_session(bench):
    Leases(bench.data / "locks", bench.clock).acquire(SESSION, "acc")
    before = bench.transcript.stat().st_mtime_ns

    plan = bench.replacer().plan(bench.session, bench.edited())

    assert ["t2"] == [step.entry_id for step in plan.changes]
    assert "is held until" in plan.notes[0]
    assert before == bench.transcript.stat().st_mtime_ns
    assert not (bench.data / "replace_journal").exists()


def test_wrong_preimage_leaves_a_journal_that_the_next_replacement_drops(bench):
    with pytest.raises(PreimageMismatch) as caught:
        bench.replacer().carry_out(bench.session, bench.edited(), "f" * 64)

    assert ("f" * 64, 2) == (caught.value.extra["expected"], len(bench.leftovers()))
    bench.edit()
    assert [] == bench.leftovers()


def test_refused_input_leaves_nothing_behind(bench):
    before = bench.transcript.read_bytes()
    wanted = bench.edited()

    with pytest.raises(ReplacementInvalid, match="moved"):
        bench.replacer().carry_out(bench.session, wanted[::-1])

    assert (before, [], []) == (bench.transcript.read_bytes(), bench.leftovers(), bench.kept())


def test_transcript_that_is_written_to_meanwhile_is_left_as_it_is(bench):
    def append(step):
        if step == "written":
            with bench.transcript.open("ab") as file:
                file.write(b"\n")

    with pytest.raises(PreimageMismatch, match="meanwhile"):
        bench.edit(at_step=append)

    assert claude_lines("one", "two") + b"\n" == bench.transcript.read_bytes()
    assert ([], [], []) == (bench.leftovers(), bench.kept(), bench.entries())
    assert () == bench.replacer().history(bench.session)


def test_cli_that_has_its_transcript_open_makes_the_session_busy(bench):
    with bench.transcript.open("ab"), pytest.raises(SessionBusy, match=f"live: process {os.getpid()} has"):
        bench.edit()

    assert claude_lines("one", "two") == bench.transcript.read_bytes()
    assert ([], [], []) == (bench.leftovers(), bench.kept(), bench.entries())


class Late:
    """A CLI that opens its transcript right before it is exchanged, and writes a line when it may."""

    def __init__(self, bench):
        self.folder = bench.transcript.parent
        self.thread = threading.Thread(target=self._write)

    @property
    def old(self):
        return next(self.folder.glob(".*.old.tmp"))

    def write(self):
        with self.old.open("ab") as file:
            file.write(claude_lines("x", "y", "late").splitlines(keepends=True)[2])

    _write = write

    def begin(self):
        """Have it wait in its open(2), as the kernel tells."""
        number = f":{self.old.stat().st_ino} "
        self.thread.start()
        while not any("BREAKING" in line and number in line for line in Path("/proc/locks").read_text().splitlines()):
            assert self.thread.is_alive()


needs_leases = pytest.mark.skipif(not hasattr(fcntl, "F_SETLEASE"), reason="needs the file leases of Linux")


@needs_leases
@pytest.mark.parametrize("has_links", [True, False], ids=["links", "no links"])
def test_line_that_its_cli_wrote_at_the_very_moment_of_the_exchange_is_not_lost(bench, has_links):
    late = Late(bench)

    def act(step):
        if step == "renamed":
            late.begin()
            if not has_links:
                late.old.unlink()

    with pytest.raises(PreimageMismatch, match="meanwhile"):
        bench.edit(at_step=act)
    late.thread.join(60)

    assert claude_lines("one", "two", "late") == bench.transcript.read_bytes()
    assert ([], []) == (bench.leftovers(), bench.entries())
    assert () == bench.replacer().history(bench.session)


@needs_leases
def test_line_into_the_new_transcript_is_not_lost_when_the_old_one_is_put_back(bench):
    late = Late(bench)

    def act(step):
        if step == "renamed":
            late.begin()
            with bench.transcript.open("ab") as file:
                file.write(claude_lines("x", "y", "z", "other").splitlines(keepends=True)[3])

    with pytest.raises(PreimageMismatch, match="meanwhile"):
        bench.edit(at_step=act)
    late.thread.join(60)

    written = bench.transcript.read_bytes()
    assert claude_lines("one", "two", "late", "other").splitlines()[2:] == sorted(written.splitlines()[2:])
    assert claude_lines("one", "two") == written[: len(claude_lines("one", "two"))]


@pytest.mark.parametrize("step", ["renamed", "verified", "cleared", "committed"])
def test_line_that_its_cli_wrote_behind_the_new_transcript_stays(bench, step):
    def append(done):
        if done == step:
            with bench.transcript.open("ab") as file:
                file.write(claude_lines("x", "y", "later").splitlines(keepends=True)[2])

    bench.edit(at_step=append)

    assert claude_lines("one", "edited", "later") == bench.transcript.read_bytes()
    assert [] == bench.leftovers()


def test_row_of_a_line_behind_the_new_transcript_stays_if_a_scan_has_read_it(bench):
    def append_and_scan(step):
        if step == "verified":
            with bench.transcript.open("ab") as file:
                file.write(claude_lines("x", "y", "later").splitlines(keepends=True)[2] + b'{"half')
            with bench.store.write():
                row = {"provider_name": "acc", "session_id": SESSION, "turn_id": "t3", "role": "user", "body": "[]"}
                at = to_text(NOON)
                bench.store.insert(
                    "session_turns", **row, timestamp=at, ingested_at=at, source_file=str(bench.transcript)
                )

    bench.edit(at_step=append_and_scan)

    rows = bench.store.rows("SELECT turn_id FROM session_turns ORDER BY turn_id")
    assert ["t1", "t2", "t3"] == [entry_id for (entry_id,) in rows]


def test_line_that_reached_the_old_transcript_after_all_is_carried_over_and_told(bench):
    late = Late(bench)

    receipt = bench.edit(at_step=lambda step: late.write() if step == "committed" else None)

    assert claude_lines("one", "edited", "late") == bench.transcript.read_bytes()
    assert any("into the former transcript" in note for note in receipt.notes)
    assert [] == bench.leftovers()


def test_lease_that_ran_out_stops_before_the_exchange(bench):
    def wait(step):
        if step == "written":
            bench.clock.advance(301)

    with pytest.raises(RunnerError, match="ran out"):
        bench.edit(at_step=wait)

    assert claude_lines("one", "two") == bench.transcript.read_bytes()
    assert [] == bench.leftovers()


def test_folder_that_takes_no_new_file_leaves_all_as_it_was(bench):
    longest = bench.transcript.with_name("x" * 250)  # no room for the temporary file's name
    bench.transcript.rename(longest)
    bench.account = replace(bench.account, storage=StorageSpec("true", f"echo {longest}", bench.kind))

    with pytest.raises(RunnerError, match="cannot be written"):
        bench.edit()

    assert claude_lines("one", "two") == longest.read_bytes()
    assert ([], [], ()) == (bench.leftovers(), bench.kept(), bench.replacer().history(bench.session))


def test_missing_column_is_named_before_anything_is_begun(bench):
    with bench.store.write():
        bench.store.execute("ALTER TABLE session_turns RENAME COLUMN body TO text")

    with pytest.raises(SchemaIncompatible, match=r"session_turns\.body"):
        bench.edit()

    assert not (bench.data / "replace_journal").exists()


def test_session_without_its_transcript_is_unsupported(bench):
    wanted = bench.edited()
    bench.transcript.unlink()

    with pytest.raises(StorageUnsupported):
        bench.replacer().carry_out(bench.session, wanted)


def own_start():
    return Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("mark", "is_busy"),
    [
        pytest.param(lambda: {"pid": os.getpid(), "procStart": own_start(), "sessionId": SESSION}, True, id="alive"),
        pytest.param(lambda: {"pid": os.getpid(), "procStart": "1", "sessionId": SESSION}, False, id="number-reused"),
        pytest.param(lambda: {"pid": os.getpid(), "procStart": own_start(), "sessionId": "x"}, False, id="another"),
        pytest.param(lambda: {"pid": 2**22 + 1, "procStart": "1", "sessionId": SESSION}, False, id="dead"),
        pytest.param(lambda: ["rubbish"], False, id="rubbish"),
    ],
)
def test_claude_at_work_makes_the_session_busy(bench, mark, is_busy):
    marks = bench.folder / "cli" / "sessions"
    marks.mkdir()
    (marks / "1.json").write_text(json.dumps(mark()))

    if is_busy:
        with pytest.raises(SessionBusy, match="Claude Code is at work"):
            bench.edit()
    else:
        bench.edit()

    assert is_busy == (claude_lines("one", "two") == bench.transcript.read_bytes())


def test_codex_with_the_thread_open_makes_the_session_busy(codex):
    lock = codex.folder / "cli" / "thread-writer-locks" / f"{SESSION}.lock"
    lock.parent.mkdir()
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(SessionBusy, match="Codex has session"):
            codex.edit()

    codex.edit()
    assert codex_lines("one", "edited") == codex.transcript.read_bytes()


def projection(bench):
    path = bench.folder / "cli" / "thread_history_1.sqlite"
    with closing(sqlite3.connect(path)) as database, database:
        for table in ("thread_items", "thread_history_projection_state"):
            database.execute(f"CREATE TABLE {table} (thread_id TEXT, what TEXT)")
            database.executemany(f"INSERT INTO {table} VALUES (?, 'x')", [(SESSION,), ("other",)])
    return path


def test_codex_screens_forget_the_thread_and_no_other(codex):
    path = projection(codex)

    receipt = codex.edit()

    with closing(sqlite3.connect(path)) as database:
        left = [database.execute(f"SELECT thread_id FROM {table}").fetchall() for table in ("thread_items",)]
    assert ([[("other",)]], ()) == (left, receipt.notes)


def test_locked_projection_is_told_and_stops_nothing(codex, monkeypatch):
    monkeypatch.setattr("oulipoly_engine.adapters.codex_threads._PATIENCE_S", 0.01)
    path = projection(codex)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        receipt = codex.edit()

    assert "may show the former text" in receipt.notes[0]
    assert codex_lines("one", "edited") == codex.transcript.read_bytes()


@pytest.mark.parametrize(("place", "is_refused"), [(0, True), (1, False)], ids=["shared-part", "behind-it"])
def test_rollout_that_a_fork_builds_on_keeps_the_bytes_it_reads(codex, place, is_refused):
    shared = len(codex_lines("one"))
    base = {"thread_id": SESSION, "end_byte_offset": shared, "end_ordinal_exclusive": 2}
    fork = codex.transcript.with_name("rollout-y-9e69e8cc-616d-4640-bf1d-96f5391b1a2e.jsonl")
    fork.write_text(json.dumps({"type": "session_meta", "payload": {"id": "x", "history_base": base}}) + "\n")
    wanted = codex.edited(place=place)

    if is_refused:
        with pytest.raises(ReplacementInvalid, match="is a fork"):
            codex.replacer().carry_out(codex.session, wanted)
    else:
        codex.replacer().carry_out(codex.session, wanted)

    assert is_refused == (codex_lines("one", "two") == codex.transcript.read_bytes())
