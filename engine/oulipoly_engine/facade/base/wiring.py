"""Puts together the services that several parts of the facade need.

Imports are deferred to whoever asks: a one-shot must not wait for what only an import or a move needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.clock import Clock, SystemClock
from oulipoly_engine.paths import Paths, from_environment
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.records import Record, field

if TYPE_CHECKING:
    from oulipoly_engine.core.accounts.accounts import Account, Model, SessionScripts, Settings
    from oulipoly_engine.events import Listeners
    from oulipoly_engine.service.archive.archive import Archive
    from oulipoly_engine.service.archive.keeper import ArchiveKeeper
    from oulipoly_engine.service.extensions.handover import HandOver
    from oulipoly_engine.service.interactive.interactive import Launcher
    from oulipoly_engine.service.ledger.files import Source
    from oulipoly_engine.service.ledger.ledger import Ledger
    from oulipoly_engine.service.quota.refresh import Refresher
    from oulipoly_engine.service.reading.documents import Documents
    from oulipoly_engine.service.reading.export import Exporter
    from oulipoly_engine.service.rewrite.recovery import Recovery
    from oulipoly_engine.service.rewrite.replace import Replacer
    from oulipoly_engine.service.runs.attempt import Face
    from oulipoly_engine.service.runs.freshness import Freshness
    from oulipoly_engine.service.runs.invoke import Invoker
    from oulipoly_engine.service.runs.resume import Resumer
    from oulipoly_engine.service.sessions.catalogue import Catalogue
    from oulipoly_engine.service.sessions.lease import Leases
    from oulipoly_engine.service.sessions.locate import Locator
    from oulipoly_engine.service.sessions.move import Mover
    from oulipoly_engine.service.transcripts.ingest import Ingester
    from oulipoly_engine.service.worktrees.base.repository import Resources
    from oulipoly_engine.store.base.db import Store

# ruff: noqa: PLC0415 - each import is deferred to the face that asks for it

Note = Callable[[str], None]  # takes a line for the user


def ignore(_text: str) -> None:
    """Take a line for the user and tell nobody."""


class Wiring(Record):
    """Where everything lies, and how services are put together there."""

    paths: Paths = field(default_factory=from_environment)
    clock: Clock = field(default_factory=SystemClock)

    def longest_line(self) -> int:
        """Return how long a transcript's line may be, in bytes."""
        from oulipoly_engine.config import small_files

        return small_files.read_settings(self.paths).value.longest_line

    def leases(self) -> Leases:
        """Return the rights to change sessions."""
        from oulipoly_engine.service.sessions.lease import Leases

        return Leases(self.paths.locks, self.clock)

    def locator(
        self, accounts: Mapping[str, Account], scripts: Mapping[str, SessionScripts], timeout_s: float | None = None
    ) -> Locator:
        """Return what finds sessions and runs storage scripts. timeout_s: of one script; None: its usual patience."""
        from oulipoly_engine.service.sessions.locate import Locator

        patience = {} if timeout_s is None else {"timeout_s": timeout_s}
        return Locator(
            accounts, scripts, self.paths.data / "sessions", self.paths.home, inherited_environment(), **patience
        )

    def ingester(
        self, store: Store, scripts: Mapping[str, SessionScripts], listeners: Listeners | None = None
    ) -> Ingester:
        """Return what reads the accounts' transcripts into the state file."""
        from oulipoly_engine.service.transcripts.ingest import Ingester

        def settle(account: str) -> bool:
            return not self.has_journals() or self.recovery(lambda: store).settle_moves(account)

        return Ingester(
            store,
            scripts,
            self.clock,
            self.paths.home,
            inherited_environment(),
            self.paths.data / "sessions",
            self.paths.data / "turn-scan-locks",
            listeners=listeners,
            settle=settle,
            longest_line=self.longest_line(),
        )

    def refresher(
        self,
        store: Store,
        accounts: Mapping[str, Account],
        scripts: Mapping[str, SessionScripts],
        listeners: Listeners | None = None,
    ) -> Refresher:
        """Return what reads the accounts' quota."""
        from oulipoly_engine.service.quota.refresh import Refresher

        return Refresher(
            store,
            accounts,
            scripts,
            self.clock,
            home=self.paths.home,
            environ=inherited_environment(),
            locks=self.paths.data / "usage-refresh-locks",
            listeners=listeners,
        )

    def freshness(
        self,
        store: Store,
        accounts: Mapping[str, Account],
        scripts: Mapping[str, SessionScripts],
        note: Note = ignore,
        listeners: Listeners | None = None,
    ) -> Freshness:
        """Return what reads quota and transcripts around a run."""
        from oulipoly_engine.service.runs.freshness import Freshness

        return Freshness(
            store,
            self.refresher(store, accounts, scripts, listeners),
            scripts,
            self.paths.home,
            lambda: self.ingester(store, scripts, listeners),
            note,
        )

    def archive(self, store: Store, accounts: Mapping[str, Account], scripts: Mapping[str, SessionScripts]) -> Archive:
        """Return the kept copies of transcripts."""
        from oulipoly_engine.service.archive.archive import Archive
        from oulipoly_engine.service.transcripts.files import homes

        known = {home.account: home for home in homes(accounts, scripts, self.paths.home)}
        return Archive(store, self.paths.data / "archive", known, self.clock)

    def archive_keeper(self, archive: Archive, settings: Settings) -> ArchiveKeeper:
        """Return what fills the archive and prunes it."""
        from oulipoly_engine.service.archive.keeper import ArchiveKeeper

        return ArchiveKeeper(archive, settings.archive_limit_bytes)

    def catalogue(
        self,
        store: Store,
        accounts: Mapping[str, Account],
        scripts: Mapping[str, SessionScripts],
        locator: Locator | None,
    ) -> Catalogue:
        """Return the sessions for lists and trees."""
        from oulipoly_engine.service.sessions.catalogue import Catalogue, Kinds

        return Catalogue(store, Kinds(accounts, scripts), locator, self.paths)

    def documents(self, store: Store, locator: Locator, archive: Archive) -> Documents:
        """Return sessions as documents for people."""
        from oulipoly_engine.service.reading.documents import Documents

        return Documents(store, locator, archive, longest_line=self.longest_line())

    def exporter(self, store: Store, locator: Locator) -> Exporter:
        """Return sessions as canonical lines."""
        from oulipoly_engine.service.reading.export import Exporter

        return Exporter(store, locator, longest_line=self.longest_line())

    def mover(self, store: Store, locator: Locator, read: Callable[[str], object]) -> Mover:
        """Return what moves sessions. read: stores what an account's transcripts have gained."""
        from oulipoly_engine.service.sessions.journal import JournalFolder
        from oulipoly_engine.service.sessions.move import Mover

        return Mover(
            store,
            locator,
            self.leases(),
            self.clock,
            JournalFolder(self._journals),
            self.paths.data / "turn-scan-locks",
            read,
            lambda session_id: self.recovery(lambda: store).mend(session_id),
            self.longest_line,
        )

    def replacer(self, store: Store, locator: Locator, settings: Settings) -> Replacer:
        """Return what replaces the entries of sessions."""
        from oulipoly_engine.service.rewrite.replace import Replacer

        return Replacer(
            store,
            locator,
            self.clock,
            self.paths.data,
            preimage_limit_bytes=settings.preimage_limit_bytes,
            longest_line=settings.longest_line,
        )

    def ledger(self, store: Store, folders: tuple[Source, ...]) -> Ledger:
        """Return what counts the calls in transcripts, each of them once."""
        from oulipoly_engine.service.ledger.ledger import Ledger

        return Ledger(store, folders, self.clock, self.longest_line())

    @property
    def _journals(self) -> Path:
        return self.paths.data / "replace_journal"

    def has_journals(self) -> bool:
        """Tell whether a replacement or a move is under way, or was cut off."""
        from oulipoly_engine.service.sessions.journal import has_journals

        return has_journals(self._journals)

    def recovery(self, store: Callable[[], Store]) -> Recovery:
        """Return what settles replacements and moves that were cut off. store: opens it when something has to be."""
        from oulipoly_engine.service.rewrite.recovery import Recovery

        return Recovery(self.paths.data, self.clock, store, self.longest_line)

    def worktree_resources(self, store: Store) -> Resources:
        """Return what steps on worktrees and branches work with."""
        from oulipoly_engine.service.worktrees.base.repository import Resources

        return Resources(store, self.paths.locks, self.paths.worktree_files, self.clock)

    def invoker(
        self,
        store: Store,
        accounts: Mapping[str, Account],
        settings: Settings,
        face: Face,
        freshness: Freshness,
        ask: Callable[[str], str] | None,
        hand_over: HandOver | None,
    ) -> Invoker:
        """Return what runs one-shots. ask: sends a prompt to the diagnostics model; None: there is none."""
        from oulipoly_engine.service.runs.invoke import Invoker

        return Invoker(
            store=store,
            accounts=accounts,
            settings=settings,
            ask_diagnosis=ask,
            paths=self.paths,
            clock=self.clock,
            face=face,
            freshness=freshness,
            hand_over=hand_over,
        )

    def resumer(
        self,
        store: Store,
        accounts: Mapping[str, Account],
        models: Callable[[], Mapping[str, Model]],
        settings: Settings,
        mover: Mover,
        freshness: Freshness,
        *,
        note: Note = ignore,
        is_shown: bool,
    ) -> Resumer:
        """Return what finds sessions and settles how they go on. is_shown: a person sees the CLI's screen."""
        from oulipoly_engine.service.runs.resume import Resumer

        return Resumer(
            store,
            accounts,
            models,
            settings,
            mover,
            self.clock,
            note,
            freshness,
            is_shown=is_shown,
            find_live=lambda native_id: self._find_live(store, native_id),
        )

    def _find_live(self, store: Store, native_id: str) -> str:
        from oulipoly_engine.service.live import hosts
        from oulipoly_engine.store.live import live_sessions

        found = (one.session_id for one in live_sessions.find(store, native_id) if one.native_id == native_id)
        return next((one for one in found if hosts.is_held(self.paths, one)), "")

    def launcher(
        self,
        store: Store,
        accounts: Mapping[str, Account],
        settings: Settings,
        freshness: Freshness,
        *,
        note: Note = ignore,
        is_shown: bool,
        hand_over: HandOver | None = None,
    ) -> Launcher:
        """Return what starts interactive runs. is_shown: as for a resumer."""
        from oulipoly_engine.service.interactive.interactive import Launcher

        return Launcher(
            store,
            accounts,
            settings,
            self.paths,
            self.clock,
            note,
            is_shown=is_shown,
            freshness=freshness,
            hand_over=hand_over,
        )
