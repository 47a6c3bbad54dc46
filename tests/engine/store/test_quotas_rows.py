"""Quota rows: states, marks, counters and attempts."""

import subprocess
import sys
import textwrap
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.quota import quotas

NOW = datetime(2026, 11, 20, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "state.db")
    yield opened
    opened.close()


def save(store, *states):
    with store.write():
        for state in states:
            quotas.save(store, state)


def full(name="a"):
    windows = (
        Window(0, 0.123456789, NOW + timedelta(hours=5), 0.25, 40, "weekly"),
        Window(1, 1.0, NOW - timedelta(hours=5)),
    )
    return QuotaState(name, windows, NOW, NOW, NOW, 7, 2, NOW)


def test_a_state_comes_back_as_it_went_in(store):
    save(store, full("a"), full("b"))

    assert {"b": full("b"), "a": full("a"), "c": QuotaState("c")} == quotas.states(store, ("b", "a", "c"))
    assert {} == quotas.states(store, ())


def test_saving_replaces_all_windows(store):
    save(store, full())
    save(store, QuotaState("a", (Window(3, 0.5, NOW),)))

    assert QuotaState("a", (Window(3, 0.5, NOW),)) == quotas.states(store, ("a",))["a"]


def test_a_state_whose_saving_fails_is_the_earlier_one(store):
    save(store, full())

    def half_a_write():
        with store.write():
            quotas.save(store, QuotaState("a"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half_a_write()

    assert full() == quotas.states(store, ("a",))["a"]


def test_a_window_whose_reset_cannot_be_read_is_as_if_never_read(store):
    save(store, full())
    store.execute("UPDATE quota_windows SET resets_at = '1-01-01T00:00:00.000000Z' WHERE position = 0")

    found = quotas.states(store, ("a",))["a"]

    assert [one for one in full().windows if one.position != 0] == list(found.windows)


def test_states_can_be_read_inside_a_transaction(store):
    with store.write():
        quotas.save(store, full())
        assert full() == quotas.states(store, ("a",))["a"]


def test_marks_counters_and_probes_touch_nothing_else(store):
    save(store, full())
    quotas.mark_exhausted(store, "a", NOW + timedelta(hours=1))
    quotas.mark_topology_probe(store, "a", NOW + timedelta(hours=2))
    with store.write():
        quotas.count_call(store, "a")
        quotas.save_attempts(store, "a", quotas.Attempts(NOW))
    after = quotas.states(store, ("a",))["a"]

    assert (8, full().windows, NOW) == (after.calls_since_refresh, after.windows, after.refreshed_at)
    assert NOW + timedelta(hours=1) == after.exhausted_at
    assert NOW + timedelta(hours=2) == after.last_topology_probe_at


def test_marks_and_counters_need_no_row_before(store):
    quotas.mark_exhausted(store, "a", NOW)
    quotas.mark_topology_probe(store, "b", NOW)
    with store.write():
        quotas.count_call(store, "c")
    found = quotas.states(store, ("a", "b", "c"))

    assert (NOW, NOW, 1) == (found["a"].exhausted_at, found["b"].last_topology_probe_at, found["c"].calls_since_refresh)


def test_marks_are_taken_off_those_named_only(store):
    for name in ("a", "b", "c"):
        quotas.mark_exhausted(store, name, NOW)
    quotas.clear_exhausted(store, ("a", "b"))
    quotas.clear_exhausted(store, ())

    assert [None, None, NOW] == [state.exhausted_at for state in quotas.states(store, ("a", "b", "c")).values()]


def test_attempts_come_back_as_they_went_in(store):
    made = quotas.Attempts(NOW, "it failed: 'quoted'\n", 3, NOW + timedelta(minutes=5), NOW - timedelta(days=1))
    with store.write():
        quotas.save_attempts(store, "a", made)

    assert {"a": made, "b": quotas.Attempts()} == quotas.attempts(store, ("a", "b"))
    assert QuotaState("a") == quotas.states(store, ("a",))["a"]


WRITER = textwrap.dedent(
    """
    import sys
    from datetime import UTC, datetime, timedelta
    from pathlib import Path
    from oulipoly_engine.core.quota.windows import QuotaState, Window
    from oulipoly_engine.store.base.db import open_store
    from oulipoly_engine.store.quota import quotas

    store = open_store(Path(sys.argv[1]))
    print("ready", flush=True)
    epoch = datetime(2026, 1, 1, tzinfo=UTC)
    for step in range(400):
        at = epoch + timedelta(seconds=step)
        with store.write():
            quotas.save(store, QuotaState("a", tuple(Window(n, step / 400, at) for n in range(2)), refreshed_at=at))
    """
)


def test_windows_and_their_age_are_read_as_of_one_moment(store, tmp_path):
    command = [sys.executable, "-c", WRITER, tmp_path / "state.db"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        writer.stdout.readline()
        torn = []
        while writer.poll() is None:
            state = quotas.states(store, ("a",))["a"]
            torn += [state for window in state.windows if window.resets_at != state.refreshed_at]

    assert (0, []) == (writer.returncode, torn)
