"""Read accounts' quota: one reader an account at a time in all our processes, learned and kept in one transaction.

A failed reading changes nothing that a choice rests on: windows, marks and ages stay, only the failure is noted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from oulipoly_engine import stopping
from oulipoly_engine.clock import Clock, to_text
from oulipoly_engine.core.accounts.accounts import Account, SessionScripts
from oulipoly_engine.core.accounts.clis.adapters import codex_sessions_root
from oulipoly_engine.core.quota.staleness import (
    CLOCK_TOLERANCE,
    count_expected_windows,
    is_routing_stale,
    topology_probe_due,
)
from oulipoly_engine.core.quota.windows import ParsedWindow
from oulipoly_engine.errors import StoreUnusable
from oulipoly_engine.events import Listeners, QuotaRefreshed
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.quota.source import explain_absence, find_command, has_source
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.quota import controls, quotas

if TYPE_CHECKING:
    from oulipoly_engine.service.quota.keeper import ReadAttempt
    from oulipoly_engine.service.quota.look import Looker

_AT_ONCE = 32  # scripts wait for the network, not for the processor


class Kind(StrEnum):
    """What came of a refresh."""

    UPDATED = "updated"
    NO_SCRIPT = "no-script"
    IN_FLIGHT = "in-flight"  # another caller reads the account right now
    FAILED = "failed"
    BACKING_OFF = "backing-off"  # failed lately, left alone for a while
    DISABLED = "disabled"
    NOT_STORED = "not-stored"  # read, but the state file took no write


class RefreshResult(Record):
    """What came of reading one account."""

    account: str
    kind: Kind
    windows: tuple[ParsedWindow, ...] = ()  # none too when the vendor reported none; of a failure: Codex's older ones
    text: str | None = None  # the failure, in one sentence
    duration_s: float = 0.0


class RefreshOptions(Record):
    """How a refresh is meant."""

    derive: bool = True  # where no script is configured, use the bundled adapter that fits the CLI's folder
    insist: bool = False  # read although a failure was recent; the pause after a vendor's 429 is kept all the same
    unless_since: datetime | None = None  # leave alone whom another caller has tried to read since


class Refresher(Record):
    """Reads quota for one store and one configuration."""

    store: Store
    accounts: Mapping[str, Account]
    scripts: Mapping[str, SessionScripts]
    clock: Clock
    home: Path
    environ: Mapping[str, str]
    locks: Path
    timeout_s: float | None = None  # of one script; None: the usual patience
    listeners: Listeners | None = None

    def refresh(
        self, names: Sequence[str], wish: RefreshOptions, done: Callable[[RefreshResult], None] | None = None
    ) -> tuple[RefreshResult, ...]:
        """Read several accounts side by side and return what came of each, in the order of the names.

        done: called in this thread as each one ends. An interruption of this thread ends the scripts.
        Raises Stopped when the user has stopped it; what was read by then is stored.
        """
        if not names:
            return ()
        from oulipoly_engine.process.thread_pool import run_in_threads  # noqa: PLC0415 - most readings are young enough

        results: dict[str, RefreshResult] = {}
        unique = tuple(dict.fromkeys(names))
        stopped = stopping.stop_event()  # of this call alone: others may read through the same object
        work = partial(self._in_thread, wish=wish, stopped=stopped)
        with closing(run_in_threads(work, unique, at_most=_AT_ONCE, cancel=stopped.set)) as found:
            for result in found:
                results[result.account] = result
                if result.kind is not Kind.FAILED or not stopped.is_set():
                    self._publish(result)
                if done is not None:
                    done(result)
        stopping.check()
        return tuple(results[name] for name in unique)

    def refresh_stale(self, names: Sequence[str], ttl_s: float) -> tuple[RefreshResult, ...]:
        """Read those accounts whose reading is too old to choose by, then those that seem to hide a window."""
        now = self.clock.now()
        readable = self._readable(names)
        states = quotas.states(self.store, readable)
        stale = [name for name in readable if is_routing_stale(states[name], now, ttl_s)]
        return self.refresh(stale, RefreshOptions(unless_since=now)) + self._repair_topology(names)

    def source(self, name: str, *, derive: bool = True) -> str | None:
        """Return the command that an account's quota is read with; None if there is none."""
        account = self.accounts.get(name)
        if account is None:
            return None
        if derive:
            return find_command(account, self.scripts.get(name), self.home)
        return account.quota_script if account.quota_script and account.quota_script.strip() else None

    def _publish(self, result: RefreshResult) -> None:
        if self.listeners is not None:
            self.listeners.publish(QuotaRefreshed(self.clock.now(), result.account, result.kind.value, result.text))

    def _readable(self, names: Sequence[str]) -> list[str]:
        """Return the accounts that have a source and are not left alone at the moment."""
        wishes = controls.of(self.store, names)
        made = quotas.attempts(self.store, names)
        return [
            name
            for name in names
            if not wishes[name].disabled
            and not self._is_resting(made[name], insist=False)
            and (self.source(name) is not None or self._codex_root(name) is not None)
        ]

    def _repair_topology(self, names: Sequence[str]) -> tuple[RefreshResult, ...]:
        now = self.clock.now()
        states = quotas.states(self.store, names)
        expected = count_expected_windows(states.values(), now)
        due = [
            name for name in self._readable(names) if topology_probe_due(states[name], expected, now, has_source=True)
        ]
        try:
            for name in due:
                quotas.mark_topology_probe(self.store, name, now)
        except StoreUnusable:
            return ()  # no probe that would not be remembered: it would come again with every choice
        return self.refresh(due, RefreshOptions())

    def _in_thread(self, name: str, wish: RefreshOptions, stopped: Event) -> RefreshResult:
        try:
            return self._refresh(name, wish, stopped)
        finally:
            self.store.close()  # this thread's connection

    def _refresh(self, name: str, wish: RefreshOptions, stopped: Event) -> RefreshResult:
        command = self.source(name, derive=wish.derive)
        account = self.accounts.get(name)
        if command is None and (
            not wish.derive or account is None or not has_source(account, self.scripts.get(name), self.home)
        ):
            text = None if account is None or not wish.derive else explain_absence(account, self.home)
            return RefreshResult(name, Kind.NO_SCRIPT, text=text)
        if controls.of(self.store, (name,))[name].disabled:
            return RefreshResult(name, Kind.DISABLED)
        from oulipoly_engine.process.lock import try_lock  # noqa: PLC0415 - as in `refresh`

        try:
            with try_lock(self.locks / f"{name}.lock") as is_ours:
                if not is_ours:
                    return RefreshResult(name, Kind.IN_FLIGHT)
                return self._reason_to_skip(name, wish) or self._read(name, command, stopped)
        except OSError as error:
            text = f"it cannot be read: {error.strerror or error}; check the rights of {self.locks}"
            return RefreshResult(name, Kind.FAILED, text=text)

    def _reason_to_skip(self, name: str, wish: RefreshOptions) -> RefreshResult | None:
        """Say why not to read after all. Asked under the lock: another process may just have tried."""
        made = quotas.attempts(self.store, (name,))[name]
        if made.backoff_until is not None and self._is_resting(made, insist=wish.insist):
            text = f"left alone until {to_text(made.backoff_until)[:19]}Z after: {made.last_failure}"
            return self._add_older(RefreshResult(name, Kind.BACKING_OFF, text=text), self.clock.now())
        if wish.unless_since is not None and made.last_attempt_at is not None:
            now = self.clock.now()
            if wish.unless_since < made.last_attempt_at <= now:
                return RefreshResult(name, Kind.IN_FLIGHT)
        return None

    def _is_resting(self, made: quotas.Attempts, *, insist: bool) -> bool:
        now = self.clock.now()
        if made.backoff_until is None or made.backoff_until <= now:
            return False
        if made.last_attempt_at is not None and made.last_attempt_at > now + CLOCK_TOLERANCE:
            return False  # the clock went back: the pause was measured on another one
        return not insist or "HTTP 429" in (made.last_failure or "")

    def _read(self, name: str, command: str | None, stopped: Event) -> RefreshResult:
        from oulipoly_engine.service.quota.look import Looker  # noqa: PLC0415 - 10 ms, and most readings are young enough

        looker = Looker(self.store, self.clock, self.home, self.environ, self.timeout_s)
        root = self._codex_root(name)
        look, duration_s = looker.look_at(self.accounts[name], command, root, stopped)
        if look.failure is not None and stopped.is_set():  # our own doing
            return RefreshResult(name, Kind.FAILED, text=look.failure, duration_s=duration_s)
        return self._add_older(self._keep(looker, look, duration_s), look.at)

    def _keep(self, looker: Looker, look: ReadAttempt, duration_s: float) -> RefreshResult:
        """Store a look and say what came of it: a script that fails has failed, whatever stands in for its answer."""
        windows = () if look.reading is None else look.reading.windows
        kind = Kind.NO_SCRIPT if look.reading is None else Kind.UPDATED
        text = look.failure
        try:
            looker.keep(look)
        except StoreUnusable as error:
            kind = Kind.FAILED if look.reading is None else Kind.NOT_STORED
            text = text or error.message
        return RefreshResult(look.account, kind if look.failure is None else Kind.FAILED, windows, text, duration_s)

    def _add_older(self, result: RefreshResult, now: datetime) -> RefreshResult:
        """Add to a failure the windows that still run of what Codex has noted earlier, and say how old they are."""
        if result.kind not in (Kind.FAILED, Kind.BACKING_OFF) or self._codex_root(result.account) is None:
            return result
        state = quotas.states(self.store, (result.account,))[result.account]
        live = tuple(window for window in state.windows if window.resets_at > now)
        windows = result.windows or tuple(
            ParsedWindow(window.position, window.used, window.resets_at, window.label) for window in live
        )
        if state.refreshed_at is None or not windows:
            return result
        text = f"{result.text}; what was known at {to_text(state.refreshed_at)[:19]}Z is used instead"
        return replace(result, windows=windows, text=text)

    def _codex_root(self, name: str) -> str | None:
        account = self.accounts.get(name)
        return None if account is None else codex_sessions_root(account, self.scripts.get(name))
