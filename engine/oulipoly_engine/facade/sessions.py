"""What the app asks and orders about conversations: the facade's part for sessions, transcripts, export and import.

Every method blocks and may be called from any thread; each opens and closes this thread's connection.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.accounts.accounts import StorageType
from oulipoly_engine.core.search.query import Query, parse
from oulipoly_engine.core.sessions.move import MoveReason
from oulipoly_engine.core.sessions.resolve import ResolvedSession
from oulipoly_engine.core.sessions.sessions import Conversation
from oulipoly_engine.errors import RequestRefused, RunnerError, SessionNotFound, UsageInvalid
from oulipoly_engine.facade.session_files import SessionFiles
from oulipoly_engine.facade.values import (
    Exported,
    ExportWish,
    Import,
    SessionsChanged,
    Unpacked,
    file_names,
)
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.service.following.session_follower import TranscriptFollower, TranscriptGrew
from oulipoly_engine.service.reading import drafts
from oulipoly_engine.service.reading.drafts import Draft
from oulipoly_engine.service.reading.pages import Damage, Entry, Pages, Provenance, text_of
from oulipoly_engine.service.sessions.board import Board, Boards, Inside
from oulipoly_engine.service.sessions.catalogue import Catalogue, Kinds
from oulipoly_engine.service.sessions.locate import Locator, find_typed
from oulipoly_engine.service.transcripts.atomic_file import FileExists
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.sessions import notes
from oulipoly_engine.store.sessions.sessions import conversations

if TYPE_CHECKING:
    from oulipoly_engine.facade.home import Home
    from oulipoly_engine.service.rewrite.replace import Plan, Receipt, Replacer
    from oulipoly_engine.service.search import Found
    from oulipoly_engine.service.sessions.move import Mover
    from oulipoly_engine.service.transcripts.ingest import Ingested
    from oulipoly_engine.store.runs.spawned import Spawned

__all__ = [
    "Board",
    "Damage",
    "Draft",
    "Entry",
    "ExportWish",
    "Exported",
    "FileExists",
    "Import",
    "Inside",
    "Pages",
    "Provenance",
    "Sessions",
    "SessionsChanged",
    "TranscriptFollower",
    "TranscriptGrew",
    "Unpacked",
    "text_of",
]

_LONGEST_NAME, _LONGEST_NOTE = 200, 10_000  # characters, as the commands have it
_INDEXING_S = 2.0  # before a search; what is left is said
_TRACED = 3_000  # of the latest invocations


class Sessions(SessionFiles):
    """Conversations of one user."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._clock = home.clock
        self._read_only = home.read_only

    # ---- questions

    def board(self, before: Board | None = None, *, looks: bool = False) -> Board:
        """Return every conversation; the one before where nothing has changed. looks: at each transcript again."""
        with self._stored() as store:
            return self._boards(store).read(self._now(), before, may_write=not self._read_only, looks=looks)

    def conversation(self, text: str) -> Conversation:
        """Return what a person means by an id or its beginning. Raises SessionNotFound and SessionAmbiguous."""
        with self._stored() as store:
            return self._conversation(store, self._session(store, text.strip()).chain_id)

    def inside(self, conversation: Conversation) -> Inside:
        """Return the branches and side chains of a conversation."""
        part = conversation.active
        with self._stored() as store:
            return self._boards(store).inside(part.account, part.session_id, part.transcript)

    def query(self, text: str) -> Query:
        """Read a query with days of the user's own zone. Raises UsageInvalid."""
        return parse(text, self._now().astimezone(), lambda naive: naive.astimezone())

    def kinds(self) -> Kinds:
        """Return which CLI each account runs."""
        configured = self._home.configured()
        return Kinds(configured.accounts, configured.scripts)

    def search(self, text: str, limit: int = 200) -> Found:
        """Return turns that a query fits, the newest first; what is not indexed yet is indexed first, within 2 s."""
        from oulipoly_engine.service import search as searching  # noqa: PLC0415 - only who searches needs it

        query = self.query(text)
        with self._stored() as store:
            if not self._read_only:
                searching.catch_up(store, _INDEXING_S)
            return searching.search(store, query, self.kinds(), limit, width=120)

    def spawned(self) -> tuple[Spawned, ...]:
        """Return the latest invocations with who started them, the newest first."""
        from oulipoly_engine.store.runs.spawned import recent  # noqa: PLC0415 - only the trace view needs it

        with self._stored() as store:
            return recent(store, _TRACED)

    def open_transcript(self, account: str, session_id: str, path: str | None = None) -> Pages:
        """Open a conversation where it can be had: the CLI's file, its kept copy, our own rows.

        path: the file, where it is known. Raises StorageUnsupported, and RunnerError for a file that cannot be read.
        """
        from oulipoly_engine.service.reading.source import TranscriptSource  # noqa: PLC0415 - not for the list

        with self._stored() as store:
            return TranscriptSource(store, self._locator(), self._archive(store)).pages(account, session_id, path)

    def follow(self, pages: Pages, key: str) -> TranscriptFollower:
        """Publish TranscriptGrew as a conversation grows, until it is closed."""
        return TranscriptFollower(pages, key, self._home.listeners, self._clock)

    def resume_accounts(self, conversation: Conversation) -> tuple[str, ...]:
        """Return the other accounts on which a conversation could go on: they can resume, and store alike."""
        accounts = self._home.configured().accounts
        own = accounts.get(conversation.active.account)
        kind = None if own is None or own.storage is None else own.storage.storage_type
        if kind in (None, StorageType.OTHER):
            return ()
        return tuple(
            name
            for name, one in accounts.items()
            if name != conversation.active.account
            and one.resume is not None
            and one.storage is not None
            and one.storage.storage_type is kind
        )

    # ---- orders: what a person says of a conversation

    def rename(self, chain_id: str, name: str) -> str | None:
        """Give a conversation a name, an empty one takes it away; return the former one."""
        self._refuse_long(name, _LONGEST_NAME, "name")
        return self._noted(chain_id, notes.rename, name.strip() or None).name

    def annotate(self, chain_id: str, note: str) -> str | None:
        """Keep a note, an empty one takes it away; return the former one."""
        self._refuse_long(note, _LONGEST_NOTE, "note")
        return self._noted(chain_id, notes.annotate, note.strip() or None).note

    def pin(self, chain_ids: Sequence[str], *, on: bool) -> list[str]:
        """Keep conversations at the top, or no longer; return those that were not so before."""
        self._refuse_if_read_only("pin a conversation")
        with self._stored() as store:
            changed = [one for one in chain_ids if (notes.of_chain(store, one).pinned_at is not None) is not on]
            for chain_id in changed:
                if on:
                    notes.pin(store, chain_id, self._now())
                else:
                    notes.unpin(store, chain_id, self._now())
        self._tell()
        return changed

    # ---- orders: files

    def scan(self) -> int:
        """Read what the CLIs have written since; return how many turns are new. TurnsIngested goes out.

        Copies are kept of what a CLI would delete, as after every scan, unless config.toml says `archive = false`.
        """
        self._refuse_if_read_only("read transcripts into the state file")
        with self._stored() as store:
            done = self._scan(store, tuple(self._home.configured().scripts))
            self._keep_copies(store)
        return sum(one.new_turns for one in done)

    def _scan(self, store: Store, accounts: Sequence[str]) -> Sequence[Ingested]:
        from oulipoly_engine.service.transcripts.ingest import Ingester  # noqa: PLC0415 - only a scan needs it

        configured, paths = self._home.configured(), self._home.paths
        scanner = Ingester(
            store,
            configured.scripts,
            self._clock,
            paths.home,
            inherited_environment(),
            paths.data / "sessions",
            paths.data / "turn-scan-locks",
            listeners=self._home.listeners,
        )
        return scanner.ingest_accounts([name for name in accounts if name in configured.scripts])

    # ---- orders: where it goes on

    def plan_move(self, chain_id: str, account: str) -> str:
        """Say what moving a conversation would do, in a sentence. Raises as the move itself."""
        with self._stored() as store:
            plan = self._mover(store).plan(self._session(store, chain_id), account, MoveReason.MANUAL)
            size = sum(part.source.stat().st_size - part.start for part in plan.parts)
        if not plan.parts:
            return f"{account} shares the folder: nothing is copied, the conversation just goes on there"
        return f"{size:,} bytes are copied to {plan.target}; what {plan.segment.from_account} has stays where it is"

    def move(self, chain_id: str, account: str) -> str:
        """Move a conversation to another account; return where its transcript lies now."""
        self._refuse_if_read_only("move a conversation")
        with self._stored() as store:
            mover = self._mover(store)
            moved = mover.carry_out(mover.plan(self._session(store, chain_id), account, MoveReason.MANUAL))
        self._tell()
        return str(moved.plan.target)

    # ---- orders: other turns in place of these

    def read_import(self, chain_id: str, path: Path) -> Import:
        """Read canonical lines for a conversation and say what they would change; nothing is touched."""
        try:
            lines = path.read_bytes()
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror or error}"
            raise RunnerError(message) from error
        with self._stored() as store:
            session = self._session(store, chain_id)
            replacer = self._replacer(store)
            return Import(session, path, replacer.plan(session, replacer.wanted(session, lines)), lines)

    def carry_out(self, wish: Import) -> Receipt:
        """Do an import that was shown: with the lease, and only while the transcript is what it was then."""
        self._refuse_if_read_only("replace turns")
        with self._stored() as store:
            replacer = self._replacer(store)
            lines = replacer.wanted(wish.session, wish.lines)
            receipt = replacer.carry_out(wish.session, lines, wish.plan.preimage_sha256)
        self._tell()
        return receipt

    def draft(self, chain_id: str) -> Draft:
        """Write the canonical lines to a private file that may be edited; close the draft in the end.

        Raises what an import of it would raise, before anybody has edited in vain.
        """
        self._refuse_if_read_only("replace turns")
        with self._stored() as store:
            session = self._session(store, chain_id)
            (name,) = file_names([self._conversation(store, session.chain_id).active], "jsonl")
            with self._exporter(store).exported(session) as export:
                made = drafts.begin(self._home.paths.data / "tmp", name, export.blocks())
            try:
                replacer = self._replacer(store)
                replacer.plan(session, replacer.wanted(session, made.path.read_bytes()))
            except BaseException:
                made.close()
                raise
        return made

    def edit_draft(self, draft: Draft) -> str | None:
        """Open a draft in the user's editor; the app has let go of the terminal. Returns a problem."""
        from oulipoly_engine.process.editor import edit  # noqa: PLC0415 - only who opens one needs it

        return edit(draft.path)

    def plan_undo(self, chain_id: str) -> Plan:
        """Return what taking back the latest replacement would do. Raises RequestRefused where there is none."""
        with self._stored() as store:
            return self._replacer(store).plan_undo(self._session(store, chain_id))

    def undo(self, chain_id: str) -> Receipt:
        """Put a replaced transcript back as it was."""
        self._refuse_if_read_only("replace turns")
        with self._stored() as store:
            receipt = self._replacer(store).undo(self._session(store, chain_id))
        self._tell()
        return receipt

    # ---- the user's own programs

    def page_out(self, text: str) -> bool:
        """Show a text in the user's pager; the app has let go of the terminal. False: there is none."""
        from oulipoly_engine.process.pager import page  # noqa: PLC0415 - only who opens one needs it

        return page(text.split("\n"))

    def edit_copy(self, text: str, name: str) -> str | None:
        """Open a copy of a text in the user's editor; what is written there changes nothing. Returns a problem."""
        from oulipoly_engine.process.editor import edit  # noqa: PLC0415 - only who opens one needs it

        with tempfile.TemporaryDirectory(prefix="agents-", ignore_cleanup_errors=True) as folder:
            path = Path(folder) / name
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
            return edit(path)

    def document(self, chain_id: str) -> str:
        """Return a whole conversation as Markdown, for the pager and the editor."""
        from oulipoly_engine.core.transcripts.dialogue import EVERYTHING  # noqa: PLC0415 - as in `export`
        from oulipoly_engine.service.reading.documents import Style  # noqa: PLC0415 - as above

        with self._stored() as store:
            style = Style(wanted=EVERYTHING)
            with self._documents(store).rendered(self._session(store, chain_id), style) as document:
                return b"".join(document.blocks()).decode("utf-8", "replace")

    # ---- parts

    @contextmanager
    def _stored(self) -> Iterator[Store]:
        store = self._home.store()
        try:
            yield store
        finally:
            store.close()

    def _now(self) -> datetime:
        return self._clock.now()

    def _tell(self) -> None:
        self._home.listeners.publish(SessionsChanged(self._now()))

    def _locator(self) -> Locator:
        configured, paths = self._home.configured(), self._home.paths
        sessions, environ = paths.data / "sessions", inherited_environment()
        return Locator(configured.accounts, configured.scripts, sessions, paths.home, environ, timeout_s=5.0)

    def _boards(self, store: Store) -> Boards:
        locator = self._locator()
        return Boards(store, Catalogue(store, self.kinds(), locator), locator)

    def _mover(self, store: Store) -> Mover:
        from oulipoly_engine.service.sessions.lease import Leases  # noqa: PLC0415 - only a move needs it
        from oulipoly_engine.service.sessions.move import Mover  # noqa: PLC0415 - as above

        clock = self._clock
        leases = Leases(self._home.paths.data / "locks", clock)
        return Mover(store, self._locator(), leases, clock, lambda account: self._scan(store, (account,)))

    def _replacer(self, store: Store) -> Replacer:
        from oulipoly_engine.service.rewrite.replace import Replacer  # noqa: PLC0415 - only an import needs it

        limit = self._home.configured().settings.preimage_limit_bytes
        return Replacer(store, self._locator(), self._clock, self._home.paths.data, preimage_limit_bytes=limit)

    def _session(self, store: Store, chain_id: str) -> ResolvedSession:
        return find_typed(store, chain_id, self._now())

    def _conversation(self, store: Store, chain_id: str) -> Conversation:
        found = conversations(store, (chain_id,))
        if not found:
            message = f"there is no conversation {chain_id} any more"
            raise SessionNotFound(message, input=chain_id)
        return found[0]

    def _noted(
        self, chain_id: str, change: Callable[[Store, str, str | None, datetime], None], text: str | None
    ) -> notes.ConversationNotes:
        self._refuse_if_read_only("write notes")
        with self._stored() as store:
            before = notes.of_chain(store, chain_id)
            change(store, chain_id, None if text is None else text.replace("\0", " "), self._now())
        self._tell()
        return before

    def _refuse_long(self, text: str, most: int, what: str) -> None:
        if len(text) > most:
            message = f"a {what} may have {most} characters, not {len(text)}"
            raise UsageInvalid(message)

    def _refuse_if_read_only(self, what: str) -> None:
        if self._read_only:
            message = f"this app is read-only and does not {what}: start it without --read-only"
            raise RequestRefused(message)
