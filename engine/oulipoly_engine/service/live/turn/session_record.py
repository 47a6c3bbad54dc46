"""The row of one live session, written before anybody acts on what has changed of it."""

from __future__ import annotations

from typing import Any

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.live.sessions import LiveSession
from oulipoly_engine.records import replace
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.sessions import chains


class SessionRecord:
    """A session as it is kept."""

    def __init__(self, store: Store, session: LiveSession, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.session = session

    def change(self, **changes: Any) -> None:  # noqa: ANN401 - the fields of a LiveSession
        """Keep other values of some fields; none: the session was used just now."""
        live_sessions.update(self._store, self.session.session_id, self._clock.now(), **changes)
        self.session = replace(self.session, **changes)

    def change_opening(self, **changes: Any) -> None:  # noqa: ANN401 - the fields of SessionOptions
        """Keep other values of what its next process is opened with."""
        opening = live_sessions.change_opening(self._store, self.session.session_id, self._clock.now(), **changes)
        self.session = replace(self.session, opening=opening)

    def find_chain(self) -> str | None:
        """Return the session's id among all sessions; None: nothing of it is listed yet."""
        native_id = self.session.native_id
        if native_id is None:
            return None
        account = self.session.account or chains.find_holder(self._store, self.session.runtime_id, native_id)
        return chains.chain_of(self._store, account, native_id)

    def mint(self, account: str) -> None:
        """Put the session among all sessions, under its model, before a scan finds its transcript."""
        if self.session.native_id is not None:
            now = self._clock.now()
            chains.mint(self._store, account, self.session.native_id, self.session.model_name, now)
