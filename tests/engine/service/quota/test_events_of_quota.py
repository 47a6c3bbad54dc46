"""What the quota services publish: each reading, and each alert once."""

from datetime import timedelta

from oulipoly_engine.core.quota.alerts import WindowAlert
from oulipoly_engine.events import AlertRaised, QuotaRefreshed
from oulipoly_engine.service.quota.alerts import raise_alerts
from oulipoly_engine.store.quota.alerts import find_raised, raise_once


def test_every_reading_is_published_with_what_came_of_it(quota):
    told = []
    quota.listeners.subscribe(told.append)
    quota.answers("good", quota.windows(30))
    quota.answers("bad", "exit 3")

    quota.refresh("good", "bad")

    now = quota.clock.now()
    assert {("good", "updated"), ("bad", "failed")} == {(event.account, event.outcome) for event in told}
    assert {QuotaRefreshed} == {type(event) for event in told}
    assert {now} == {event.at for event in told}


def test_an_alert_is_published_once_in_a_cycle_whoever_asks(quota):
    told = []
    quota.listeners.subscribe(lambda event: told.append(event) if isinstance(event, AlertRaised) else None)
    quota.answers("spent", quota.windows(95, label="weekly"))
    quota.answers("fresh", quota.windows(5, label="weekly"))
    quota.refresh("spent", "fresh")

    for _ in range(2):
        raise_alerts(quota.store, ("spent", "fresh"), quota.clock.now(), 0.9, quota.listeners)

    assert [("threshold", "spent", "weekly", 0.95)] == [
        (event.kind, event.account, event.window, event.used) for event in told
    ]
    assert "spent weekly is 95 % used" in told[0].text


def test_a_reset_that_moves_along_with_the_clock_is_no_new_cycle(quota):
    told = []
    quota.listeners.subscribe(lambda event: told.append(event) if isinstance(event, AlertRaised) else None)
    quota.answers("a", *(quota.windows(95, hours=5 + step / 6, label="5h") for step in range(6)))

    for _ in range(6):
        quota.refresh("a")
        raise_alerts(quota.store, ("a",), quota.clock.now(), 0.9, quota.listeners)
        quota.clock.advance(600)

    assert 1 == len(told)


def test_the_next_cycle_is_news_again(quota):
    told = []
    quota.listeners.subscribe(lambda event: told.append(event) if isinstance(event, AlertRaised) else None)
    quota.answers("a", quota.windows(95, hours=1), quota.windows(95, hours=6))

    for _ in range(2):
        quota.refresh("a")
        raise_alerts(quota.store, ("a",), quota.clock.now(), 0.9, quota.listeners)

    assert ["threshold", "threshold"] == [event.kind for event in told]


def test_who_was_told_that_a_window_runs_out_is_not_told_that_it_is_on_its_way(quota):
    now, resets_at = quota.clock.now(), quota.clock.now() + timedelta(hours=5)
    soon = now + timedelta(hours=1)
    forecast = WindowAlert("forecast", "a", "5h", 0.5, resets_at, soon)
    on_its_way, by_other_ways = (
        WindowAlert("threshold", "a", "5h", 0.91, resets_at, dry_at) for dry_at in (soon, None)
    )

    assert (forecast,) == raise_once(quota.store, [forecast], now)
    assert () == raise_once(quota.store, [on_its_way], now)
    assert {"a": {("5h", "forecast")}} == find_raised(quota.store, now)
    assert (by_other_ways,) == raise_once(quota.store, [by_other_ways], now)
    assert {} == find_raised(quota.store, resets_at)
