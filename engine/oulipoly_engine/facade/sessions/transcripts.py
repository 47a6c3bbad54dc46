"""Reading sessions entry by entry."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

from oulipoly_engine.errors import ConfigInvalid, StorageUnsupported
from oulipoly_engine.facade.base import upkeep
from oulipoly_engine.facade.sessions.base import SessionPart
from oulipoly_engine.facade.sessions.catalogue import catalogue, describe
from oulipoly_engine.records import Record
from oulipoly_engine.store.sessions.sessions import list_sessions

if TYPE_CHECKING:
    from oulipoly_engine.core.transcripts.entry_tree import EntryTree
    from oulipoly_engine.core.worktrees.trace import RunTrace
    from oulipoly_engine.service.following.session_follower import TranscriptFollower
    from oulipoly_engine.service.reading.pages import Pages
    from oulipoly_engine.service.sessions.catalogue import ListedSession
    from oulipoly_engine.service.transcripts.quick_ingest import QuickIngestResult
    from oulipoly_engine.store.transcripts.entry_pages import Entry, EntryPages

# ruff: noqa: PLC0415 - each of these is asked alone

_TRACE_ENTRIES = 5000


class StoredTranscript(Record):
    """A session that is being read from the state file."""

    listed: ListedSession
    tree: EntryTree
    entries: EntryPages
    parents: Mapping[str, str]  # the entry that each one follows on
    leaf: str | None  # that the session goes on behind; None: there is none


class SessionTranscripts(SessionPart):
    """The transcripts of one user's sessions."""

    _glanced_at = -math.inf  # by the monotonic clock

    def open(self, account: str, session_id: str, path: str | None = None) -> Pages:
        """Open a session where it can be read: the CLI's file, its kept copy, our own rows.

        path: the file, where it is known. Raises StorageUnsupported, and RunnerError for a file that cannot be read.
        """
        from oulipoly_engine.service.reading.source import TranscriptSource

        with self._home.lend_store_to_read() as store:
            source = TranscriptSource(store, self._locator(), self._archive(store), self._home.wiring.longest_line())
            return source.pages(account, session_id, path)

    def follow(self, pages: Pages, key: str) -> TranscriptFollower:
        """Publish TranscriptGrew as a session grows, until it is closed."""
        from oulipoly_engine.service.following.session_follower import TranscriptFollower

        return TranscriptFollower(pages, key, self._home.listeners, self._home.clock, notices=self._home.notices)

    @contextmanager
    def open_stored(self, text: str, *, with_side_chains: bool) -> Iterator[StoredTranscript]:
        """Lend what is stored of a session. Raises SessionNotFound and SessionAmbiguous."""
        from oulipoly_engine.core.transcripts import entry_tree
        from oulipoly_engine.store.sessions.leaves import find_leaf
        from oulipoly_engine.store.transcripts.entry_pages import EntryPages, links

        with self._session(text) as (store, session):
            known = catalogue(self._home, store)
            self._home.write_along(store, lambda: describe(known, 0.0), 0)
            (found,) = list_sessions(store, (session.chain_id,))
            entries = EntryPages(store, session.account, session.session_id, with_side_chains=with_side_chains)
            placed = links(store, session.account, session.session_id)
            yield StoredTranscript(
                known.look(found, known.read_facets([found], {})),
                entry_tree.build(placed),
                entries,
                entry_tree.parent_ids(placed),
                find_leaf(store, session.account, session.session_id) or None,
            )

    def list_behind(self, text: str, row_id: int, count: int) -> tuple[Entry, ...]:
        """Return the entries of a session that were stored behind a row, in that order. Raises as `open_stored`."""
        from oulipoly_engine.store.transcripts.entry_pages import list_behind

        with self._session(text) as (store, session):
            return list_behind(store, session.account, session.session_id, row_id, count)

    def trace(self, text: str) -> tuple[RunTrace, ...]:
        """Return what the last turns of a session have done, as far as its CLI has written that. Raises as `open`.

        A session of which nothing is left to read has done nothing.
        """
        from oulipoly_engine.core.worktrees.trace import trace_entries

        with self._session(text) as (_, session):
            pass
        try:
            pages = self.open(session.account, session.session_id)
        except StorageUnsupported:
            return ()
        with closing(pages):
            last = pages.page(len(pages) - _TRACE_ENTRIES, _TRACE_ENTRIES, redacting=False)
        return trace_entries(placed.entry for placed in last if placed.entry is not None)

    def finish_files(self) -> None:
        """Write live sessions' files on, where there are to be any: their CLIs may have ended just now."""
        if self._home.quiet_files.settings().session_dir:
            self.glance()

    def glance(self, rest_s: float = 0.0) -> QuickIngestResult | None:
        """Store what the CLIs have just written, for a moment; None: nothing can be stored, or no state file is there.

        rest_s: so soon after the last look nothing is looked at again, for whoever polls. A broken configuration is
        told by who asks for the sessions themselves.
        """
        from oulipoly_engine.service.transcripts.quick_ingest import QuickIngest

        home = self._home
        now = home.clock.monotonic()
        if home.read_only or not home.paths.state_db.exists() or now - self._glanced_at < rest_s:
            return None
        self._glanced_at = now
        result, sessions = None, home.paths.data / "sessions"
        with home.lend_store_to_read() as store:
            with suppress(ConfigInvalid):
                scripts = home.quiet_files.scripts()
                glance = QuickIngest(
                    store, scripts, home.paths.home, sessions, lambda: home.wiring.ingester(store, scripts)
                )
                result = home.write_along(store, glance.look, None)
            home.write_along(store, lambda: upkeep.enter_heard(home, store), 0)
            upkeep.mirror_sessions(home, store)
        return result
