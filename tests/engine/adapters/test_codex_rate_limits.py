import json
import os
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from pathlib import Path

import pytest

from oulipoly_engine.adapters.codex_rate_limits import ScanLimits, readings
from oulipoly_engine.clock import to_text

FIXTURES = Path(__file__).resolve().parents[4] / "shared" / "fixtures" / "transcripts" / "codex"
START = datetime(2026, 11, 1, 8, tzinfo=UTC)


def limits(burst=20.0, weekly=40.0, at=START, **given):
    return {
        "limit_id": "codex",
        "primary": {"used_percent": burst, "window_minutes": 300, "resets_at": int(at.timestamp()) + 3600},
        "secondary": {"used_percent": weekly, "window_minutes": 10080, "resets_at": int(at.timestamp()) + 86_400},
        "plan_type": "pro",
        **given,
    }


def event(minutes, rate_limits=None, **given):
    payload = {"type": "token_count", "info": None, "rate_limits": rate_limits or limits(burst=20 + minutes / 60)}
    return {"timestamp": to_text(START + timedelta(minutes=minutes)), "type": "event_msg", "payload": payload, **given}


def write(root, name, *records, changed_minutes=600):
    path = root / "2026" / "11" / "01" / f"rollout-{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (record if isinstance(record, bytes) else json.dumps(record).encode() for record in records)
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    stamp = (START + timedelta(minutes=changed_minutes)).timestamp()
    os.utime(path, (stamp, stamp))
    return path


def minutes_of(found):
    return [round((reading.at - START).total_seconds() / 60, 2) for reading in found]


def test_event_becomes_a_reading_as_the_usage_adapter_would_give_it(tmp_path):
    path = write(tmp_path, "a", event(5, limits()))
    (reading,) = readings(tmp_path, None)

    assert (START + timedelta(minutes=5), path, "pro") == (reading.at, reading.source, reading.plan)
    assert [(0, "weekly", 0.4, 604_800), (1, "5h-burst", 0.2, 18_000)] == [
        (window.position, window.label, window.used, window.window_s) for window in reading.windows
    ]
    assert [START + timedelta(days=1), START + timedelta(hours=1)] == [window.resets_at for window in reading.windows]


def test_readings_of_overlapping_sessions_come_newest_first(tmp_path):
    write(tmp_path, "a", event(1), event(30), event(59), changed_minutes=59)
    write(tmp_path, "b", event(10), event(40), changed_minutes=45)
    write(tmp_path, "c", event(0.5), changed_minutes=1)

    assert [59, 40, 30, 10, 1, 0.5] == minutes_of(readings(tmp_path, None))


def test_newest_reading_alone_needs_one_rollout(tmp_path):
    write(tmp_path, "new", event(50), changed_minutes=50)
    old = write(tmp_path, "old", event(10), changed_minutes=10)
    found = readings(tmp_path, None)
    first = next(found)
    old.write_bytes(b"")

    assert [50] == minutes_of([first])
    assert [] == list(found)


def test_only_what_is_newer_is_given(tmp_path):
    write(tmp_path, "a", event(10), event(20), event(30))

    assert [30] == minutes_of(readings(tmp_path, START + timedelta(minutes=20)))


def test_repeated_event_is_given_once(tmp_path):
    same = limits()
    write(tmp_path, "a", event(10, same), event(10.2, same), event(10.4, same), event(30, same))

    assert [30, 10.4] == minutes_of(readings(tmp_path, None))


def test_replay_of_a_parent_at_one_instant_leaves_its_last_event(tmp_path):
    write(tmp_path, "a", event(10, limits(burst=1)), event(10, limits(burst=2)), event(10, limits(burst=3)), event(11))

    assert [11, 10] == minutes_of(readings(tmp_path, None))
    assert 0.03 == list(readings(tmp_path, None))[1].windows[1].used


def test_window_whose_reset_had_passed_is_void(tmp_path):
    write(tmp_path, "a", event(120, limits()))
    (reading,) = readings(tmp_path, None)

    assert ["weekly"] == [window.label for window in reading.windows]


def test_older_events_that_tell_the_seconds_left_are_read(tmp_path):
    primary = {"used_percent": 7, "window_minutes": 299, "resets_in_seconds": 90}
    write(tmp_path, "a", event(10, {"primary": primary, "secondary": None}))
    (reading,) = readings(tmp_path, None)

    assert [("5h-burst", START + timedelta(minutes=11.5))] == [(w.label, w.resets_at) for w in reading.windows]


def test_weekly_window_in_the_primary_slot_is_named_by_its_length(tmp_path):
    write(tmp_path, "a", event(10, limits(primary=limits()["secondary"], secondary=None)))
    (reading,) = readings(tmp_path, None)

    assert ["weekly"] == [window.label for window in reading.windows]


def test_limit_of_a_single_model_is_not_the_accounts(tmp_path):
    write(tmp_path, "a", event(10, limits(limit_id="codex_other")))

    assert [] == list(readings(tmp_path, None))


@pytest.mark.parametrize(
    "line",
    [
        b'{"rate_limits": nonsense',
        b'\x00\xff"rate_limits"\xfe',
        b'{"rate_limits": {"rate_limits": 1}}',
        b'["rate_limits"]',
        b'{"payload": {"rate_limits": []}, "type": "event_msg"}',
        event(20, limits(), type="response_item"),
        event(20, limits(), timestamp="2026-11-01T08:20:00"),
        event(20, limits(), timestamp=7),
        event(20, limits(burst=101, weekly=-1)),
        event(20, limits(burst="20", weekly=None)),
        event(20, limits(burst=float("nan"), weekly=float("inf"))),
        event(20, {"primary": {"used_percent": 1, "window_minutes": 300, "resets_at": 1e300}}),
        event(20, {"primary": [1], "secondary": "x"}),
    ],
)
def test_line_that_is_no_true_event_is_skipped(line, tmp_path):
    write(tmp_path, "a", event(10), line, event(30))

    assert [30, 10] == minutes_of(readings(tmp_path, None))


def test_text_that_speaks_of_rate_limits_is_no_event(tmp_path):
    said = {"type": "response_item", "payload": {"type": "message", "content": json.dumps(event(20))}}
    write(tmp_path, "a", said, event(30))

    assert [30] == minutes_of(readings(tmp_path, None))


def test_line_that_is_still_being_written_is_skipped(tmp_path):
    path = write(tmp_path, "a", event(10), event(20))
    path.write_bytes(path.read_bytes()[:-40])

    assert [10] == minutes_of(readings(tmp_path, None))


def test_only_the_end_of_a_long_rollout_is_read(tmp_path):
    write(tmp_path, "a", *(event(minute) for minute in range(0, 50, 2)))
    size = len(json.dumps(event(48))) + 1

    assert [48, 46] == minutes_of(readings(tmp_path, None, ScanLimits(tail_bytes=size * 3 - 20)))


def test_reading_stops_when_the_total_is_used_up(tmp_path):
    write(tmp_path, "new", event(50), changed_minutes=50)
    write(tmp_path, "old", event(10), changed_minutes=10)

    assert [50] == minutes_of(readings(tmp_path, None, ScanLimits(total_bytes=10)))


def test_missing_folder_and_what_is_no_rollout_give_nothing(tmp_path):
    (tmp_path / "rollout-folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "rollout-pipe.jsonl")
    (tmp_path / "rollout-dangling.jsonl").symlink_to(tmp_path / "gone")
    (tmp_path / "history.jsonl").write_text(json.dumps(event(10)), encoding="utf-8")

    assert [] == list(readings(tmp_path, None))
    assert [] == list(readings(tmp_path / "absent", None))


@pytest.mark.skipif(not FIXTURES.exists(), reason="the recorded rollouts are not beside this repository")
@pytest.mark.parametrize("version", ["0.60.1", "0.120.0", "0.169.0"])
def test_recorded_rollouts_of_each_version_give_both_windows(version):
    found = list(islice(readings(FIXTURES / version / "sessions", None), 20))

    assert found
    assert {("weekly", "5h-burst")} == {tuple(window.label for window in reading.windows) for reading in found}
    assert all(later.at >= earlier.at for later, earlier in pairwise(found))
