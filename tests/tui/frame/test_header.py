"""The header: what it shows at which width, and how old that is."""

from datetime import UTC, datetime, timedelta

from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.facade.snapshot import AccountView, Snapshot
from oulipoly_tui.view.frame.header import header
from oulipoly_tui.view.transcript.spans import plain

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def view(name, used, minutes_ago):
    windows = (Window(0, used, NOW + timedelta(hours=3), label="5h"),)
    state = QuotaState(name, windows, refreshed_at=NOW - timedelta(minutes=minutes_ago))
    return AccountView(name, None, state, has_source=True)


def test_the_age_is_that_of_the_oldest_reading_that_is_shown():
    snapshot = Snapshot(NOW, (view("ada", 0.94, 20), view("bob", 0.1, 1), view("cyd", 0.2, 90)))

    assert plain(header(snapshot, NOW, 100, model=None)).endswith("read 20 m ago ")


def test_the_product_s_name_makes_room_for_the_age():
    snapshot = Snapshot(NOW, (view("ada", 0.94, 20),))
    whole = plain(header(snapshot, NOW, 100, model=None, wants=2))
    narrow = plain(header(snapshot, NOW, len(whole) - 2, model=None, wants=2))

    assert " agents " + "·" + narrow == whole
