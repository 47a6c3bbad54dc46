"""Reading quota: what is learned, kept and left alone."""

import shlex
import sys
from datetime import timedelta

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.accounts.accounts import Controls
from oulipoly_engine.core.quota.window_cycles import EndedCycle
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.service.quota.refresh import Kind, RefreshOptions
from oulipoly_engine.store.quota import controls, quotas, readings

EMPTY = "echo '{\"windows\": []}'"


def ingest(store, account, at, count):
    with store.write():
        for number in range(count):
            store.insert(
                "session_turns",
                provider_name=account,
                session_id="s",
                turn_id=f"{at}-{number}",
                timestamp=at,
                role="assistant",
                ingested_at=at,
            )


def test_a_reading_is_stored_and_shown(quota):
    quota.answers("a", quota.windows(30, 55))
    result = quota.refresh("a")

    assert (Kind.UPDATED, [0.3, 0.55], None) == (result.kind, [window.used for window in result.windows], result.text)
    assert [0.3, 0.55] == [window.used for window in quota.state("a").windows]
    assert (quota.clock.now(), 2) == (quota.state("a").refreshed_at, quota.state("a").peak_live_windows)


def test_results_come_in_the_order_of_the_names_and_are_told_as_they_end(quota):
    quota.answers("slow", f"sleep 0.4; {quota.windows(1)}")
    quota.answers("quick", quota.windows(2))
    told = []
    found = quota.refresher().refresh(
        ("slow", "quick", "slow"), RefreshOptions(), lambda done: told.append(done.account)
    )

    assert ["slow", "quick"] == [result.account for result in found]
    assert ["quick", "slow"] == told
    assert 1 == quota.calls("slow")


def test_an_account_without_a_source_is_left_alone(quota):
    quota.account("a")
    quota.account("blank", quota_script="  ")

    assert [Kind.NO_SCRIPT] * 3 == [result.kind for result in quota.refresh("a", "blank", "unknown")]
    assert Kind.NO_SCRIPT is quota.refresh("blank", derive=False).kind
    assert () == quota.refresher().refresh((), RefreshOptions())


def test_a_disabled_account_is_never_read(quota):
    quota.answers("a", quota.windows(30))
    controls.save(quota.store, "a", Controls(disabled=True), quota.clock.now())

    assert Kind.DISABLED is quota.refresh("a", insist=True).kind
    assert () == quota.refresher().refresh_stale(("a",), 30)
    assert 0 == quota.calls("a")


def test_a_script_sees_the_accounts_own_environment(quota):
    quota.environ |= {"KEPT": "5", "TAKEN": "1"}
    body = quota.windows(12345).replace("12345", "'\"$KEPT$OWN${TAKEN:+9}\"'")
    quota.answers("a", body, environment={"OWN": "7"}, unset_environment=("TAKEN",))

    assert [0.57] == [window.used for window in quota.refresh("a").windows]


def test_every_reading_is_appended_to_the_history(quota):
    quota.answers("a", quota.windows(30, label="weekly"), quota.windows(31, label="weekly"))
    quota.refresh("a")
    quota.clock.advance(60)
    quota.refresh("a")

    assert {"weekly": [30, 31]} == quota.history("a")
    rows = quota.rows("SELECT source, duration_ms FROM readings")
    assert ["script"] * 2 == [row[0] for row in rows]
    assert all(0 < row[1] < 10_000 for row in rows)


def test_a_rate_is_learned_from_the_turns_between_two_readings(quota):
    quota.answers("a", quota.windows(30), quota.windows(40))
    quota.refresh("a")
    quota.clock.advance(60)
    ingest(quota.store, "a", "2026-11-20T12:00:30.000000Z", 25)
    quota.refresh("a")

    window = quota.state("a").windows[0]
    assert (pytest.approx(0.1), 25) == (window.last_delta, window.last_delta_turns)
    assert [25] == [row[0] for row in quota.rows("SELECT turns FROM readings WHERE turns > 0")]


@pytest.mark.parametrize("ingested", [0, 3])
def test_our_own_calls_stand_in_where_not_all_turns_were_ingested(quota, ingested):
    quota.answers("a", quota.windows(30), quota.windows(40))
    quota.refresh("a")
    for _ in range(22):
        with quota.store.write():
            quotas.count_call(quota.store, "a")
    quota.clock.advance(60)
    ingest(quota.store, "a", "2026-11-20T12:00:30.000000Z", ingested)
    quota.refresh("a")

    assert (22, 0) == (quota.state("a").windows[0].last_delta_turns, quota.state("a").calls_since_refresh)
    assert [22] == [row[0] for row in quota.rows("SELECT turns FROM readings WHERE turns > 0")]


def test_an_empty_answer_keeps_windows_mark_and_age(quota):
    quota.answers("a", quota.windows(30), EMPTY)
    quota.refresh("a")
    read_at = quota.clock.now()
    quotas.mark_exhausted(quota.store, "a", read_at)
    quota.clock.advance(60)
    result = quota.refresh("a")

    after = quota.state("a")
    assert (Kind.UPDATED, ()) == (result.kind, result.windows)
    assert (0.3, read_at, read_at, quota.clock.now()) == (
        after.windows[0].used,
        after.refreshed_at,
        after.exhausted_at,
        after.last_empty_refresh_at,
    )
    assert {"window-0": [30]} == quota.history("a")


def test_a_first_contact_that_is_empty_counts_as_a_refresh(quota):
    quota.answers("a", EMPTY)
    quota.refresh("a")

    assert ((), quota.clock.now()) == (quota.state("a").windows, quota.state("a").refreshed_at)


def test_a_good_reading_takes_the_mark_off(quota):
    quota.answers("a", quota.windows(30))
    quotas.mark_exhausted(quota.store, "a", quota.clock.now() - timedelta(minutes=1))
    quota.refresh("a")

    assert quota.state("a").exhausted_at is None


def test_a_mark_from_the_future_is_a_clocks_error_and_goes(quota):
    quota.answers("a", quota.windows(30))
    quotas.mark_exhausted(quota.store, "a", quota.clock.now() + timedelta(days=3))
    quota.refresh("a")

    assert quota.state("a").exhausted_at is None


def test_what_was_left_at_a_reset_is_recorded(quota):
    quota.answers("a", quota.windows(70, label="5h"), quota.windows(1, hours=11, label="5h"))
    read = quota.clock.now()
    reset = read + timedelta(hours=5)
    quota.refresh("a")
    quota.clock.advance(6 * 3600)
    quota.refresh("a")

    assert (EndedCycle("5h", reset, pytest.approx(0.3), read),) == readings.find_unused_quota(quota.store, "a", reset)


def test_old_readings_are_thinned_as_new_ones_come(quota):
    quota.answers("a", quota.windows(1))
    reset = quota.clock.now() + timedelta(hours=1)
    with quota.store.write():
        for minute in (1, 2, 3):
            at = quota.clock.now() - timedelta(days=3) + timedelta(minutes=minute)
            readings.append(quota.store, "a", [Window(0, minute / 100, reset)], at, source="script")
    quota.refresh("a")

    assert {"window-0": [3, 1]} == quota.history("a")


def test_a_clock_that_jumps_back_does_not_stop_the_reading(quota):
    quota.answers("a", quota.windows(30), quota.windows(40), "exit 1", quota.windows(50))
    quota.refresh("a")
    quota.clock.jump(-86_400)

    assert [Kind.UPDATED] == [result.kind for result in quota.refresher().refresh_stale(("a",), 30)]
    assert (0.4, quota.clock.now()) == (quota.state("a").windows[0].used, quota.state("a").refreshed_at)
    quota.refresh("a")
    quota.clock.jump(-86_400)
    assert Kind.UPDATED is quota.refresh("a").kind


def test_only_what_is_too_old_is_read_before_a_choice(quota):
    quota.answers("old", quota.windows(10))
    quota.answers("new", quota.windows(20))
    quota.refresh("old")
    quota.clock.advance(20)
    quota.refresh("new")
    quota.clock.advance(11)
    found = quota.refresher().refresh_stale(("old", "new"), 30)

    assert ["old"] == [result.account for result in found]
    assert (2, 1) == (quota.calls("old"), quota.calls("new"))


def seed(quota, name, *windows, **more):
    with quota.store.write():
        state = QuotaState(name, windows, refreshed_at=quota.clock.now(), peak_live_windows=len(windows), **more)
        quotas.save(quota.store, state)


def live(quota, position=0, used=0.2):
    return Window(position, used, quota.clock.now() + timedelta(hours=5))


def test_an_account_that_hides_a_window_is_read_once_more_an_hour(quota):
    quota.answers("a", quota.windows(10))
    seed(quota, "a", live(quota))
    seed(quota, "b", live(quota), live(quota, 1))
    kinds = [result.kind for result in quota.refresher().refresh_stale(("a", "b"), 30)]
    quota.refresher().refresh_stale(("a", "b"), 30)

    assert ([Kind.UPDATED], 1, quota.clock.now()) == (kinds, quota.calls("a"), quota.state("a").last_topology_probe_at)
    quota.clock.advance(3600)
    quota.refresher().refresh_stale(("a",), 1e9)
    assert 1 == quota.calls("a")
    quota.refresher().refresh_stale(("a", "b"), 1e9)
    assert 2 == quota.calls("a")


def test_a_probe_is_noted_before_it_runs(quota):
    look = "import sqlite3, sys; row = sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone(); print(row[0])"
    sql = "SELECT last_topology_probe_at FROM account_quotas WHERE account = 'a'"
    call = shlex.join([sys.executable, "-c", look, str(quota.folder / "state.db"), sql])
    quota.answers("a", f"{call} > {quota.folder}/seen; exit 1")
    seed(quota, "a", live(quota))
    seed(quota, "b", live(quota), live(quota, 1))
    quota.refresher().refresh_stale(("a", "b"), 30)

    assert to_text(quota.clock.now()) == (quota.folder / "seen").read_text().strip()


def test_the_adapter_that_fits_the_sessions_folder_is_derived(quota):
    quota.codex("a", quota.folder / "codex" / "sessions")
    result = quota.refresh("a")

    assert Kind.FAILED is result.kind
    assert "chatgpt-usage" in result.text
    assert "codex/auth.json" in result.text
    assert Kind.NO_SCRIPT is quota.refresh("a", derive=False).kind
