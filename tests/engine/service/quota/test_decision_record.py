"""The record of decisions: what runs took of windows, by their turns and the readings around them."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.quota.windows import Window
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.core.transcripts.turn_script import EntryLine
from oulipoly_engine.service.quota.decision_record import read_record
from oulipoly_engine.store.quota import readings
from oulipoly_engine.store.runs import expectations, invocations
from oulipoly_engine.store.transcripts import entries

AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
WINDOW = {"label": "weekly", "position": 0, "rate": 0.002, "live": True, "resets_at": to_text(AT + timedelta(hours=50))}
DECISION = {
    "model": "m",
    "method": "density",
    "candidates": [{"account": "a", "index": 0, "windows": [WINDOW]}],
}


def add_turns(store, session_id, count, at):
    lines = [EntryLine(session_id, f"{session_id}{number}", to_text(at), "assistant") for number in range(count)]
    with store.write():
        entries.insert_new(store, "a", lines, at)


def read(store, at, used, reset=timedelta(hours=50)):
    with store.write():
        readings.append(store, "a", [Window(0, used, AT + reset, label="weekly")], at, source="test")


@pytest.fixture
def ended_run(quota):
    new = invocations.NewInvocation(
        "u", "m", "a", 0, AT, session_id="s", expected_turns=15.0, decision_json=json.dumps(DECISION)
    )
    row = invocations.begin(quota.store, new)
    add_turns(quota.store, "s", 30, AT + MINUTE)
    invocations.end(quota.store, row, Outcome(True, 0, AT + 2 * MINUTE, session_id="s"))
    expectations.count_turns(quota.store, "a", AT + 3 * MINUTE)
    return quota.store


def test_a_run_has_its_part_of_what_was_used_between_the_readings_around_it(ended_run):
    add_turns(ended_run, "beside", 10, AT + MINUTE)
    for minutes, used in ((-9, 0.1), (-1, 0.2), (1, 0.25), (5, 0.24 + 0.04)):
        read(ended_run, AT + minutes * MINUTE, used)

    (pool,) = read_record(ended_run, AT + timedelta(hours=1)).pools
    (window,) = pool.windows
    assert (1, 15.0, 30.0, 2.0) == (pool.runs, pool.expected_turns, pool.turns, pool.median_error)
    assert (0.03, pytest.approx(0.06)) == (window.expected, window.happened)


@pytest.mark.parametrize("reset", [timedelta(hours=50), timedelta(hours=218)], ids=["not-read-since", "was-reset"])
def test_what_a_run_took_is_not_known_without_readings_of_one_cycle(ended_run, reset):
    read(ended_run, AT - MINUTE, 0.2)
    read(ended_run, AT + (1 if reset.days < 5 else 5) * MINUTE, 0.25, reset)

    (pool,) = read_record(ended_run, AT + timedelta(hours=1)).pools
    assert () == pool.windows


def test_what_is_older_than_a_fortnight_is_over(ended_run):
    assert () == read_record(ended_run, AT + timedelta(days=15)).pools


@pytest.mark.parametrize("decision", ['{"candidates": null}', '{"candidates": [{"account": "a"}]}', '{"method": 7}'])
def test_a_decision_of_another_form_tells_nothing(ended_run, decision):
    ended_run.execute("UPDATE decisions SET decision = ?", (decision,))

    (pool,) = read_record(ended_run, AT + timedelta(hours=1)).pools
    assert (1, ()) == (pool.runs, pool.windows)
