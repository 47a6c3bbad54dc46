"""What is asked of people, by live sessions and others: opened once, answered once."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.live import states
from oulipoly_engine.core.live.events import Prompt, RequestKind
from oulipoly_engine.core.live.sessions import LiveRequest, Origin
from oulipoly_engine.core.worktrees.event_secrets import clean_record
from oulipoly_engine.records import prepare
from oulipoly_engine.store.base.compiled import Parameter, compile_query
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.base.dialect import beginning, begins, each_of
from oulipoly_engine.store.base.orm import Query
from oulipoly_engine.store.base.rows import name_values
from oulipoly_engine.store.models.live import LiveRequestRow

_FIELDS = LiveRequestRow._meta.sorted_fields
_EVENTS = {"answered": "answer", "resolved": "resolve", "cancelled": "cancel", "expired": "expire"}


def insert(store: Store, request: LiveRequest) -> None:
    """Write a request that has come."""
    with store.write():
        store.insert(
            LiveRequestRow,
            request_id=request.request_id,
            session_id=request.session_id or None,
            turn_id=request.turn_id,
            native_id=request.native_id,
            kind=request.kind,
            status=request.status,
            prompt=msgspec.json.encode(request.prompt).decode(),
            decision=request.decision,
            answered_by=request.answered_by,
            created_at=to_text(request.created_at),
            origin=request.origin,
            asker=request.asker,
        )


def settle(  # noqa: PLR0913, RUF100 - what became of it
    store: Store,
    request_id: str,
    status: str,
    now: datetime,
    *,
    decision: str = "",
    answered_by: str = "",
    answers: Mapping[str, Sequence[str]] | None = None,
) -> bool:
    """Make a request final. Returns whether it was pending. answers: for an asker that reads them here."""
    row = LiveRequestRow
    told = {
        row.status: status,
        row.decision: decision,
        row.answered_by: answered_by,
        row.resolved_at: to_text(now),
        row.answers: None if answers is None else msgspec.json.encode(answers).decode(),
    }
    allowed = row.status.in_(states.sources(states.REQUEST, _EVENTS[status]))
    with store.write():
        return store.run(row.update(told).where(row.request_id == request_id, allowed)) == 1


def forget_answers(store: Store, request_id: str) -> None:
    """Keep no longer what was answered: its asker has it."""
    row = LiveRequestRow
    with store.write():
        store.run(row.update({row.answers: None}).where(row.request_id == request_id))


@compile_query
def _select_beginning(pattern: Parameter) -> Query:
    row = LiveRequestRow
    return row.select(*_FIELDS).where(begins(row.request_id, pattern)).order_by(row.created_at)


def find(store: Store, identity: str) -> tuple[LiveRequest, ...]:
    """Return the requests whose id is this or begins so; an exact one is the only one."""
    with store.read():
        matches = tuple(map(_read, store.rows(_select_beginning(beginning(identity)))))
    return tuple(match for match in matches if match.request_id == identity) or matches


@compile_query
def _select_pending() -> Query:
    row = LiveRequestRow
    return row.select(*_FIELDS).where(row.status == "pending").order_by(row.created_at, row.request_id)


@compile_query
def _select_pending_in(session_id: Parameter) -> Query:
    row = LiveRequestRow
    mine = (row.status == "pending") & (row.session_id == session_id)
    return row.select(*_FIELDS).where(mine).order_by(row.created_at, row.request_id)


def pending(store: Store, session_id: str | None = None) -> tuple[LiveRequest, ...]:
    """Return the requests that wait for an answer, oldest first; of one session, or of all."""
    question = _select_pending() if session_id is None else _select_pending_in(session_id)
    with store.read():
        return tuple(map(_read, store.rows(question)))


def ask_once(  # noqa: PLR0913, RUF100 - who asks what
    store: Store, origin: Origin, asker: str, native_id: str, kind: RequestKind, prompt: Prompt, now: datetime
) -> LiveRequest:
    """Write a request that no session asks, without its secrets, and return it, or the one for the same that waits.

    native_id: what it is about, in the asker's own words. Of the same asker no other request waits on.
    """
    identity = f"{origin}_req_{secrets.token_urlsafe(16)[:21]}"
    shown = clean_record(prompt)
    request = LiveRequest(identity, "", "", native_id, kind, "pending", shown, now, origin=origin, asker=asker)
    with store.write():
        for known in _pending_of(store, origin, asker):
            if known.native_id == native_id:
                return known
            settle(store, known.request_id, "cancelled", now, answered_by="it asks for something else")
        insert(store, request)
    return request


def settle_asked(  # noqa: PLR0913, RUF100 - what was asked, and what became of it
    store: Store, origin: Origin, asker: str, native_id: str, now: datetime, *, decision: str, by: str
) -> None:
    """Note that what a request asks for was allowed or denied in another way."""
    for request in _pending_of(store, origin, asker):
        if request.native_id == native_id:
            settle(store, request.request_id, "answered", now, decision=decision, answered_by=by)


def was_denied(store: Store, origin: Origin, asker: str, native_id: str) -> bool:
    """Tell whether somebody has said no to this, at last."""
    row = LiveRequestRow
    mine = (row.origin == origin) & (row.asker == asker) & (row.native_id == native_id) & (row.decision != "")
    with store.read():
        rows = store.rows(row.select(row.decision).where(mine).order_by(row.created_at.desc()).limit(1))
    return bool(rows) and rows[0][0] == "deny"


def _pending_of(store: Store, origin: str, asker: str) -> tuple[LiveRequest, ...]:
    row = LiveRequestRow
    mine = (row.status == "pending") & (row.origin == origin) & (row.asker == asker)
    with store.read():
        return tuple(map(_read, store.rows(row.select(*_FIELDS).where(mine))))


@compile_query
def _select_asking() -> Query:
    return LiveRequestRow.select(LiveRequestRow.session_id).where(LiveRequestRow.status == "pending")


def asking_sessions(store: Store) -> set[str]:
    """Return the sessions with requests that wait for an answer."""
    with store.read():
        return {session_id for (session_id,) in store.rows(_select_asking()) if session_id}


def approved_for_session(store: Store, session_ids: Collection[str]) -> tuple[LiveRequest, ...]:
    """Return the requests of some sessions whose like a person has allowed for the rest of the session."""
    row = LiveRequestRow
    mine = row.session_id.in_(each_of(session_ids)) & (row.decision == "approve_for_session")
    with store.read():
        return tuple(map(_read, store.rows(row.select(*_FIELDS).where(mine).order_by(row.created_at))))


def latest(store: Store, limit: int) -> tuple[LiveRequest, ...]:
    """Return the last requests whatever became of them, the newest first."""
    row = LiveRequestRow
    with store.read():
        query = row.select(*_FIELDS).order_by(row.created_at.desc(), row.request_id).limit(limit)
        return tuple(map(_read, store.rows(query)))


def _read(values: tuple[Any, ...]) -> LiveRequest:
    at = name_values(_FIELDS, values)
    at["prompt"] = msgspec.json.decode(at["prompt"], type=prepare(Prompt))
    at["answers"] = msgspec.json.decode(at["answers"] or "{}", type=prepare(dict[str, tuple[str, ...]]))
    return LiveRequest(**at | {"session_id": at["session_id"] or ""})
