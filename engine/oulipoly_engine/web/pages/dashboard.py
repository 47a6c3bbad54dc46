"""The first page: what needs a person, the sessions, the pools with their quota."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from starlette.responses import Response
from starlette.routing import BaseRoute

from oulipoly_engine.facade.snapshot import AccountView, PoolView, Snapshot
from oulipoly_engine.records import Record
from oulipoly_engine.web.pages.page import Page, get
from oulipoly_engine.web.pages.requests import cards
from oulipoly_engine.web.pages.sessions import sort_for_person
from oulipoly_engine.web.pages.words import ORDER, standing_of

_MOST_CARDS, _MOST_SESSIONS, _MOST_POOLS, _MOST_ALERTS = 3, 6, 12, 5


class WindowBar(Record):
    """A window of an account's quota."""

    name: str
    used: float
    resets_at: datetime


class AccountBar(Record):
    """An account as a pool's line shows it."""

    name: str
    note: str  # exhausted, drained, disabled; empty: it takes part
    windows: tuple[WindowBar, ...]
    is_old: bool
    is_next: bool


class PoolBar(Record):
    """A pool."""

    name: str
    next_account: str | None
    reason: str
    accounts: tuple[AccountBar, ...]


def routes() -> list[BaseRoute]:
    """Return the routes of this module."""
    return [get("/", _show)]


def _show(page: Page) -> Response:
    snapshot = page.engine.snapshot()
    works = page.engine.work.list(100)
    counts = Counter(standing_of(work).word for work in works)
    waiting = page.engine.live.requests()
    shown, _ = cards(page, waiting[:_MOST_CARDS], 14_000)
    return page.show(
        "dashboard.html",
        cards=shown,
        more=len(waiting) - len(shown),
        waiting=len(waiting),
        counts=[(word, counts[word]) for word in ORDER if counts[word]],
        rows=[(work, standing_of(work)) for work in sort_for_person(works)[:_MOST_SESSIONS]],
        pools=[pool_bar(one, snapshot) for one in snapshot.pools[:_MOST_POOLS]],
        pools_more=max(0, len(snapshot.pools) - _MOST_POOLS),
        alerts=snapshot.alerts[:_MOST_ALERTS],
        alerts_more=max(0, len(snapshot.alerts) - _MOST_ALERTS),
        now=snapshot.at,
        is_told=page.engine.web.push.is_on(page.viewer.device_id),
        back="/",
    )


def pool_bar(view: PoolView, snapshot: Snapshot) -> PoolBar:
    """Return a pool as the page shows it."""
    names = dict.fromkeys(member.account for member in view.model.members)
    found = [account for name in names if (account := snapshot.account(name)) is not None]
    bars = tuple(_account_bar(one, is_next=one.name == view.next_account) for one in found)
    reason = view.decision.reason if view.next_account else view.decision.error or view.decision.reason
    return PoolBar(view.model.name, view.next_account, reason or "", bars)


def _account_bar(view: AccountView, *, is_next: bool) -> AccountBar:
    note = "exhausted" if view.is_exhausted else "drained" if view.wishes.drained else ""
    note = "disabled" if view.wishes.disabled else note
    windows = tuple(WindowBar(one.name, one.used, one.resets_at) for one in view.quota.windows)
    return AccountBar(view.name, note, windows, view.is_stale, is_next)
