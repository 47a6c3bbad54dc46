"""Make entries of what one-shots were asked and answered, until a transcript of the same session has them.

A run whose CLI tells no id of its session is a session of its own, under the run's id. The ids of entries tell their
run, so that a process that is killed between storing them and removing the file leaves none twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.runs.invocations import Category, Invocation
from oulipoly_engine.core.transcripts.turn_script import LIVE_IDS, BodyChunk, EntryLine, encode_body, hang_lines
from oulipoly_engine.service.runs.run_text import SavedPrompt, read_answer, read_prompt
from oulipoly_engine.service.transcripts.ingest import give_texts_back
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.store.sessions import chains, leaves
from oulipoly_engine.store.transcripts import entries, takeovers

_IS_SOUGHT = timedelta(hours=1)  # for which scans may still find the session of a run that has told none
_IS_FORGOTTEN_S = 86_400.0  # the age of a file whose run the state file does not know


def enter_runs(store: Store, files: Iterable[Path], now: datetime) -> int:
    """Make the entries that are missing and return how many are new. files: as `list_files` finds them."""
    return sum(_enter_file(store, path, now) for path in files)


def _enter_file(store: Store, path: Path, now: datetime) -> int:
    row = invocations.find(store, path.name)
    new = 0
    with suppress(OSError):  # another process was faster, or the next one will be able to
        if row is None:
            if now.timestamp() - path.stat().st_mtime > _IS_FORGOTTEN_S:
                path.unlink()
            return 0
        saved = read_prompt(path)
        if saved is not None and row.session_id is None and _may_be_known_later(row, saved, now):
            return 0
        answer = "" if row.finished_at is None else read_answer(path)  # it is whole then
        was_asked = bool(answer) or row.error_category != Category.QUOTA_EXHAUSTED
        if saved is not None and was_asked:
            new = _enter(store, row, saved.prompt, answer, now)
        if row.finished_at is not None:
            path.unlink()
    return new


def _may_be_known_later(row: Invocation, saved: SavedPrompt, now: datetime) -> bool:
    """Tell whether the session of a run that has none may still be told or found."""
    if row.finished_at is None:
        return saved.may_be_told or saved.may_be_found
    return saved.may_be_found and now - row.finished_at < _IS_SOUGHT


def _enter(store: Store, row: Invocation, prompt: str, answer: str, now: datetime) -> int:
    if row.account is None:
        return 0
    session_id = row.session_id or row.uuid
    last_at = row.finished_at or now
    lines = [_make_line(row.uuid, session_id, 0, "user", row.created_at, prompt)]
    if answer.strip():
        lines.append(_make_line(row.uuid, session_id, 1, "assistant", last_at, answer))
    with store.write():
        taken = entries.find_roles_taken(store, row.uuid)
        lines = [line for line in lines if line.role not in taken]
        new = entries.insert_new(
            store, row.account, hang_lines(lines, leaves.find_leaf(store, row.account, session_id)), last_at
        )
        if new and row.session_id is None:
            chains.mint(store, row.account, session_id, row.model, last_at)
        new -= takeovers.take_over(store, {row.account}, session_id, give_texts_back)
        leaves.move_to_end(store, row.account, (session_id,))
    return max(0, new)


def _make_line(uuid: str, session_id: str, number: int, role: str, at: datetime, text: str) -> EntryLine:
    body = encode_body((BodyChunk("text", text),))
    return EntryLine(session_id, f"{LIVE_IDS}{uuid}/{number:010}", to_text(at), role, body=body, turn_id=uuid)
