"""The facade that the app calls: queries give snapshots, commands give results, events go out. No screen in here.

Every method may be called from any thread; all but `follow`, `close` and the pins block, so a face calls them from a
worker. A snapshot is made by one thread at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.clock import Clock, SystemClock
from oulipoly_engine.config import app_file
from oulipoly_engine.config.app_settings import AppSettings, ThemeFile
from oulipoly_engine.config.problem import Loaded, nearest
from oulipoly_engine.core.accounts.accounts import Model
from oulipoly_engine.core.accounts.controls import Controls
from oulipoly_engine.core.balance.decision import Decision
from oulipoly_engine.core.balance.explain import decision_to_json
from oulipoly_engine.core.balance.what_if import FORMS, Supposition, parse
from oulipoly_engine.core.balance.why_table import why_table
from oulipoly_engine.core.quota.staleness import is_stale
from oulipoly_engine.errors import AccountUnusable, ModelUnknown, RequestRefused, RunnerError, UsageInvalid
from oulipoly_engine.events import Listeners
from oulipoly_engine.facade.snapshot import (
    AccountView,
    PoolView,
    Snapshot,
    SnapshotMaker,
    Trouble,
    decision_with,
)
from oulipoly_engine.facade.status import values as status_values
from oulipoly_engine.paths import Paths, from_environment
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.records import Record, field, replace
from oulipoly_engine.service.accounts.configuration import Configured, Fingerprint, Places
from oulipoly_engine.service.following.late import Home, LateFollower
from oulipoly_engine.service.following.notices import Notices
from oulipoly_engine.service.following.watch import ConfigurationChanged, Watch, Watched
from oulipoly_engine.service.quota.alerts import raise_alerts
from oulipoly_engine.service.quota.burn_history import Burning, burning
from oulipoly_engine.service.quota.refresh import Refreshed, Refresher, Wish
from oulipoly_engine.service.runs.background import Asked, Background, OneShotEnded, OneShotSaid
from oulipoly_engine.store.base.db import Store, open_store
from oulipoly_engine.store.quota import controls, quotas

if TYPE_CHECKING:
    from oulipoly_engine.facade.sessions import Sessions
    from oulipoly_engine.facade.terminals import Terminals
    from oulipoly_engine.service.accounts.settings import Settings
    from oulipoly_engine.service.accounts.setup import SetUp
    from oulipoly_engine.service.ledger.consumers import Burners
    from oulipoly_engine.service.runs.freshness import Freshness

__all__ = [
    "FORMS",
    "AccountView",
    "AppSettings",
    "Burning",
    "ConfigurationChanged",
    "Decision",
    "Engine",
    "OneShotEnded",
    "OneShotSaid",
    "PoolView",
    "Refreshed",
    "RunnerError",
    "Snapshot",
    "Surroundings",
    "Trouble",
    "status_values",
    "why_text",
]


class Surroundings(Record):
    """Where an engine works; a command's Context has the same."""

    paths: Paths = field(default_factory=from_environment)
    clock: Clock = field(default_factory=SystemClock)
    models_dir: Path | None = None
    agents_dir: Path | None = None
    read_only: bool = False  # refuse every command that changes something


class Engine:
    """One user's accounts, pools and records."""

    def __init__(self, surroundings: Surroundings | None = None, listeners: Listeners | None = None) -> None:
        self.surroundings = surroundings or Surroundings()
        self.listeners = listeners or Listeners(failed=lambda _error: None)
        self._places = Places(self.paths, self.surroundings.models_dir, self.surroundings.agents_dir)
        self._maker = SnapshotMaker(home=self.paths.home)
        self._background = Background(self.listeners, self.surroundings.clock)
        self._making = threading.Lock()
        self._opening = threading.Lock()
        self._store: Store | None = None
        self._configured: tuple[Fingerprint, Configured] | None = None
        self._pins: dict[str, str] = {}  # model -> account; this app's alone
        self._watch: Watch | None = None
        self._follower: LateFollower | None = None
        self.notices = Notices()  # of transcripts, from the follower of all to who shows one

    @property
    def paths(self) -> Paths:
        """Return the user's folders."""
        return self.surroundings.paths

    @property
    def sessions(self) -> Sessions:
        """Return what is asked and ordered about conversations."""
        from oulipoly_engine.facade.sessions import Sessions  # noqa: PLC0415 - 30 ms, not for the first frame

        return Sessions(self)

    @property
    def settings(self) -> Settings:
        """Return the configuration files, setting by setting."""
        from oulipoly_engine.service.accounts.settings import Settings  # noqa: PLC0415 - only the settings' screen asks

        return Settings(self.paths, self.surroundings.models_dir, self.surroundings.read_only)

    @property
    def terminals(self) -> Terminals:
        """Return what is asked and ordered about terminals."""
        from oulipoly_engine.facade.terminals import Terminals  # noqa: PLC0415 - 30 ms, not for the first frame

        return Terminals(self)

    def snapshot(self) -> Snapshot:
        """Return how everything stands now. A state file that cannot be read is said in it, not raised."""
        with self._making:
            now, configured = self.surroundings.clock.now(), self.configured()
            try:
                store = self.store()
                try:
                    return self._maker.make(store, configured, dict(self._pins), now)
                finally:
                    store.close()  # this thread's connection
            except RunnerError as error:
                return self._maker.without_store(configured, error.message, now)

    def examine(self) -> None:
        """Look for what is wrong between the files too, missing programs included; the next snapshot has it."""
        problems = self._places.examine()
        fingerprint, configured = self._places.fingerprint(), self.configured()
        self._configured = (fingerprint, replace(configured, problems=problems))

    def configured(self) -> Configured:
        """Return the configuration, read anew when a file changes; an earlier reading stands in for a broken one."""
        fingerprint = self._places.fingerprint()
        kept = self._configured
        if kept is None or kept[0] != fingerprint:
            kept = (fingerprint, self._places.read(None if kept is None else kept[1], self._now()))
            self._configured = kept
        return kept[1]

    def app_settings(self) -> Loaded[AppSettings]:
        """Return app.toml's settings and what is wrong with them."""
        return app_file.read(self.paths)

    def themes(self) -> Loaded[tuple[ThemeFile, ...]]:
        """Return the user's own themes and what is wrong with them."""
        return app_file.read_themes(self.paths)

    def store(self) -> Store:
        """Return the state file, opened at the first use. For engine modules beside this one; panes ask `query`s.

        Raises StoreUnusable or SchemaIncompatible.
        """
        with self._opening:
            if self._store is None:
                self._store = open_store(self.paths.state_db)
            return self._store

    def follow(self) -> None:
        """Begin to publish StateChanged and ConfigurationChanged as others write, and to store what the CLIs write.

        TurnsIngested goes out as turns are stored; nothing is stored in read-only mode.
        """
        if self._watch is None:
            self._watch = Watch(Watched(self.store, self._places.fingerprint), self.listeners, self.surroundings.clock)
        if self._follower is None and not self.surroundings.read_only:
            home = Home(self.store, self.configured, self.paths, self.listeners, self.surroundings.clock, self.notices)
            self._follower = LateFollower(home)

    def close(self) -> None:
        """Stop what runs in the background, end the watch and close this thread's connection."""
        self._background.close()
        if self._follower is not None:
            self._follower.close()
        if self._watch is not None:
            self._watch.close()
        if self._store is not None:
            self._store.close()

    def refresh(self, names: Sequence[str] = ()) -> tuple[Refreshed, ...]:
        """Read accounts' quota now, all that have a source by default; QuotaRefreshed goes out as each one ends."""
        self._refuse_if_read_only("read quota")
        configured = self.configured()
        reader = self._refresher(configured)
        asked = names or tuple(configured.accounts)
        for name in asked:
            _known(configured, name)
        return reader.refresh([name for name in asked if names or reader.source(name)], Wish(insist=True))

    def refresh_for_display(self) -> tuple[Refreshed, ...]:
        """Read the accounts whose reading is too old to be shown; one that failed lately is left alone."""
        self._refuse_if_read_only("read quota")
        configured, store, now = self.configured(), self.store(), self._now()
        try:
            reader = self._refresher(configured)
            states = quotas.states(store, tuple(configured.accounts))
            old = [name for name, state in states.items() if is_stale(state, now) and reader.source(name) is not None]
            return reader.refresh(old, Wish(unless_since=now))
        finally:
            store.close()

    def raise_alerts(self) -> None:
        """Publish AlertRaised for what nobody has been told of in this cycle. Nothing in read-only mode."""
        if self.surroundings.read_only:
            return
        store, names = self.store(), tuple(self.configured().accounts)
        try:
            raise_alerts(store, names, self.surroundings.clock.now(), self._maker.threshold, self.listeners)
        finally:
            store.close()

    def drain(self, account: str, *, on: bool) -> Controls:
        """Give an account no new work, or work again."""
        return self._control(account, "drain an account", drained=on)

    def disable(self, account: str, *, on: bool) -> Controls:
        """Leave an account out and do not read it, or take it in again."""
        return self._control(account, "disable an account", disabled=on)

    def reserve(self, account: str, fraction: float) -> Controls:
        """Keep a part, 0..0.99, of every window of an account unspent. Raises UsageInvalid outside of that."""
        if not 0 <= fraction <= 0.99:
            message = f"a reserve of {100 * fraction:g} % cannot be kept: say 0 to 99"
            raise UsageInvalid(message)
        return self._control(account, "keep a reserve", reserve=fraction)

    def clear(self, account: str) -> None:
        """Take an account's exhausted mark and its pause after failures away."""
        self._refuse_if_read_only("clear a mark")
        _known(self.configured(), account)
        store = self.store()
        try:
            quotas.clear_exhausted(store, (account,))
            with store.write():
                made = quotas.attempts(store, (account,))[account]
                quotas.save_attempts(store, account, replace(made, backoff_until=None, failures_in_a_row=0))
        finally:
            store.close()

    def pin(self, model: str, account: str | None) -> None:
        """Let one account alone serve this app's next picks of a model; None takes the pin away."""
        members = [member.account for member in self._model(model).members]
        if account is None:
            self._pins.pop(model, None)
            return
        if account not in members:
            message = f"the pool of {model!r} has no account {account!r}: it has {', '.join(members)}"
            raise AccountUnusable(message)
        self._pins[model] = account

    def pin_of(self, model: str) -> str | None:
        """Return the account that is pinned for a model's next picks."""
        return self._pins.get(model)

    def freshness(self, configured: Configured, store: Store) -> Freshness:
        """Return what reads quota and turns around a run. For engine modules beside this one."""
        from oulipoly_engine.service.runs.freshness import Freshness  # noqa: PLC0415 - only to start a run
        from oulipoly_engine.service.transcripts.ingest import Ingester  # noqa: PLC0415 - only to start a run

        ingester = Ingester(
            store,
            configured.scripts,
            self.surroundings.clock,
            home=self.paths.home,
            environ=inherited_environment(),
            state_root=self.paths.data / "sessions",
            locks=self.paths.data / "turn-scan-locks",
        )
        return Freshness(store, self._refresher(configured), ingester, lambda _text: None)

    def what_if(self, model: str, texts: Sequence[str]) -> Decision:
        """Return the choice that a pool would make if so; nothing is changed. Raises UsageInvalid on a bad text."""
        found = self._model(model)
        store = self.store()
        try:
            return decision_with(store, found, self.configured(), self._supposed(found, texts), self._now())
        finally:
            store.close()

    def burning(self, account: str, window: str, back: timedelta, ahead: timedelta, steps: int) -> Burning:
        """Return how a window burned and what is expected of it, in at most `steps` points."""
        store = self.store()
        try:
            return burning(store, account, window, self._now(), back, ahead, steps)
        finally:
            store.close()

    def burners(self, account: str, since: datetime, until: datetime) -> Burners:
        """Return which sessions, projects and models burned an account's quota between two instants."""
        from oulipoly_engine.service.ledger.consumers import burners  # noqa: PLC0415 - prices, 10 ms, only who asks

        store = self.store()
        try:
            return burners(store, self.paths, account, since, until, may_write=not self.surroundings.read_only)
        finally:
            store.close()

    def first_set_up(self) -> SetUp:
        """Return what a first configuration for the CLIs of this machine would be; nothing is written."""
        from oulipoly_engine.service.accounts.setup import propose  # noqa: PLC0415 - once in a lifetime

        return propose(self.paths)

    def write_set_up(self, found: SetUp) -> None:
        """Write a first configuration; what exists is never changed. Raises RequestRefused or ConfigInvalid."""
        from oulipoly_engine.service.accounts.setup import write_first  # noqa: PLC0415 - once in a lifetime

        self._refuse_if_read_only("write a configuration")
        write_first(self.paths, found)

    def take_set_up_back(self, found: SetUp) -> tuple[Path, ...]:
        """Delete what was written and is as it was; return what was changed since and stays."""
        from oulipoly_engine.service.accounts.setup import take_back  # noqa: PLC0415 - once in a lifetime

        self._refuse_if_read_only("delete a configuration")
        return take_back(found)

    def apply(self, model: str, texts: Sequence[str]) -> tuple[str, ...]:
        """Make a what-if's pins, drains and reserves true; return what was done, a clause each."""
        self._refuse_if_read_only("apply a what-if")
        return tuple(self._applied(model, one) for one in self._supposed(self._model(model), texts))

    def one_shot(self, model: str, prompt: str, folder: Path | None = None) -> int:
        """Start a prompt in the background and return its number; OneShotSaid and OneShotEnded follow."""
        self._refuse_if_read_only("start a one-shot")
        if not prompt.strip():
            message = "the prompt is empty: write something"
            raise UsageInvalid(message)
        self._model(model)
        return self._background.start(Asked(model, prompt, self._pins.get(model), folder, self.surroundings.models_dir))

    def stop_one_shot(self, number: int) -> None:
        """Interrupt a background one-shot."""
        self._background.stop(number)

    @property
    def one_shots(self) -> tuple[int, ...]:
        """Return the numbers of the background one-shots that have not ended."""
        return self._background.running

    def _applied(self, model: str, one: Supposition) -> str:
        match one.key:
            case "pin":
                self.pin(model, one.account)
                return f"{one.account} is pinned for {model}"
            case "drain" | "undrain" if one.account is not None:
                self.drain(one.account, on=one.key == "drain")
                return f"{one.account} is {'drained' if one.key == 'drain' else 'no longer drained'}"
            case "reserve" if one.account is not None:
                self.reserve(one.account, one.amount)
                return f"{one.account} keeps {one.amount:.0%}"
            case _:
                return "turns cannot be applied: they are what your work will bring"

    def _control(self, account: str, what: str, **wish: object) -> Controls:
        self._refuse_if_read_only(what)
        _known(self.configured(), account)
        store = self.store()
        try:
            after = replace(controls.of(store, (account,))[account], **wish)
            controls.save(store, account, after, self._now())
        finally:
            store.close()
        return after

    def _refresher(self, configured: Configured) -> Refresher:
        return Refresher(
            self.store(),
            configured.accounts,
            configured.scripts,
            self.surroundings.clock,
            home=self.paths.home,
            environ=inherited_environment(),
            locks=self.paths.data / "usage-refresh-locks",
            listeners=self.listeners,
        )

    def _model(self, name: str) -> Model:
        models = self.configured().models
        if name not in models:
            near = nearest(name, models)
            way_out = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(models) or 'none'}"
            message = f"there is no usable model {name!r}: {way_out}"
            raise ModelUnknown(message)
        return models[name]

    def _supposed(self, model: Model, texts: Sequence[str]) -> tuple[Supposition, ...]:
        return parse(texts, tuple(dict.fromkeys(member.account for member in model.members)))

    def _refuse_if_read_only(self, what: str) -> None:
        if self.surroundings.read_only:
            message = f"this app is read-only and does not {what}: start it without --read-only"
            raise RequestRefused(message)

    def _now(self) -> datetime:
        return self.surroundings.clock.now()


def why_text(decision: Decision) -> str:
    """Return a decision as the table that `agents why` prints."""
    return why_table(decision_to_json(decision))


def _known(configured: Configured, name: str) -> None:
    known: Mapping[str, object] = configured.accounts
    if name not in known:
        near = nearest(name, known)
        way_out = f"did you mean {near[0]!r}?" if near else f"providers.toml has {', '.join(known) or 'none'}"
        message = f"there is no account {name!r}: {way_out}"
        raise AccountUnusable(message)
