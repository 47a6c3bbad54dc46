"""The one list of sessions as a device may see it, and what those hold that CLIs alone have written."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.live.events import ItemEnded, Numbered, fit
from oulipoly_engine.core.live.item_texts import make_item
from oulipoly_engine.core.sessions.facets import LIVE_KINDS, SessionKind
from oulipoly_engine.core.sessions.resolve import UNKNOWN_MODEL
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.transcripts.entry_text import extract_text, text_of
from oulipoly_engine.core.worktrees.work import Message
from oulipoly_engine.errors import SessionAmbiguous, SessionIdInvalid, SessionNotFound, UsageInvalid
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.facade.live import standing
from oulipoly_engine.facade.sessions.catalogue import to_json
from oulipoly_engine.records import Record, replace
from oulipoly_engine.web.access.viewer import Viewer
from oulipoly_engine.web.api.engine import NotFound

if TYPE_CHECKING:
    from oulipoly_engine.facade.live.standing import LiveStatus
    from oulipoly_engine.facade.sessions.transcripts import StoredTranscript
    from oulipoly_engine.facade.sessions.types import Entry, EntryPages, ListedSession

_LONGEST_OUTPUT = 2_000  # characters of what a tool gave, where a message holds nothing else
_PAGE = 500  # entries read at once
_GLANCE_EVERY_S = 5.0  # at transcripts, for who asks again and again what is new
_OWN_KEYS = ("note", "transcript")  # of a row: what somebody else has no use for


class SessionOfList(Record):
    """A session of the list."""

    listed: ListedSession
    live: LiveStatus | None  # how it stands, of one that was begun as a live session

    @property
    def identity(self) -> str:
        """Return the id by which its page is found."""
        return self.listed.facets.live_id or self.listed.session.chain_id


def read_list(
    engine: Engine,
    viewer: Viewer,
    query: str,
    kinds: Collection[SessionKind] = (),
    *,
    limit: int,
    after: str = "",
    rest_s: float = 0.0,
) -> list[SessionOfList]:
    """Return the sessions that a query fits and a device may see, the latest used first. Raises UsageInvalid.

    kinds: of these alone; none given: of every one. after: those behind this chain. rest_s: as `glance` has it.
    """
    engine.sessions.transcripts.glance(rest_s)
    asked: Collection[SessionKind] | None = kinds or None
    if not viewer.may_see_recorded:
        asked = LIVE_KINDS.intersection(kinds or LIVE_KINDS)
    catalogue = engine.sessions.catalogue
    table = catalogue.table(catalogue.query(query), limit=limit, kinds=asked, after=after)
    live_ids = [listed.facets.live_id for listed in table.rows if listed.facets.live_id]
    statuses = engine.live.describe(live_ids, asks_hosts=False)
    return [SessionOfList(listed, statuses.get(listed.facets.live_id)) for listed in table.rows]


def find_recorded(engine: Engine, viewer: Viewer, identity: str) -> str:
    """Return the whole id of a session that was not begun here. Raises NotFound, to a link for somebody else always."""
    if not viewer.may_see_recorded:
        raise NotFound(f"there is no live session {identity!r}")
    try:
        return engine.sessions.catalogue.find(identity).chain_id
    except (SessionIdInvalid, SessionNotFound, SessionAmbiguous) as error:
        raise NotFound(error.message) from error


def open_recorded(engine: Engine, viewer: Viewer, identity: str) -> AbstractContextManager[StoredTranscript]:
    """Lend a session that was not begun here. Raises as `find_recorded`."""
    chain_id = find_recorded(engine, viewer, identity)
    return engine.sessions.transcripts.open_stored(chain_id, with_side_chains=False)


def read_events(engine: Engine, chain_id: str, after: int, limit: int) -> tuple[Numbered, ...]:
    """Return what was said in a session that was not begun here, as events, behind the one of a number.

    The numbers are those of entries in the state file: what is stored later has a higher one, whatever time it is of.
    """
    transcripts = engine.sessions.transcripts
    transcripts.glance(_GLANCE_EVERY_S)
    return tuple(make_event(entry.row_id, entry) for entry in transcripts.list_behind(chain_id, after, limit))


def make_event(number: int, entry: Entry) -> Numbered:
    """Return the event by which a live session would tell what an entry says, without its secrets."""
    item = make_item(entry.entry_id, entry.role, entry.body, is_compaction=entry.is_compaction_boundary)
    shown = replace(item, text=redact(item.text), title=redact(item.title))
    return Numbered(number, entry.timestamp, fit(ItemEnded(shown, entry.turn_id or "")))


def find_place(entries: EntryPages, entry_id: str) -> int:
    """Return where an entry stands. Raises UsageInvalid."""
    for start in range(0, len(entries), _PAGE):
        for place, entry in enumerate(entries.page(start, _PAGE), start):
            if entry.entry_id == entry_id:
                return place
    raise UsageInvalid(f"there is no message {entry_id!r} in this session")


def read_messages(stored: StoredTranscript, start: int, count: int) -> tuple[Message, ...]:
    """Return some entries of a session that was not begun here, as messages."""
    page = stored.entries.page(start, count)
    return tuple(_make_message(entry, stored.parents.get(entry.entry_id)) for entry in page)


def _make_message(entry: Entry, parent_id: str | None) -> Message:
    """Return an entry as a message, without its secrets; of one that nobody has said, how its output begins."""
    text = extract_text(entry.body) or text_of(entry.body)[:_LONGEST_OUTPUT]
    at = milliseconds(from_text(entry.timestamp))
    role: Literal["user", "assistant"] = "assistant" if entry.role == "assistant" else "user"
    key = entry.entry_id
    return Message(key, key, role, redact(text), at, "completed", parent_id, entry.kind, entry.turn_id)


# Rows ----------------------------------------------------------------------------------------------------------------
def listed_row(engine: Engine, viewer: Viewer, session: SessionOfList) -> dict[str, Any]:
    """Return a session as `ListedSession` has it; to a link for somebody else without what the user has noted."""
    live = None if session.live is None else session_row(session.live)
    row = to_json(session.listed, engine.surroundings.clock.now()) | {"id": session.identity, "live": live}
    return row if viewer.may_see_recorded else row | dict.fromkeys(_OWN_KEYS)


def session_row(work: LiveStatus) -> dict[str, Any]:
    """Return a session as `SessionRow` has it."""
    session = work.session
    tree = work.worktree
    return standing.to_json(work) | {
        "id": session.session_id,
        "title": session.title,
        "agent_id": session.runtime_id if session.model_name == UNKNOWN_MODEL else session.model_name,
        "repo_path": session.workspace if tree is None else tree.repository,
        "worktree_path": session.workspace,
        "status": work.rest_status,
        "queued": len(work.queue),
        "error_message": work.error or None,
        "block_while_running": session.opening.block_while_running,
        "created_at": milliseconds(session.created_at),
        "last_activity_at": milliseconds(session.updated_at),
        "closed_at": None if session.closed_at is None else milliseconds(session.closed_at),
    }


def message_row(message: Message) -> dict[str, Any]:
    """Return a message as `MessageRow` has it."""
    return {
        "id": message.message_id,
        "turn_id": message.turn_id,
        "role": message.role,
        "content": message.content,
        "created_at": message.created_at,
        "status": message.status,
        "parent_id": message.parent_id,
        "kind": message.kind,
        "live_turn_id": message.live_turn_id,
    }


def milliseconds(at: datetime) -> int:
    """Return a time as the contract has it (A6)."""
    return int(at.timestamp() * 1000)
