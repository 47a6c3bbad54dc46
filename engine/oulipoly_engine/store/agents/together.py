"""What agents keep and may do together: notes, links, tokens. Links are grants in the book of all of them."""

from __future__ import annotations

from datetime import datetime

import msgspec

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.agents.capabilities import AGENT_PREFIX, PROMPT_RIGHT, Note, check_notes
from oulipoly_engine.core.agents.tokens import AgentToken
from oulipoly_engine.errors import NoteNotFound
from oulipoly_engine.records import prepare, replace
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.grants import grants
from oulipoly_engine.store.models.live import AgentNoteRow, AgentTokenRow
from oulipoly_engine.store.models.worktrees import GrantRow

_words = msgspec.json.Decoder(prepare(tuple[str, ...]))


# Notes ---------------------------------------------------------------------------------------------------------------
def list_notes(store: Store, agent_id: str) -> tuple[Note, ...]:
    """Return an agent's notes, by their keys."""
    row = AgentNoteRow
    query = row.select(row.key, row.text, row.is_pinned).where(row.agent_id == agent_id).order_by(row.key)
    return tuple(Note(key, text, bool(is_pinned)) for key, text, is_pinned in store.rows(query))


def read_note(store: Store, agent_id: str, key: str) -> Note:
    """Return a note. Raises NoteNotFound."""
    for note in list_notes(store, agent_id):
        if note.key == key:
            return note
    raise NoteNotFound(f"there is no note {key[:80]!r}")


def save_note(store: Store, agent_id: str, key: str, text: str, now: datetime) -> None:
    """Keep a text by a key, in place of another one; a pinned note stays so. Raises UsageInvalid for too much."""
    row = AgentNoteRow
    with store.write():
        notes = {note.key: note for note in list_notes(store, agent_id)}
        note = replace(notes.get(key, Note(key, text)), text=text)
        check_notes((notes | {key: note}).values())
        _remove(store, agent_id, key)
        fields = {"agent_id": agent_id, "key": key, "text": text, "is_pinned": int(note.is_pinned)}
        store.insert(row, **fields, updated_at=to_text(now))


def pin_note(store: Store, agent_id: str, key: str, *, is_pinned: bool) -> None:
    """Have a note be part of its agent's context, or not. Raises NoteNotFound, UsageInvalid for too much."""
    row = AgentNoteRow
    with store.write():
        note = replace(read_note(store, agent_id, key), is_pinned=is_pinned)
        check_notes(note if each.key == key else each for each in list_notes(store, agent_id))
        is_meant = (row.agent_id == agent_id) & (row.key == key)
        store.run(row.update({row.is_pinned: int(is_pinned)}).where(is_meant))


def delete_note(store: Store, agent_id: str, key: str) -> None:
    """Delete a note. Raises NoteNotFound."""
    with store.write():
        read_note(store, agent_id, key)
        _remove(store, agent_id, key)


def _remove(store: Store, agent_id: str, key: str) -> None:
    row = AgentNoteRow
    store.run(row.delete().where(row.agent_id == agent_id, row.key == key))


# Links ---------------------------------------------------------------------------------------------------------------
def link(store: Store, source_id: str, target_id: str, now: datetime) -> None:
    """Let an agent prompt another one."""
    grants.allow(store, f"{AGENT_PREFIX}{source_id}", target_id, now, (PROMPT_RIGHT,))


def unlink(store: Store, source_id: str, target_id: str) -> bool:
    """Let an agent prompt another one no more. Returns whether it could."""
    return grants.withdraw(store, f"{AGENT_PREFIX}{source_id}", target_id, PROMPT_RIGHT)


def list_targets(store: Store, source_id: str) -> tuple[str, ...]:
    """Return the ids of the agents that an agent may prompt."""
    return tuple(grants.list_allowed(store, f"{AGENT_PREFIX}{source_id}"))


def list_links(store: Store) -> tuple[tuple[str, str, datetime], ...]:
    """Return all links: who may prompt whom, by ids, and since when; the oldest first."""
    return tuple(
        (subject.removeprefix(AGENT_PREFIX), target_id, allowed_at)
        for subject, target_id, _right, allowed_at in grants.list_all(store)
        if subject.startswith(AGENT_PREFIX)
    )


# Tokens --------------------------------------------------------------------------------------------------------------
def add_token(store: Store, token: AgentToken) -> None:
    """Note what a token says that is about to be given away."""
    with store.write():
        store.insert(
            AgentTokenRow,
            token_id=token.token_id,
            agent_id=token.agent_id,
            issuer=token.issuer,
            capabilities=msgspec.json.encode(token.capabilities).decode(),
            links=msgspec.json.encode(token.links).decode(),
            issued_at=to_text(token.issued_at),
            expires_at=to_text(token.expires_at),
        )


def list_tokens(store: Store, agent_id: str = "") -> tuple[AgentToken, ...]:
    """Return the tokens of an agent, or of all; the oldest first, with those that were revoked."""
    row = AgentTokenRow
    columns = (row.token_id, row.issuer, row.agent_id, row.issued_at, row.expires_at, row.capabilities, row.links)
    query = row.select(*columns, row.revoked_at).order_by(row.issued_at, row.token_id)
    query = query.where(row.agent_id == agent_id) if agent_id else query
    return tuple(
        AgentToken(
            token_id,
            issuer,
            of_agent,
            from_text(issued_at),
            from_text(expires_at),
            _words.decode(capabilities),
            _words.decode(links),
            None if revoked_at is None else from_text(revoked_at),
        )
        for token_id, issuer, of_agent, issued_at, expires_at, capabilities, links, revoked_at in store.rows(query)
    )


def is_revoked(store: Store, token_id: str) -> bool:
    """Tell whether a token holds no more; one of which nothing is known does not."""
    row = AgentTokenRow
    rows = store.rows(row.select(row.revoked_at).where(row.token_id == token_id))
    return not any(revoked_at is None for (revoked_at,) in rows)


def revoke_token(store: Store, token_id: str, now: datetime) -> None:
    """Have a token hold no more; one that was revoked before keeps its time."""
    _revoke(store, AgentTokenRow.token_id == token_id, now)


def _revoke(store: Store, is_meant: object, now: datetime) -> None:
    row = AgentTokenRow
    with store.write():
        store.run(row.update({row.revoked_at: to_text(now)}).where(is_meant, row.revoked_at.is_null()))


# Ends ----------------------------------------------------------------------------------------------------------------
def forget(store: Store, agent_id: str, now: datetime) -> None:
    """Forget an agent's notes and links and revoke its tokens, all at once. What is forgotten already stays so."""
    note = AgentNoteRow
    grant = GrantRow
    is_link = (grant.subject == f"{AGENT_PREFIX}{agent_id}") | (
        grant.subject.startswith(AGENT_PREFIX) & (grant.digest == agent_id)
    )
    with store.write():
        store.run(note.delete().where(note.agent_id == agent_id))
        store.run(grant.delete().where(is_link))
        _revoke(store, AgentTokenRow.agent_id == agent_id, now)
