"""The immutable value that the app draws, and its making: only what changed is read again.

A part is kept as long as its sources are the same: configuration until a file changes, a window's forecast until its
account is read again or a minute has passed. What is left is small enough to be read whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path

from oulipoly_engine.clock import to_text
from oulipoly_engine.config.base.problem import Level, Problem
from oulipoly_engine.core.accounts.accounts import Account, Controls, Model, PoolMember
from oulipoly_engine.core.balance.decision import Decision
from oulipoly_engine.core.balance.explain import exclusion_text
from oulipoly_engine.core.balance.what_if import Supposition, suppose
from oulipoly_engine.core.checks.alerts import Alert, Severity, of_risk, of_window
from oulipoly_engine.core.checks.disks import of_disk
from oulipoly_engine.core.quota.alerts import alerts
from oulipoly_engine.core.quota.staleness import is_reading_due, is_shown_as_old
from oulipoly_engine.core.quota.windows import DEFAULT_THRESHOLD, QuotaState, mark_holds
from oulipoly_engine.core.runs.invocations import Category, Invocation
from oulipoly_engine.core.runs.recovery import fix_of
from oulipoly_engine.core.sessions.saved_view import SavedView
from oulipoly_engine.core.text.quantities import percent
from oulipoly_engine.paths import Paths
from oulipoly_engine.process.liveness import is_alive
from oulipoly_engine.records import Record, field, replace
from oulipoly_engine.service.accounts.configuration import Configured
from oulipoly_engine.service.archive.expiring import RiskWatch
from oulipoly_engine.service.checks.disks import look_at_disks
from oulipoly_engine.service.quota.choose import candidates, decide_among
from oulipoly_engine.service.quota.forecasting import WindowForecast, forecasts
from oulipoly_engine.service.quota.source import has_source
from oulipoly_engine.service.runs import orphans
from oulipoly_engine.service.runs.orphans import Orphan
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.quota import alerts as raised_alerts
from oulipoly_engine.store.quota import controls, quotas
from oulipoly_engine.store.quota.quotas import Attempts
from oulipoly_engine.store.runs import activity
from oulipoly_engine.store.runs.activity import Failure
from oulipoly_engine.store.worktrees.worktrees import list_repositories

_FORECAST_AGE = timedelta(minutes=1)
_FAILURE_AGE = timedelta(hours=6)  # after that nobody waits for its fix


USE_UNKNOWN = 2.0  # above the share of any window
CANNOT_SERVE = 3.0


class AccountView(Record):
    """One account as it stands."""

    name: str
    account: Account | None  # None: a pool names it, but providers.toml does not
    quota: QuotaState
    wishes: Controls = field(default_factory=Controls)
    attempts: Attempts = field(default_factory=Attempts)
    has_source: bool = False  # its quota can be read at all
    uses_key: bool = False  # it has an API key, whose quota nobody tells
    is_stale: bool = True  # too old to be shown as present
    is_due: bool = False  # whoever shows it should read it again now
    is_exhausted: bool = False
    forecasts: tuple[WindowForecast, ...] = ()  # by window, in the reading's order
    running: tuple[Invocation, ...] = ()

    def describe_use(self, now: datetime) -> tuple[float, str]:
        """Return the share that is used of its fullest window, and the same in words.

        2 where it is unknown, 3 where the account cannot serve.
        """
        if self.is_exhausted or self.wishes.disabled or self.wishes.drained:
            return CANNOT_SERVE, "exhausted" if self.is_exhausted else self.wishes.words
        current = [window for window in self.quota.windows if window.resets_at > now]
        if not current:
            return USE_UNKNOWN, "unknown"
        fullest = max(current, key=lambda window: window.used)
        return fullest.used, f"{fullest.name} {percent(fullest.used)} used"


class PoolView(Record):
    """One model's pool, and the choice that its next invocation would get."""

    model: Model
    decision: Decision
    pin: str | None = None  # the account that the user wants for the next picks in the app

    @property
    def next_account(self) -> str | None:
        """Return who serves next; None: nobody can."""
        return self.decision.account

    def member(self, index: int) -> PoolMember:
        """Return a member by its place in the model's file."""
        return next(member for member in self.model.members if member.index == index)


class Snapshot(Record):
    """Everything that the app draws, at one instant."""

    at: datetime
    accounts: tuple[AccountView, ...] = ()
    pools: tuple[PoolView, ...] = ()
    running: tuple[Invocation, ...] = ()  # newest first, those whose process lives
    is_asked: bool = False  # a live session waits for an answer, if its process lives
    alerts: tuple[Alert, ...] = ()  # what is wrong, then windows, then sessions at risk
    store_failure: str | None = None  # then everything else is as last read, or empty
    stored_at: datetime | None = None  # when the state file was last read well
    views: tuple[SavedView, ...] = ()  # of the list of sessions
    orphans: tuple[Orphan, ...] = ()  # CLIs that run on although what ran them was killed
    header: str = ""  # template of the app's first line; empty: the app's own
    max_running: int = 0  # sessions with a worktree of their own that may run at once; 0: any number

    @property
    def problems(self) -> tuple[Alert, ...]:
        """Return what is wrong."""
        return tuple(alert for alert in self.alerts if alert.kind not in ("window", "at-risk"))

    @property
    def stand_ins(self) -> tuple[Alert, ...]:
        """Return what is wrong with the files for which an earlier reading stands in."""
        return tuple(alert for alert in self.alerts if alert.since is not None)

    def alerts_of(self, kind: str) -> tuple[Alert, ...]:
        """Return the alerts of a kind."""
        return tuple(alert for alert in self.alerts if alert.kind == kind)

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing is configured at all."""
        return not self.accounts and not self.pools

    def account(self, name: str) -> AccountView | None:
        """Return an account by its name."""
        return next((view for view in self.accounts if view.name == name), None)

    def pool(self, model: str) -> PoolView | None:
        """Return a pool by its model."""
        return next((view for view in self.pools if view.model.name == model), None)


class SnapshotMaker(Record, frozen=False):
    """Makes one snapshot after the other. For one thread at a time."""

    threshold: float = DEFAULT_THRESHOLD
    home: Path | None = None  # what `~` stands for; None: the user's
    paths: Paths | None = None  # where lost runs leave their results; None: they are not to be closed
    _forecasts: dict[str, tuple[datetime | None, datetime, tuple[WindowForecast, ...]]] = field(default_factory=dict)
    _last: Snapshot | None = None
    _began_at: datetime | None = None  # what was read before is read again: others may have used it meanwhile
    data: Path | None = None  # where we write: whether its disk is nearly full is told; None: nobody asks
    _risks: RiskWatch = field(default_factory=RiskWatch)

    def make(self, store: Store, configured: Configured, pins: Mapping[str, str], now: datetime) -> Snapshot:
        """Return the snapshot of this instant. Raises StoreUnusable."""
        names = _names(configured)
        left = orphans.find(store) if self.paths is None else orphans.close_lost(store, now, self.paths)
        running = tuple(row for row in activity.find_running(store) if row.owner_pid is None or is_alive(row.owner_pid))
        states, wishes = quotas.states(store, names), controls.of(store, names)
        made = quotas.attempts(store, names)
        self._began_at = self._began_at or now
        ended = activity.find_last_ends(store)
        home = self.home or Path.home()
        sources = {name for name in names if _has_source(configured, name, home)}
        keyed = _find_keyed(configured.accounts, sources, home)
        accounts = tuple(
            AccountView(
                name=name,
                account=configured.accounts.get(name),
                quota=states[name],
                wishes=wishes[name],
                attempts=made[name],
                has_source=name in sources,
                uses_key=name in keyed,
                is_stale=is_shown_as_old(states[name], now),
                is_due=name in sources
                and _is_due(
                    states[name],
                    wishes[name],
                    made[name],
                    now,
                    is_busy=any(row.account == name for row in running),
                    used_at=max(self._began_at, ended.get(name, self._began_at)),
                ),
                is_exhausted=mark_holds(states[name], now),
                forecasts=self._find_forecasts(store, states[name], now),
                running=tuple(row for row in running if row.account == name),
            )
            for name in names
        )
        raised = raised_alerts.find_raised(store, now, self.threshold)
        pools = tuple(_pool(store, model, configured, pins, now) for model in configured.models.values())
        risks = self._risks.look(store, configured, self.home or Path.home(), now)
        found = (
            *_of_store(store),
            *self._of_disks(list_repositories(store)),
            *_of_files(configured),
            *(_of_orphan(one) for one in left),
            *(alert for view in accounts for alert in _of_account(view)),
            *(_of_run(failure) for failure in activity.failures(store) if _is_news(failure, accounts, now)),
            *(alert for view in accounts for alert in self._of_windows(view, raised.get(view.name, ()), now)),
            *(of_risk(risk.account, risk.count, risk.chain_id, risk.due, now) for risk in risks),
        )
        self._last = Snapshot(
            now,
            accounts,
            pools,
            running,
            activity.is_asked(store),
            found,
            stored_at=now,
            views=configured.views,
            max_running=configured.settings.work_max_running,
            orphans=left,
            header=configured.header,
        )
        return self._last

    def without_store(self, configured: Configured, failure: str, now: datetime) -> Snapshot:
        """Return the last good snapshot, or an empty one, saying that the state file cannot be read."""
        base = self._last or Snapshot(
            now,
            tuple(AccountView(name, configured.accounts.get(name), QuotaState(name)) for name in _names(configured)),
        )
        fix = "do what it says; the last good data stays shown, with its age"
        broken = Alert("state", failure, fix=fix, severity=Severity.ERROR)
        others = (alert for alert in base.alerts if alert.kind in ("window", "at-risk"))
        known = (broken, *self._of_disks(), *_of_files(configured), *others)
        return replace(base, at=now, alerts=known, store_failure=failure)

    def _find_forecasts(self, store: Store, state: QuotaState, now: datetime) -> tuple[WindowForecast, ...]:
        kept = self._forecasts.get(state.account)
        if kept is not None and kept[0] == state.refreshed_at and timedelta(0) <= now - kept[1] < _FORECAST_AGE:
            return kept[2]
        found = forecasts(store, (state.account,), now)
        self._forecasts[state.account] = (state.refreshed_at, now, found)
        return found

    def _of_disks(self, repositories: tuple[str, ...] = ()) -> Iterator[Alert]:
        if self.data is not None:
            folders = (self.data, self.home or Path.home(), *map(Path, repositories))
            yield from filter(None, map(of_disk, look_at_disks(folders)))

    def _of_windows(self, view: AccountView, raised: Collection[tuple[str, str]], now: datetime) -> Iterator[Alert]:
        if not view.wishes.disabled:
            expected = {one.window.name: one.forecast for one in view.forecasts}
            yield from map(of_window, alerts(view.quota, expected, now, self.threshold, raised))


def _is_due(  # noqa: PLR0913, RUF100 - what is known of one account
    state: QuotaState, wishes: Controls, made: Attempts, now: datetime, *, is_busy: bool, used_at: datetime
) -> bool:
    is_resting = made.backoff_until is not None and made.backoff_until > now
    return not (wishes.disabled or is_resting) and is_reading_due(
        state,
        now,
        attempted_at=made.last_attempt_at,
        is_failing=made.last_failure is not None,
        is_busy=is_busy,
        used_at=used_at,
    )


def _of_store(store: Store) -> Iterator[Alert]:
    if store.refusal is not None:
        fix = "what is stored is shown; nothing new is read or kept"
        yield Alert("state", store.refusal.message, fix=fix, severity=Severity.ERROR)


def _decision_with(
    store: Store, model: Model, configured: Configured, suppositions: tuple[Supposition, ...], now: datetime
) -> Decision:
    """Return the choice that a pool would make if something were so; nothing is changed."""
    pool = suppose(candidates(store, model, now, configured.accounts), suppositions)
    return decide_among(store, model, pool, configured.settings, now)


def _pool(store: Store, model: Model, configured: Configured, pins: Mapping[str, str], now: datetime) -> PoolView:
    """Judge a pool; a pin lets its account alone take part, while the others keep their numbers."""
    decision = _decision_with(store, model, configured, (), now)
    pin = pins.get(model.name)
    if pin is None:
        return PoolView(model, decision)
    alone = _decision_with(store, model, configured, (Supposition("pin", pin),), now)
    if alone.account is None:
        why = "; ".join(exclusion_text(verdict) for verdict in alone.verdicts) or "is not of this pool"
        error = f"{pin} is pinned for this app's next picks, and {why}"
        return PoolView(model, replace(decision, index=None, account=None, reason=error, error=error), pin)
    reason = f"{alone.account} is pinned for this app's next picks"
    return PoolView(model, replace(decision, index=alone.index, account=alone.account, reason=reason, error=None), pin)


def _names(configured: Configured) -> tuple[str, ...]:
    pooled = (member.account for model in configured.models.values() for member in model.members)
    return tuple(dict.fromkeys((*configured.accounts, *pooled)))


def _find_keyed(accounts: Mapping[str, Account], sources: Collection[str], home: Path) -> set[str]:
    """Return the accounts with an API key whose quota nobody tells."""
    others = {name: one for name, one in accounts.items() if name not in sources}
    if not others:
        return set()
    from oulipoly_engine.service.accounts.api_keys import uses_api_key  # noqa: PLC0415 - most accounts have a source

    return {name for name, one in others.items() if uses_api_key(one, home)}


def _has_source(configured: Configured, name: str, home: Path) -> bool:
    account = configured.accounts.get(name)
    return account is not None and has_source(account, configured.scripts.get(name), home)


def _of_files(configured: Configured) -> Iterator[Alert]:
    for problem in configured.problems:
        yield _of_file(problem, configured.stood_in_at if problem in configured.broken else None)


def _of_file(problem: Problem, stood_in_at: datetime | None) -> Alert:
    from oulipoly_engine.core.text.redact import redact  # noqa: PLC0415 - 2 ms, mostly nothing is wrong

    place = f"{problem.file}:{problem.line}" if problem.line is not None else str(problem.file)
    key = f"{problem.key}: " if problem.key else ""
    severity = Severity.ERROR if problem.level is Level.ERROR else Severity.NOTE
    text = redact(f"{key}{problem.message}")
    return Alert("configuration", text, "", redact(problem.fix), place, text, severity, stood_in_at)


def _is_news(failure: Failure, accounts: tuple[AccountView, ...], now: datetime) -> bool:
    """Tell whether a failure is worth a line: not long ago, not what the user did, not a mark that is gone."""
    view = next((one for one in accounts if one.name == failure.account), None)
    if view is None or now - failure.finished_at >= _FAILURE_AGE:
        return False
    is_over = failure.category == Category.QUOTA_EXHAUSTED and not view.is_exhausted
    return not is_over and not (failure.reason or "").startswith("interrupted")


def _of_orphan(orphan: Orphan) -> Alert:
    fix = f"`:run end {orphan.uuid[:8]}` ends it; left alone, what it does is found in its session"
    return Alert("run", orphan.text, "", fix, orphan.account, orphan.uuid, Severity.ERROR)


def _of_run(failure: Failure) -> Alert:
    said = failure.text or failure.reason or "without a word"
    text = f"the last run of {failure.model} failed ({failure.category or failure.reason or 'unknown'}): {said}"
    fix = fix_of(failure.category, failure.reason, account=failure.account, run=failure.uuid[:8])
    return Alert("run", text, "", fix, failure.account, failure.uuid, Severity.NOTE)


def _of_account(view: AccountView) -> tuple[Alert, ...]:
    """Say what keeps an account's quota from being known; a login that is over wants the user."""
    if view.wishes.disabled or view.uses_key:
        return ()
    if view.attempts.last_failure is not None:
        fix, kind, severity = "press u on it in Pools to read it again", "quota", Severity.NOTE
        from oulipoly_engine.core.runs.vendor_text import means_login_is_over  # noqa: PLC0415 - its patterns, only for a failure

        if means_login_is_over(view.attempts.last_failure):
            fix = f"{fix_of(Category.AUTH_EXPIRED, account=view.name)}; then {fix}"
            kind = "login"
            severity = Severity.WARNING
        if view.attempts.backoff_until is not None:
            until = to_text(view.attempts.backoff_until)[:16]
            fix = f"left alone until {until}Z; {fix} at once"
        return (Alert(kind, view.attempts.last_failure, "", fix, view.name, severity=severity),)
    if not view.has_source and view.account is not None:
        text = "no quota script is known, so calls are counted instead"
        fix = "add `quota_script` to its entry"
        return (Alert("quota", text, "", fix, view.name, severity=Severity.NOTE),)
    return ()
