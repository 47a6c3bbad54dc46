"""What a person says of a session: its name, a note, and whether it stays at the top."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime

from oulipoly_engine.core.live.orders import Rename
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.facade.sessions.base import SessionPart
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.live.protocol import Client
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_sessions, own_entries
from oulipoly_engine.store.sessions import notes

_LONGEST = {"name": 200, "note": 10_000}  # characters
_HOST_PATIENCE_S = 5.0  # with a live session's host, which may be stopped


class SessionNotes(SessionPart):
    """Names, notes and pins of one user's sessions."""

    def rename(self, text: str, name: str) -> str | None:
        """Give a session a name, an empty one takes it away; return the former one. Raises UsageInvalid."""
        self._home.refuse_if_read_only("write notes")
        checked = plain(_check_text("name", name))
        before = self._change(text, own_entries.rename, checked).name
        self._tell_hosts(text, checked)
        return before

    def _tell_hosts(self, text: str, name: str) -> None:
        """Have those who look at the session now, and its CLI, learn its name. The name is kept without them."""
        with self._session(text) as (store, session):
            sessions = live_sessions.find(store, session.chain_id)
        for live in sessions:
            with suppress(RunnerError), hosts.connect(self._home.paths, live.session_id, Client("agents")) as client:
                client.order(Rename(name), _HOST_PATIENCE_S)

    def annotate(self, text: str, note: str) -> str | None:
        """Keep a note, an empty one takes it away; return the former one. Raises UsageInvalid."""
        self._home.refuse_if_read_only("write notes")
        checked = _check_text("note", note).replace("\0", " ")
        return self._change(text, notes.annotate, checked).note

    def pin(self, texts: Sequence[str], *, on: bool) -> list[str]:
        """Keep sessions at the top, or no longer; return the ids of those that were not so before."""
        self._home.refuse_if_read_only("pin a session")
        chain_ids = [self._chain_of(text) for text in texts]  # all of them first: an unknown one changes nothing
        with self._home.lend_store() as store:
            changed = [one for one in chain_ids if (notes.of_chain(store, one).pinned_at is not None) is not on]
            for chain_id in changed:
                (notes.pin if on else notes.unpin)(store, chain_id, self._home.now())
        self._tell()
        return changed

    def _chain_of(self, text: str) -> str:
        with self._session(text) as (_, session):
            return session.chain_id

    def _change(
        self, text: str, change: Callable[[Store, str, str | None, datetime], None], words: str
    ) -> notes.SessionNotes:
        with self._session(text, writes=True) as (store, session):
            before = notes.of_chain(store, session.chain_id)
            change(store, session.chain_id, words or None, self._home.now())
        self._tell()
        return before


def _check_text(what: str, text: str) -> str:
    """Return a text that can be kept and shown. Raises UsageInvalid."""
    text = text.strip()
    if len(text) > _LONGEST[what]:
        raise UsageInvalid(f"a {what} may have {_LONGEST[what]} characters, not {len(text)}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageInvalid(f"the {what} holds bytes that are not UTF-8: type it again") from None
    return text
