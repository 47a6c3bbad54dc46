"""Accounts to choose from: the one with the most room first, with what is used of it."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

from oulipoly_engine.core.accounts.accounts import Controls
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.facade.snapshot import AccountView
from oulipoly_tui.view.frame.room import room_rows
from oulipoly_tui.view.transcript.spans import plain

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def view(name, *used, **more):
    windows = tuple(
        Window(place, share, NOW + timedelta(hours=2 * place - 1), label=f"w{place}")
        for place, share in enumerate(used)
    )
    return AccountView(name, None, QuotaState(name, windows, NOW), **more)


def test_the_most_room_comes_first_and_nothing_is_guessed():
    views = {
        one.name: one
        for one in (
            view("full", 0, 0.94),
            view("spent", 0, 0.2, is_exhausted=True),
            view("calm", 0, 0.12, 0.3),
            view("past", 0.9),  # its window has reset
            view("drained", 0, 0.1, wishes=Controls(drained=True)),
        )
    }
    snapshot = SimpleNamespace(at=NOW, account=views.get)

    found = [" ".join(plain(row.line).split()) for row in room_rows([*views, "new"], snapshot)]

    assert [
        "calm w2 30 % used",
        "full w1 94 % used",
        "past unknown",
        "new unknown",
        "spent exhausted",
        "drained drained",
    ] == found
