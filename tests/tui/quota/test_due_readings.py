"""What the app reads by itself: whatever comes of a reading, no vendor is asked more often than the floor allows."""

from types import SimpleNamespace

from oulipoly_tui import bridge


def test_an_account_that_stays_due_is_read_once_in_the_floors_time(monkeypatch):
    now, asked = [1000.0], []

    def work(_name, read, act, _failed, **_options):
        asked.append((now[0], read.args[0]))
        act(None)  # nothing could be stored, so the account stays due

    app = SimpleNamespace(
        engine=SimpleNamespace(quota=SimpleNamespace(refresh_for_display=print), snapshot=None),
        snapshot=SimpleNamespace(accounts=[SimpleNamespace(name="ann", is_due=True)], at=None),
        options=SimpleNamespace(read_only=False, reads_quota=True),
        work=work,
    )
    monkeypatch.setattr(bridge, "monotonic", lambda: now[0])
    found = bridge.EngineBridge(app, None, None)
    monkeypatch.setattr(found, "take_snapshot", lambda: None)
    for _ in range(25):
        found.read_due_quota()
        now[0] += 5

    assert [(1000.0, ("ann",)), (1060.0, ("ann",)), (1120.0, ("ann",))] == asked
