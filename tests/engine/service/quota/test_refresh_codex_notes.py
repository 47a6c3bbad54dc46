"""What Codex noted in its rollouts: imported into the history, and used where no script answers."""

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.accounts.accounts import StorageSpec
from oulipoly_engine.service.quota import codex_notes
from oulipoly_engine.service.quota.refresh import Kind
from oulipoly_engine.store.quota import quotas, readings


class Rollouts:
    """A sessions folder as Codex writes it; times are minutes before now."""

    def __init__(self, bench):
        self.clock = bench.clock
        self.root = bench.folder / "codex" / "sessions"
        self.root.mkdir(parents=True)

    def write(self, name, *events):
        """Write one rollout: events of (minutes ago, percent of the 5 h window, percent of the week)."""
        path = self.root / "2026" / "11" / "20" / f"rollout-{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(self.event(*event)) + "\n" for event in events))
        stamp = (self.clock.now() - timedelta(minutes=events[-1][0])).timestamp()
        os.utime(path, (stamp, stamp))
        return path

    def event(self, minutes_ago, burst, weekly):
        at = self.clock.now() - timedelta(minutes=minutes_ago)
        limits = {
            "limit_id": "codex",
            "primary": {"used_percent": burst, "window_minutes": 300, "resets_at": at.timestamp() + 7200},
            "secondary": {"used_percent": weekly, "window_minutes": 10080, "resets_at": at.timestamp() + 86_400},
        }
        payload = {"type": "token_count", "info": None, "rate_limits": limits}
        return {"timestamp": to_text(at), "type": "event_msg", "payload": payload}


@pytest.fixture
def rollouts(quota):
    return Rollouts(quota)


def sources(quota):
    return dict(quota.rows("SELECT source, COUNT(*) FROM readings GROUP BY source ORDER BY source"))


def test_a_first_run_has_a_history_already(quota, rollouts):
    rollouts.write("a", (600, 10, 40), (500, 15, 41))
    rollouts.write("b", (90, 20, 42))
    quota.codex("a", rollouts.root, quota.windows(50, label="weekly"))
    quota.refresh("a")

    assert {"5h-burst": [10, 15, 20], "weekly": [40, 41, 42, 50]} == quota.history("a")
    assert {"codex-rollout": 6, "script": 1} == sources(quota)
    assert ["weekly"] == [window.label for window in quota.state("a").windows]


def test_later_looks_take_only_what_is_new(quota, rollouts):
    rollouts.write("a", (90, 10, 40))
    quota.codex("a", rollouts.root, quota.windows(50, label="weekly"))
    quota.refresh("a")
    quota.clock.advance(3600)
    rollouts.write("a", (149, 99, 99))  # not changed since, by its time: nobody opens it
    rollouts.write("b", (10, 30, 43))
    quota.refresh("a")
    quota.refresh("a")

    assert {"5h-burst": [10, 30], "weekly": [40, 50, 43, 50]} == quota.history("a")


def test_a_first_look_goes_back_two_months(quota, rollouts):
    rollouts.write("ancient", (70 * 1440, 10, 40))
    rollouts.write("old", (50 * 1440, 20, 41))
    quota.codex("a", rollouts.root, quota.windows(50, label="other"))
    quota.refresh("a")

    assert [41] == quota.history("a")["weekly"]


def test_the_newest_of_too_many_notes_are_taken(quota, rollouts):
    rollouts.write("many", *((100 - minute, minute, minute) for minute in range(0, 60, 5)))
    found = codex_notes.notes(rollouts.root, None, quota.clock.now(), most=3)

    assert [0.55, 0.5, 0.45] == [note.windows[0].used for note in found]


def test_a_note_stands_in_for_a_script_that_never_worked(quota, rollouts):
    rollouts.write("a", (30, 20, 42))
    quota.codex("a", rollouts.root, "echo 'no login' >&2; exit 3")
    result = quota.refresh("a")

    state = quota.state("a")
    assert (Kind.FAILED, [0.42, 0.2]) == (result.kind, [window.used for window in result.windows])
    assert "no login" in result.text
    assert "2026-11-20T11:30:00Z" in result.text
    assert (["weekly", "5h-burst"], quota.clock.now() - timedelta(minutes=30)) == (
        [window.label for window in state.windows],
        state.refreshed_at,
    )
    assert 1 == quota.attempts("a").failures_in_a_row


def test_a_note_stands_in_where_nothing_but_the_sessions_is_known(quota, rollouts):
    rollouts.write("a", (30, 20, 42))
    quota.account("a", storage=StorageSpec(cwd_script="codex-cwd ~"))  # beside no credentials: no adapter is derived

    assert [Kind.UPDATED] == [result.kind for result in quota.refresher().refresh_stale(("a",), 30)]
    assert (Kind.NO_SCRIPT, 2) == (quota.refresh("a").kind, len(quota.state("a").windows))


def test_only_windows_that_still_run_stand_in(quota, rollouts):
    rollouts.write("a", (180, 20, 42))
    quota.codex("a", rollouts.root, "exit 1")

    assert ["weekly"] == [window.label for window in quota.refresh("a").windows]


def test_notes_whose_windows_are_over_are_history_only(quota, rollouts):
    rollouts.write("a", (1500, 20, 42))
    quota.codex("a", rollouts.root, "exit 1")

    assert Kind.FAILED is quota.refresh("a").kind
    assert ((), {"5h-burst": [20], "weekly": [42]}) == (quota.state("a").windows, quota.history("a"))


def test_a_note_older_than_the_last_good_reading_does_not_replace_it(quota, rollouts):
    quota.codex("a", rollouts.root, quota.windows(50, label="weekly"), "exit 1")
    quota.refresh("a")
    read_at = quota.clock.now()
    quota.clock.advance(60)
    rollouts.write("a", (2, 20, 42))
    result = quota.refresh("a")

    assert (Kind.FAILED, 0.5, read_at) == (result.kind, quota.state("a").windows[0].used, quota.state("a").refreshed_at)


def test_a_note_does_not_take_off_a_mark_that_is_newer(quota, rollouts):
    rollouts.write("a", (30, 20, 42))
    marked_at = quota.clock.now() - timedelta(minutes=10)
    quotas.mark_exhausted(quota.store, "a", marked_at)
    quota.codex("a", rollouts.root, "exit 1")
    quota.refresh("a")

    assert (2, marked_at) == (len(quota.state("a").windows), quota.state("a").exhausted_at)


def test_notes_from_the_future_are_left_for_later(quota, rollouts):
    rollouts.write("a", (-30, 20, 42))
    quota.codex("a", rollouts.root, "exit 1")
    quota.refresh("a")

    assert {} == quota.history("a")
    assert () == readings.windows_of(quota.store, "a")


@pytest.mark.parametrize(
    ("root", "folder"),
    [
        ("~/s", "/home/x/s"),
        ("~", "/home/x"),
        ("$CODEX_HOME/s", "/c/s"),
        ("${CODEX_HOME}/s", "/c/s"),
        ("/a/$b", "/a/$b"),
    ],
)
def test_a_root_is_expanded_as_the_shell_would(root, folder):
    assert Path(folder) == codex_notes.folder_of(root, Path("/home/x"), {"CODEX_HOME": "/c"})
