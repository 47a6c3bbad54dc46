"""What the parts of the facade share: one user's folders, state file, configuration and wiring."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from oulipoly_engine.clock import Clock, SystemClock
from oulipoly_engine.errors import (
    IdAmbiguous,
    ReadOnly,
    RequestRefused,
    RunnerError,
    StoreLocked,
    StoreNotWritable,
    StoreUnusable,
)
from oulipoly_engine.events import Listeners
from oulipoly_engine.facade.base.wiring import Note, Wiring, ignore
from oulipoly_engine.paths import Paths, from_environment
from oulipoly_engine.records import Record, field, replace

if TYPE_CHECKING:
    from oulipoly_engine.config.base.app_settings import AppSettings, ThemeFile
    from oulipoly_engine.config.base.problem import Fault, Problem
    from oulipoly_engine.core.accounts.accounts import Settings
    from oulipoly_engine.facade.base.extension_set import ExtensionSet
    from oulipoly_engine.facade.base.files import CheckedFiles, Files
    from oulipoly_engine.service.accounts.configuration import Configured, Fingerprint, Places
    from oulipoly_engine.service.extensions.handover import HandOver
    from oulipoly_engine.service.following.notices import Notices
    from oulipoly_engine.store.base.db import Store

T = TypeVar("T")

# From app.toml's settings and the themes to (file below the configuration's folder, what is wrong in it).
FindAppFaults = Callable[["AppSettings", "Sequence[ThemeFile]"], "Iterable[tuple[str, Fault]]"]

_PACKAGES_LOCK = "packages-lock.json"  # `core.packages.lock.FILE`, which is not imported for a look
_READ_ONLY = "Warning: {}. It is only read for now: what is new is neither read nor kept"

# ruff: noqa: PLC0415 - the configuration and SQLite cost 60 ms, and half of the commands need only one of them


def find_only(found: Sequence[T], key: Callable[[T], str], identity: str, kind: str, none: RequestRefused) -> T:
    """Return the only one that the beginning of an id has found. Raises `none` where there is none, and IdAmbiguous."""
    if len(found) == 1:
        return found[0]
    if not found:
        raise none
    names = ", ".join(key(one)[:8] for one in found[:5])
    raise IdAmbiguous(f"several {kind} begin with {identity!r}: {names}; give more of the id")


class Surroundings(Record):
    """Where an engine works, and who is told."""

    paths: Paths = field(default_factory=from_environment)
    clock: Clock = field(default_factory=SystemClock)
    models_dir: Path | None = None
    agents_dir: Path | None = None
    read_only: bool = False  # refuse everything that changes something
    checks_files: bool = False  # a broken file ends what needs it, as in a command; else an earlier reading stands in
    note: Note = ignore  # shows a line to the user: warnings, and what a run decides on its way
    is_app: bool = False  # a person sits before it: what is sent to live sessions takes control of them
    find_app_faults: FindAppFaults | None = None  # what the app knows of its own files: keys, themes; None: no app


class made_once(cached_property[T]):  # noqa: N801 - a decorator
    """A property that is made when it is first asked for, once, however many threads ask.

    Its owner has an RLock `making`. `cached_property` itself has no lock from Python 3.12 on.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        """Return what is kept, or make it."""
        if instance is None:
            return self
        with instance.making:
            return super().__get__(instance, owner)


class Home:
    """One user's state file and configuration, opened and read at the first use. Safe to use from any thread."""

    def __init__(self, surroundings: Surroundings, listeners: Listeners) -> None:
        above = replace(surroundings.paths.above, is_trusted=self._is_trusted)
        self.paths = replace(surroundings.paths, above=above)
        self.clock, self.note = surroundings.clock, surroundings.note
        self.models_dir, self.agents_dir = surroundings.models_dir, surroundings.agents_dir
        self.read_only = surroundings.read_only
        self.is_app = surroundings.is_app
        self.find_app_faults = surroundings.find_app_faults
        self.listeners = listeners
        self.wiring = Wiring(self.paths, self.clock)
        self.checks_files = surroundings.checks_files
        self._warned: set[str] = set()
        self.making = threading.RLock()
        self._opening = threading.Lock()
        self._store: Store | None = None
        self._empty_store: Store | None = None
        self._configured: tuple[Fingerprint, Configured] | None = None

    def _is_trusted(self, folder: Path, digest: str) -> bool:
        """Tell whether a person trusts a project's settings as they are."""
        if not self.paths.state_db.exists():
            return False
        from oulipoly_engine.store.grants.grants import list_allowed

        with self.lend_store_to_read() as store:
            return digest in list_allowed(store, str(folder))

    @made_once
    def extensions(self) -> ExtensionSet:
        """Return which extensions there are, and those of this process."""
        from oulipoly_engine.facade.base.extension_set import ExtensionSet

        return ExtensionSet(
            self.paths,
            self.clock,
            lambda: self.quiet_files.settings(),
            lambda: self.quiet_files.accounts().values(),
            self.lend_store,
            self.note,
        )

    def hand_over(self, store: Store, settings: Settings) -> HandOver | None:
        """Return what extensions and skills give to CLIs that are started; None: nothing.

        Where nobody has allowed an extension anything, named a skill or installed a package, no module is loaded.
        """
        from oulipoly_engine.store.quota.controls import lets_extensions_run

        has_packages = (self.paths.packages / _PACKAGES_LOCK).exists()
        if self.paths.above.extensions or has_packages or settings.skills or lets_extensions_run(store):
            return self.extensions.make_hand_over()
        return None

    @made_once
    def notices(self) -> Notices:
        """Return who is told of transcripts as they are written: from the follower of all to who shows one."""
        from oulipoly_engine.service.following.notices import Notices

        return Notices()

    @property
    def files(self) -> Files:
        """Return the configuration as this engine's face wants it."""
        if self.checks_files:
            return self.checked_files
        from oulipoly_engine.facade.base.files import KeptFiles

        return KeptFiles(self.read_configuration)

    @property
    def quiet_files(self) -> Files:
        """Return the same without a word about warnings, which the commands that run the scripts say."""
        return self.checked_files.quiet() if self.checks_files else self.files

    @property
    def checked_files(self) -> CheckedFiles:
        """Return the configuration for what ends at the first error, whatever the face."""
        from oulipoly_engine.facade.base.files import CheckedFiles

        return CheckedFiles(self.paths, self.warn, self.models_dir, self.agents_dir)

    @property
    def places(self) -> Places:
        """Return where the configuration's files lie."""
        from oulipoly_engine.service.accounts.configuration import Places

        return Places(self.paths, self.models_dir, self.agents_dir)

    def read_configuration(self) -> Configured:
        """Return the configuration, read anew when a file changes; an earlier reading stands in for a broken one."""
        places = self.places
        fingerprint = places.fingerprint()
        kept = self._configured
        if kept is None or kept[0] != fingerprint:
            kept = (fingerprint, places.read(None if kept is None else kept[1], self.now()))
            self._configured = kept
        return kept[1]

    def examine(self) -> None:
        """Look for what is wrong between the files too, missing programs included, and keep it."""
        problems = self.places.examine()
        fingerprint, configured = self.places.fingerprint(), self.read_configuration()
        self._configured = (fingerprint, replace(configured, problems=problems))

    def check_configuration(self, *, finds_programs: bool = True) -> tuple[Problem, ...]:
        """Return what is wrong with every file and between them; no snapshot of an earlier reading is asked.

        finds_programs: programs that are missing are told as well.
        """
        from oulipoly_engine.config.check import check

        more = {} if finds_programs else {"which": lambda name: name}
        problems = check(
            replace(self.paths, cache=None),
            models_dir=self.models_dir,
            agents_dir=self.agents_dir,
            find_app_faults=self.find_app_faults,
            **more,
        )
        return (*problems, *self.extensions.find_problems())

    def store(self) -> Store:
        """Return the state file, where runs have ended whose runner was killed; a missing one is made.

        In read-only mode an empty one in memory stands in for a missing file. Raises StoreUnusable or
        SchemaIncompatible.
        """
        from oulipoly_engine.store.base.db import open_empty_store, open_store

        with self._opening:
            if self._store is None:
                if self.read_only and not self.paths.state_db.exists():
                    self._empty_store = self._empty_store or open_empty_store(self.paths.state_db)
                    return self._empty_store
                self._store = open_store(self.paths.state_db)
                if self.is_app:  # its work runs in hundreds of short threads
                    self._store.keep_idle()
                if not self.read_only and self._store.has_running():
                    from oulipoly_engine.service.runs import orphans

                    with suppress(StoreUnusable), self._explain_errors():  # who came to read shall read
                        orphans.close_lost(self._store, self.now(), self.paths)
            return self._store

    def settle_telemetry(self, store: Store, *, is_on: bool) -> None:
        """Have telemetry be told of what happens, or no more, as the setting says; what waits for it is kept."""
        if not self.read_only and (is_on or store.has_readers()):
            from oulipoly_engine.service.telemetry.recorder import Telemetry

            with suppress(StoreUnusable):  # nothing is worth less than a run
                Telemetry(store).settle(self.now(), is_on=is_on)

    def tell_changed(self, files: Iterable[Path]) -> None:
        """Tell who reads the outbox that files of the configuration have changed, whatever in them."""
        if not self.paths.state_db.exists():
            return
        with suppress(StoreUnusable), self.lend_store() as store:
            if store.has_readers():
                from oulipoly_engine.store.outbox.events import publish

                with store.write():
                    changes = [{"key": "", "file": file.name} for file in files]
                    publish(store, "settings_changed", self.now(), "", {"changes": changes})

    @contextmanager
    def lend_store(self) -> Iterator[Store]:
        """Lend the state file, and close this thread's connection afterwards. Raises as `store`."""
        with self._lend(self.store()) as store:
            yield store

    @contextmanager
    def lend_store_to_read(self) -> Iterator[Store]:
        """Lend the state file to who can do without writing, and close this thread's connection afterwards.

        One that cannot be written is read as it is; that is told once, and it is tried again the next time. Raises as
        `store`, where it cannot be read either.
        """
        try:
            store = self.store()
        except StoreNotWritable as refusal:
            from oulipoly_engine.store.base.db import open_store_to_read

            store = open_store_to_read(self.paths.state_db, refusal)
            self.warn(_READ_ONLY.format(refusal.message))
        with self._lend(store):
            yield store

    @contextmanager
    def _lend(self, store: Store) -> Iterator[Store]:
        try:
            with self._explain_errors():
                yield store
        finally:
            store.close()

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.explain(error)
            raise

    def explain(self, error: Exception) -> None:
        """Raise StoreDamaged where what looks like a mistake of ours comes from what lies in the state file.

        Rows are not checked as they are read: that would cost every command what one in a million needs.
        """
        if isinstance(error, (RunnerError, OSError)) or not self.paths.state_db.is_file():
            return
        from oulipoly_engine.store.base.database_errors import make_damage
        from oulipoly_engine.store.models.damage import find_damage

        damage = find_damage(self.paths.state_db)
        if damage is not None:
            raise make_damage(self.paths.state_db, damage) from error

    def write_along(self, store: Store, write: Callable[[], T], otherwise: T) -> T:
        """Do what a question stores on its way, and return what comes of it; without it the answer is only older.

        otherwise: what to return where nothing can be written now, which is told once, or in read-only mode.
        """
        if self.read_only or store.refusal is not None:
            return otherwise
        try:
            return write()
        except (StoreNotWritable, StoreLocked) as refusal:
            self.warn(_READ_ONLY.format(refusal.message))
            return otherwise

    def close(self) -> None:
        """Close this thread's connection and those that are kept, if the state file was opened at all."""
        if self._store is not None:
            self._store.close()
            self._store.close_idle()

    def now(self) -> datetime:
        """Return the clock's time."""
        return self.clock.now()

    def refuse_if_read_only(self, what: str) -> None:
        """Raise RequestRefused in read-only mode. what: an infinitive, "drain an account"."""
        if self.read_only:
            raise ReadOnly(what)

    def warn(self, text: str) -> None:
        """Show a warning once, however often its file is read."""
        if text not in self._warned:
            self._warned.add(text)
            self.note(text)


class Part:
    """A part of what faces ask and order, one a capability; all of them work on one home."""

    def __init__(self, home: Home) -> None:
        self._home = home
