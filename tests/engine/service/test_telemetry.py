"""Telemetry: only where it is wanted, no texts, no ids, bounded, and each event once."""

import os
import stat
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.service.telemetry import recorder
from oulipoly_engine.service.telemetry.recorder import READER, Telemetry
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.outbox import events

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)
KEY = "sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5vX7"
TALK = (
    ("session_started", {"kind": "live", "account": "ada@home", "workspace": "/home/ada/plans", "model": "opus"}),
    ("message_sent", {"turn_id": "t1", "text": "a private message"}),
    ("tool_used", {"turn_id": "t1", "kind": "command", "name": "mcp__plans", "title": "cat plans", "status": "failed"}),
    ("error", {"turn_id": "t1", "code": "network", "message": f"no way with API_KEY={KEY} " + "x" * 500}),
    ("settings_changed", {"changes": [{"key": "accounts.ada.args", "file": "providers.toml"}]}),
)


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "state.db")
    yield opened
    opened.close()


@pytest.fixture
def telemetry(store):
    kept = Telemetry(store)
    kept.settle(NOW, is_on=True)
    return kept


def publish(store, *told, at=NOW):
    for topic, body in told:
        with store.write():
            events.publish(store, topic, at, "session-1", body)


def read(telemetry):
    return [record["event"] for record in telemetry.read()]


def test_nothing_is_kept_and_nobody_reads_unless_it_is_switched_on(store):
    kept = Telemetry(store)
    kept.settle(NOW, is_on=False)
    publish(store, *TALK)
    kept.flush(LATER, is_all=True)

    assert (False, []) == (store.has_readers(), list(store.path.parent.glob("telemetry*")))


def test_switched_off_it_is_told_nothing_more(store, telemetry):
    publish(store, *TALK)
    telemetry.settle(LATER, is_on=False)
    publish(store, *TALK)

    assert (False, []) == (store.has_readers(), read(telemetry))


def test_no_text_no_id_and_no_secret_is_kept(store, telemetry):
    publish(store, *TALK)
    telemetry.flush(LATER)
    text = telemetry.file.read_text()
    started, sent, tool, error, changed = telemetry.read()

    words = ("ada", "/home", "private", "session-1", '"t1"', "plans", KEY)
    assert [] == [word for word in words if word in text]
    assert ("opus", "live", 17) == (started["model"], started["kind"], sent["characters"])
    assert ("command", "failed", 1) == (tool["kind"], tool["status"], changed["settings"])
    assert ("network", 200) == (error["code"], len(error["message"]))
    assert {sent["turn_id"]} == {tool["turn_id"], error["turn_id"]}
    assert started["session"] == error["session"]
    assert {0o600} == {stat.S_IMODE(path.stat().st_mode) for path in store.path.parent.glob("telemetry*")}


def test_hashes_of_two_installations_differ(store, telemetry, tmp_path):
    (tmp_path / "other").mkdir()
    other = open_store(tmp_path / "other" / "state.db")
    second = Telemetry(other)
    second.settle(NOW, is_on=True)
    for one, kept in ((store, telemetry), (other, second)):
        publish(one, TALK[0])
        kept.flush(LATER)
    other.close()

    assert next(telemetry.read())["account"] != next(second.read())["account"]


def test_what_happens_waits_for_half_a_minute_or_for_a_hundred_events(store, telemetry):
    publish(store, *TALK)
    telemetry.flush(NOW + timedelta(seconds=29))
    assert [] == read(telemetry)

    publish(store, *TALK * 20)
    telemetry.flush(NOW + timedelta(seconds=29))
    assert 105 == len(read(telemetry))


def test_one_older_file_is_kept_and_no_other(store, telemetry, monkeypatch):
    monkeypatch.setattr(recorder, "MOST_BYTES", 1000)
    for number in range(10):
        publish(store, *TALK, at=NOW + timedelta(seconds=number))
        telemetry.flush(LATER)

    files = sorted(path.name for path in store.path.parent.glob("telemetry*.jsonl"))
    assert {"telemetry.1.jsonl"} <= {*files} <= {"telemetry.1.jsonl", "telemetry.jsonl"}
    assert 0 < len(read(telemetry)) < 50


def test_lines_that_a_killed_process_wrote_are_not_written_again(store, telemetry, monkeypatch):
    publish(store, *TALK)
    with monkeypatch.context() as killed:
        killed.setattr(recorder.events, "advance", lambda *_: os.close(-1))  # raises OSError: nothing behind it is done
        telemetry.flush(LATER)
    telemetry.file.write_bytes(telemetry.file.read_bytes() + b'{"id": 9, "at"')  # a line that was cut off
    publish(store, ("message_sent", {"text": "further"}), at=LATER)
    telemetry.flush(LATER, is_all=True)

    assert [topic for topic, _ in (*TALK, ("message_sent", ""))] == read(telemetry)
    assert () == events.read_after(store, READER)


def test_ids_that_begin_anew_after_a_pause_are_kept(store, telemetry):
    publish(store, *TALK)
    telemetry.flush(LATER)
    telemetry.settle(LATER, is_on=False)
    telemetry.settle(LATER, is_on=True)
    publish(store, TALK[1], at=LATER)
    telemetry.flush(LATER, is_all=True)

    assert 6 == len(read(telemetry))


def test_a_disk_that_takes_nothing_costs_no_run(store, telemetry):
    telemetry.file.symlink_to("/dev/full")
    publish(store, *TALK)
    telemetry.flush(LATER)

    assert 5 == len(events.read_after(store, READER))


def test_clear_leaves_nothing(store, telemetry):
    publish(store, *TALK)
    telemetry.flush(LATER)
    publish(store, *TALK)

    assert 5 == telemetry.clear()
    assert ([], []) == (read(telemetry), list(store.path.parent.glob("telemetry*")))
    assert () == events.read_after(store, READER)


def test_a_file_of_rubbish_is_read_as_far_as_it_can_be(store, telemetry):
    telemetry.file.write_bytes(b'\xff\xfe\n[]\nnull\n{"event": "e"}')
    publish(store, *TALK)
    telemetry.flush(LATER)

    assert ["e", *(topic for topic, _ in TALK)] == read(telemetry)
