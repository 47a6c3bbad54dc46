"""Ingest entries: run each account's turn script and store what is new; find the session that a one-shot has made.

A bundled adapter that a configuration names bare runs in process, in batches of flat size, and its cursor moves only
once everything is stored. Any other script runs by `sh -c`; one that fails adds nothing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from threading import Event

from oulipoly_engine import stopping
from oulipoly_engine.adapters.bundled import EntryPass, describe_failure, entry_reading, turn_call
from oulipoly_engine.clock import Clock
from oulipoly_engine.core.accounts.accounts import LONGEST_LINE, SessionScripts
from oulipoly_engine.core.quota.readings import excerpt
from oulipoly_engine.core.runs.invocations import Invocation
from oulipoly_engine.core.runs.session_match import NO_EVIDENCE, Evidence, SessionActivity, choose_session
from oulipoly_engine.core.transcripts.turn_script import EntryLine, LineError, Told, parse_line
from oulipoly_engine.errors import StoreUnusable
from oulipoly_engine.events import EntriesIngested, Listeners
from oulipoly_engine.private_files import make_folder
from oulipoly_engine.process.lock import try_lock
from oulipoly_engine.process.script import ScriptResult, run_script
from oulipoly_engine.process.thread_pool import run_in_threads
from oulipoly_engine.records import Record, field, replace
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.runs import expectations, invocations
from oulipoly_engine.store.sessions import imported, leaves
from oulipoly_engine.store.transcripts import entries, takeovers

TIMEOUT_S = 600.0  # contract, section 4.1

_AT_ONCE = 4  # scripts that read disks; the bundled ones share our one processor
_OUTPUT_LIMIT = 1 << 30  # bytes; nothing is stored before a script has ended well, so its output is held until then
# A transaction of some 50 ms, so that others can write between; a batch is in memory, at up to 4 bytes a character.
_BATCH_ENTRIES, _BATCH_CHARACTERS = 2_000, 2 << 20
_KEPT_ERRORS, _KEPT_NOTES = 20, 20
_UNSEEN = timedelta(minutes=1)  # that a CLI takes to its first entry


class Kind(StrEnum):
    """What came of a scan."""

    DONE = "done"  # perhaps with errors of single lines
    NO_SCRIPT = "no-script"
    IN_FLIGHT = "in-flight"  # another process scans the account right now
    FAILED = "failed"  # nothing was ingested, or not all


class IngestResult(Record):
    """What came of scanning one account."""

    account: str
    kind: Kind
    script_lines: int = 0
    new_turns: int = 0
    new_chains: int = 0  # sessions that were not known before
    error_count: int = 0
    errors: tuple[LineError, ...] = ()  # the first ones; line 0: the script itself
    notes: tuple[str, ...] = ()  # what the script said on stderr although it ended well: files it could not read
    duration_s: float = 0.0
    damaged_lines: int = 0  # of transcripts: no JSON, or no entry for what they lack; the notes name the first ones
    unread_files: int = 0  # and folders; the notes name them
    sessions: tuple[str, ...] = ()  # that the new entries came with; where files were read again perhaps a few more


class _Tally(Record, frozen=False):
    """What has come so far."""

    lines: int = 0
    new: int = 0
    chains: int = 0
    error_count: int = 0
    errors: list[LineError] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)
    grown: set[str] = field(default_factory=set)

    def count(self, new: int, batch: Sequence[EntryLine]) -> None:
        self.new += new
        if new:
            self.grown.update(entry.session_id for entry in batch)

    def note(self, error: LineError) -> None:
        self.error_count += 1
        if len(self.errors) < _KEPT_ERRORS:
            self.errors.append(error)


class Ingester(Record):
    """Scans accounts into one store."""

    store: Store
    scripts: Mapping[str, SessionScripts]
    clock: Clock
    home: Path
    environ: Mapping[str, str]  # of the scripts
    state_root: Path  # adapters' cursors, a folder an account
    locks: Path
    timeout_s: float = TIMEOUT_S
    listeners: Listeners | None = None  # are told of new entries
    settle: Callable[[str], bool] | None = None  # puts right what was cut off at an account's files; False: not now
    longest_line: int = LONGEST_LINE  # bytes of a transcript's; a longer one counts as damaged

    def ingest_accounts(
        self, names: Sequence[str], done: Callable[[IngestResult], None] | None = None, *, afresh: bool = False
    ) -> tuple[IngestResult, ...]:
        """Scan several accounts side by side and return what came of each, in the order of the names.

        Whatever scripts do or a locked state file refuses is told in the result, never raised.
        done: called in this thread as each one ends. An interruption of this thread ends the scripts.
        afresh: bundled adapters forget how far they came. Raises Stopped when the user has stopped it; what was read by
        then is stored.
        """
        unique = tuple(dict.fromkeys(names))
        results: dict[str, IngestResult] = {}
        stopped = stopping.stop_event()
        work = partial(self._in_thread, afresh=afresh, stopped=stopped)
        with closing(run_in_threads(work, unique, at_most=_AT_ONCE, cancel=stopped.set)) as found:
            for result in found:
                results[result.account] = result
                self._publish(result)
                if done is not None:
                    done(result)
        stopping.check()
        return tuple(results[name] for name in unique)

    def _in_thread(self, name: str, *, afresh: bool, stopped: Event) -> IngestResult:
        scripts = self.scripts.get(name)
        if scripts is None:
            return IngestResult(name, Kind.NO_SCRIPT)
        try:
            return self._alone(name, lambda: self._scan(name, scripts, stopped, afresh=afresh))
        finally:
            self.store.close()  # this thread's connection

    def ingest_reading(self, name: str, reading: EntryPass, stopped: Event) -> IngestResult:
        """Store what one pass of an account's bundled adapter gives, in this thread; nothing is raised.

        For a caller that knows which files have changed. stopped: looked at between batches.
        """
        result = self._alone(name, lambda: self._read(name, reading, stopped))
        self._publish(result)
        return result

    def _alone(self, name: str, scan: Callable[[], IngestResult]) -> IngestResult:
        """Scan an account unless anybody else does right now."""
        begun = time.monotonic()
        began_at = self.clock.now()
        try:
            with try_lock(self.locks / f"{name}.lock") as is_ours:
                if not is_ours or not (self.settle is None or self.settle(name)):
                    return IngestResult(name, Kind.IN_FLIGHT)
                result = scan()
                attach_lost(self.store, name)
                expectations.count_turns(self.store, name, began_at)
        except StoreUnusable as error:
            result = _make_failure(name, error.message)
        except OSError as error:
            result = _make_failure(
                name, f"cannot be scanned: {error.strerror or error}; check the rights of {self.locks}"
            )
        return replace(result, duration_s=time.monotonic() - begun)

    def _publish(self, result: IngestResult) -> None:
        if self.listeners is not None and result.new_turns:
            self.listeners.publish(EntriesIngested(self.clock.now(), result.account, result.new_turns, result.sessions))

    def _scan(self, name: str, scripts: SessionScripts, stopped: Event, *, afresh: bool) -> IngestResult:
        state_dir = scripts.state_dir or self.state_root / name
        call = turn_call(scripts.turn_script, self.home)
        if call is None:
            return self._run(name, scripts.turn_script, state_dir, stopped)
        # A state file that was started anew holds nothing of what the cursor says was read.
        is_new = not entries.has_any(self.store, name)
        return self._read(
            name, entry_reading(call, state_dir, afresh=afresh or is_new, longest_line=self.longest_line), stopped
        )

    def _read(self, name: str, reading: EntryPass, stopped: Event) -> IngestResult:
        from oulipoly_engine.adapters.scripts.turns import TurnsFailed  # noqa: PLC0415 - 10 ms, only scans need it

        tally = _Tally()
        try:
            for batch in _batches(_check_records(reading, tally)):
                if stopped.is_set():
                    return _make_failure(name, "was stopped")
                with self.store.write():
                    new = self._insert(name, batch)
                tally.count(new, batch)
            with self.store.write():
                tally.chains = imported.adopt(self.store, name, tally.sessions)
            with adapter_border():
                reading.keep()
        except TurnsFailed as failure:
            tally.note(LineError(0, str(failure)))
            result = _result(name, Kind.FAILED, tally, reading.notes)
        else:
            result = _result(name, Kind.DONE, tally, reading.notes)
        return replace(result, damaged_lines=reading.damaged_lines, unread_files=reading.unread_files)

    def _insert(self, name: str, batch: Sequence[EntryLine]) -> int:
        """Store entries of transcripts, which take over from those that live sessions had for the same sessions.

        These go on behind what is new at once: a scan may be stopped before the next batch.
        """
        # Now, not when the scan began: a run that has begun since looks for what was stored after its start.
        new = entries.insert_new(self.store, name, batch, self.clock.now())
        session_ids = {entry.session_id for entry in batch}
        takeovers.take_over_all(self.store, name, session_ids, give_texts_back)
        if new:
            leaves.follow_end(self.store, name, session_ids)
        return new

    def _run(self, name: str, script: str, state_dir: Path, stopped: Event) -> IngestResult:
        try:
            make_folder(state_dir)
        except OSError as error:
            return _make_failure(name, f"cannot make the state folder {state_dir}: {error.strerror or error}")
        env = {**self.environ, "STATE_DIR": str(state_dir), "LONGEST_LINE": str(self.longest_line)}
        result = run_script(script, env, timeout_s=self.timeout_s, output_limit=_OUTPUT_LIMIT, cancelled=stopped.is_set)
        if not result.succeeded:
            return _make_failure(name, _failure(script, result))
        tally = _Tally()
        found = list(_check_lines(result.stdout, tally))
        with self.store.write():
            tally.count(self._insert(name, found), found)
            tally.chains = imported.adopt(self.store, name, tally.sessions)
        said = [excerpt(line, 300) for line in result.stderr.splitlines() if line.strip()]
        return _result(name, Kind.DONE, tally, said)


def give_texts_back(store: Store, entry_ids: Collection[str]) -> None:
    """Give events the texts back that they have left to entries which go now. Runs inside the caller's transaction."""
    from oulipoly_engine.store.live import live_events  # noqa: PLC0415 - 15 ms, only where entries go

    live_events.restore_entries(store, entry_ids)


def attach_session(store: Store, row: Invocation, evidence: Evidence = NO_EVIDENCE) -> str | None:
    """Tie an ended invocation that told no session id to the session it has made, and return that id; None: none found.

    row: a final row, after its account was scanned. Only entries count that carry an instant of the run and were
    ingested since its start; sessions of other invocations that ran at the same time are theirs. The row's session, its
    capture method `turn_script` and the chain's model are stored.
    """
    if row.session_id is not None or row.account is None or row.finished_at is None:
        return None
    active = entries.activity(store, row.account, row.created_at, row.finished_at)
    with store.write():  # of two runs that end at once, the second has to see what the first has taken
        held = imported.find_concurrent_sessions(store, row.account, row.row_id, row.created_at, row.finished_at)
        free = (session for session in active if session.session_id not in held)
        session_id = choose_session(free, evidence, has_rivals=None in held)
        if session_id is None or imported.attach(store, row.row_id, session_id) is None:
            return None
        return session_id


def attach_lost(store: Store, account: str) -> None:
    """Tie the runs of an account whose runner was killed to the sessions that they have made.

    Nobody has found them at their ends. Such a row may end when its end was noticed, so only what fits by the prompt
    and the folder counts: a wrong session is worse than none.
    """
    for row, decision in invocations.find_without_session(store, account):
        prompt_hash = _read_prompt_hash(decision)
        if prompt_hash is None or row.finished_at is None:
            continue
        # A CLI whose number its runner could not note any more may have begun unseen, after the row had ended.
        unseen = _UNSEEN if row.child_pid is None else timedelta()
        active = entries.activity(store, account, row.created_at, row.finished_at + unseen)
        with store.write():
            held = imported.find_held_sessions(store, account, [session.session_id for session in active])
            free = [session for session in active if session.session_id not in held and _is_of_folder(session, row)]
            session_id = choose_session(free, Evidence(prompt_hash=prompt_hash), has_rivals=True)
            if session_id is not None:
                imported.attach(store, row.row_id, session_id)


def _read_prompt_hash(decision: str) -> str | None:
    """Return what a stored decision tells of the prompt; those of an older version tell nothing."""
    try:
        prompt_hash = json.loads(decision).get("prompt_hash")
    except (ValueError, AttributeError):
        return None
    return prompt_hash if isinstance(prompt_hash, str) else None


def _is_of_folder(session: SessionActivity, row: Invocation) -> bool:
    """Tell whether a session's transcript names the folder of a run, by whichever path, or none."""
    from oulipoly_engine.adapters import transcript_head  # noqa: PLC0415 - only a run whose runner was killed needs it

    folders = {transcript_head.read_head(path, session.session_id).cwd for path in session.files} - {None}
    own = None if row.working_directory is None else os.path.realpath(row.working_directory)
    return not folders or own in {os.path.realpath(folder) for folder in folders if folder is not None}


@contextmanager
def adapter_border() -> Iterator[None]:
    """Turn whatever an adapter raises into TurnsFailed, which costs its own account a warning."""
    from oulipoly_engine.adapters.scripts.turns import TurnsFailed  # noqa: PLC0415 - 10 ms, only scans need it

    try:
        yield
    except TurnsFailed:
        raise
    except Exception as error:
        raise TurnsFailed(describe_failure("the reader", error), 1) from error


def _check_records(reading: EntryPass, tally: _Tally) -> Iterator[EntryLine]:
    with adapter_border():
        for told in reading.turns():
            yield from _count_line(told, tally)


def _check_lines(output: bytes, tally: _Tally) -> Iterator[EntryLine]:
    begin = 0
    number = 0
    while begin < len(output):
        end = output.find(b"\n", begin)
        end = len(output) if end < 0 else end
        number += 1
        line = output[begin:end].strip()
        begin = end + 1
        if line:
            yield from _count_line(parse_line(line, number), tally)


def _count_line(told: Told, tally: _Tally) -> Iterator[EntryLine]:
    entry, error = told
    tally.lines += 1
    if error is not None:
        tally.note(error)
    if entry is not None:
        tally.sessions.add(entry.session_id)
        yield entry


def _batches(found: Iterable[EntryLine]) -> Iterator[list[EntryLine]]:
    batch: list[EntryLine] = []
    characters = 0
    for entry in found:
        batch.append(entry)
        characters += len(entry.body or "")
        if len(batch) >= _BATCH_ENTRIES or characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _result(name: str, kind: Kind, tally: _Tally, notes: Sequence[str]) -> IngestResult:
    shown = tuple(notes[:_KEPT_NOTES])
    if len(notes) > _KEPT_NOTES:
        shown += (f"{len(notes) - _KEPT_NOTES} more",)
    return IngestResult(
        name,
        kind,
        tally.lines,
        tally.new,
        tally.chains,
        tally.error_count,
        tuple(tally.errors),
        shown,
        sessions=tuple(sorted(tally.grown)),
    )


def _make_failure(name: str, text: str) -> IngestResult:
    return IngestResult(name, Kind.FAILED, error_count=1, errors=(LineError(0, text),))


def _failure(script: str, result: ScriptResult) -> str:
    deed = result.problem or (
        f"was killed by signal {-result.exit_code}"
        if result.exit_code is not None and result.exit_code < 0
        else f"failed with exit {result.exit_code}"
    )
    said = excerpt(result.stderr, 300) if result.stderr.strip() else ""
    words = f": {said}" if said else ""
    return (
        f"the turn script `{excerpt(script, 120)}` {deed}{words}; nothing of it was ingested: try it in a shell, or "
        "correct `turn_script` in sessions.toml"
    )
