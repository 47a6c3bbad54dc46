"""Live sessions as session files of version 2, which other tools can read while the sessions go on.

    nothing said  ->  an answer: the whole file  ->  lines appended: entries, labels, where the session goes on

The state file has the truth: of a file only ids, parents and labels are kept, so that nothing comes twice, whoever was
killed. Files only grow, until a session is deleted. What will have another id once its CLI's transcript was read waits
for that.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator
from pathlib import Path

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.core.sessions.sessions import Session
from oulipoly_engine.core.sessions.tree import SessionTree, build
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.transcripts.session_file.decode import CURRENT, read_file
from oulipoly_engine.core.transcripts.session_file.encode import is_leaf_mark, mark_leaf
from oulipoly_engine.core.transcripts.session_file.entry import BRANCH_SUMMARY, LABEL, USER, Header, SessionEntry
from oulipoly_engine.core.transcripts.turn_script import LIVE_IDS, NO_PARENT
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.private_files import write_private
from oulipoly_engine.process.lock import hold_lock
from oulipoly_engine.regular_files import read_regular
from oulipoly_engine.service.sessions import session_files
from oulipoly_engine.service.sessions.session_copies import outline, read_entries, without_changes
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.sessions import chains, labels, leaves, list_mark
from oulipoly_engine.store.sessions.sessions import list_sessions

_PATIENCE_S = 2.0  # for another process that writes on, and may have looked before the last words
_MOST = 50  # sessions that are looked at, those that changed last
_MARKS = ".written.json"  # the marks of the sessions as they are in their files


def follow(store: Store, folder: Path, read_accounts: Container[str], longest_line: int) -> None:
    """Write on the files of the live sessions that have changed. read_accounts: whose transcripts we read.

    Raises RunnerError and OSError: what is missing comes the next time.
    """
    with hold_lock(folder / ".lock", _PATIENCE_S) as is_ours:
        if not is_ours:
            return
        written = _read_marks(folder / _MARKS)
        rows = list_mark.mark_live(store, _MOST)
        marks = written | {session_id: mark for session_id, _, _, mark in rows}
        if marks.keys() - written.keys():  # before its file is there: a session that is forgotten takes it along
            write_private(folder / _MARKS, json.dumps(dict.fromkeys(marks) | written).encode())
        failures: list[RunnerError | OSError] = []
        lives = {live.session_id: live for live in live_sessions.read_sessions(store, [*marks])}
        for session_id, chain_id, is_deleted, mark in rows:
            path = folder / f"{session_id}.jsonl"
            if is_deleted:
                path.unlink(missing_ok=True)
            elif mark is not None and (mark != written.get(session_id) or not path.exists()):
                try:
                    for session in list_sessions(store, (chain_id,)) if session_id in lives else ():
                        _write_on(store, session, path, lives[session_id], read_accounts, longest_line)
                except (RunnerError, OSError) as error:
                    failures.append(error)
                    marks[session_id] = written.get(session_id)
        gone = chains.list_deleted(store) & marks.keys()  # also those that changed long ago
        for session_id in (marks.keys() - lives.keys()) | gone:  # nothing is to be kept of it
            (folder / f"{session_id}.jsonl").unlink(missing_ok=True)
            del marks[session_id]
        if marks != written:
            write_private(folder / _MARKS, json.dumps(marks).encode())
    if failures:  # behind the others
        raise failures[0]


def _read_marks(path: Path) -> dict[str, str | None]:
    try:
        marks = json.loads(read_regular(path))
    except (OSError, ValueError):
        return {}
    return marks if isinstance(marks, dict) else {}


def _write_on(
    store: Store, session: Session, path: Path, live: LiveSession, read_accounts: Container[str], longest_line: int
) -> None:
    is_there = path.exists()
    tree = build(_read_outlines(path, longest_line) if is_there else ())
    missing = [*without_changes(read_entries(store, session, redact, tree.places))]
    if session.active.account in read_accounts:
        missing = [*_drop_heard(missing, tree.places)]
    missing += _change_labels(tree, missing, labels.of_chain(store, session.chain_id))
    leaf = leaves.find_leaf(store, session.active.account, session.active.session_id)
    missing += _mark_leaf(tree, missing, leaf)
    if is_there:
        writer = session_files.SessionWriter.resume(path, longest_line)
    else:
        header = Header(live.session_id, CURRENT, to_text(live.created_at), live.workspace, live.forked_from)
        writer = session_files.SessionWriter(path, header)
    if missing and (is_there or any(entry.role == USER for entry in missing)):
        writer.append(*missing)


def _read_outlines(path: Path, longest_line: int) -> tuple[SessionEntry, ...]:
    with session_files.open_twice(path, longest_line) as (_, read_again):
        file = read_file(read_again(), outline)
    return file.entries if file.is_usable else ()


def _drop_heard(new: list[SessionEntry], written: Container[str]) -> Iterator[SessionEntry]:
    """Yield the entries whose ids will stay: those of a transcript, and a summary of ours that hangs on such a one."""
    yielded: set[str | None] = {None}
    for entry in new:
        is_kept = entry.kind == BRANCH_SUMMARY and (entry.parent_id in yielded or entry.parent_id in written)
        if is_kept or not entry.id.startswith(LIVE_IDS):
            yielded.add(entry.id)
            yield entry


def _change_labels(tree: SessionTree, new: list[SessionEntry], names: dict[str, str]) -> Iterator[SessionEntry]:
    """Yield what brings a file's labels to those of now; an empty one takes a label away."""
    ids = tree.places.keys() | {entry.id for entry in new}
    written = tree.labels()
    for target in sorted(ids & (names.keys() | written.keys())):
        name = names.get(target, "")
        if name != written.get(target, ""):
            label_id = f"label:{len(tree.entries)}:{target}"
            yield SessionEntry(label_id, target, LABEL, text=name, refers_to=target)


def _mark_leaf(tree: SessionTree, new: list[SessionEntry], leaf: str | None) -> Iterator[SessionEntry]:
    """Yield what says where the session goes on, unless the last line does."""
    last = next(reversed((*tree.entries[-1:], *new)), None)
    is_known = leaf == NO_PARENT or leaf in tree.places or any(entry.id == leaf for entry in new)
    if last is None or not is_known or last.id == leaf:
        return
    if not is_leaf_mark(last) or (last.parent_id or NO_PARENT) != leaf:
        number = len(tree.entries) + len(new)
        yield mark_leaf(f"leaf:{number}", leaf or None, max(entry.at for entry in (*tree.entries, *new)))
