"""Session ids read out of a stream of stdout bytes."""

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oulipoly_engine.core.runs import capture
from oulipoly_engine.core.runs.capture import ForcedFlagReader, JsonEventReader
from oulipoly_engine.core.runs.invocations import CaptureOutcome

ID = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"
OTHER = "5169694d-de0f-40d1-890c-6e28e55bab27"


def line_of(**event):
    return json.dumps(event).encode() + b"\n"


INIT = line_of(type="system", subtype="init", session_id=ID)
RESULT = line_of(type="result", result="hi", session_id=ID)
STARTED = line_of(type="thread.started", thread_id=ID)


def read(reader, *chunks):
    for chunk in chunks:
        reader.feed(chunk)
    return reader.finish()


@pytest.mark.parametrize(
    "stdout",
    [INIT, RESULT, b"warning\n\xff\xfe{\n" + INIT, RESULT.rstrip(), line_of(type="system", subtype="x") + RESULT],
    ids=["init", "result", "after noise", "without newline", "after another system event"],
)
def test_forced_id_that_the_cli_reports_is_verified(stdout):
    assert CaptureOutcome(ID, "forced_flag_verified") == read(ForcedFlagReader(ID), stdout)


def test_forced_id_is_compared_without_regard_to_case():
    assert read(ForcedFlagReader(ID.upper()), INIT).method == "forced_flag_verified"


def test_another_id_than_the_forced_one_fails_and_is_named():
    outcome = read(ForcedFlagReader(OTHER), INIT)

    assert ("failed", None) == (outcome.method, outcome.session_id)
    assert ID in outcome.error
    assert OTHER in outcome.error


@pytest.mark.parametrize("stdout", [b"", b"hello\n", line_of(type="result"), line_of(type="result", session_id=7)])
def test_forced_id_that_nothing_reports_fails_and_says_where_to_look(stdout):
    outcome = read(ForcedFlagReader(ID), stdout)

    assert outcome.method == "failed"
    assert "readback_args" in outcome.error


def test_the_first_event_decides():
    later = line_of(type="result", session_id=OTHER)

    assert ID == read(ForcedFlagReader(ID), INIT + later).session_id
    assert (
        ID == read(JsonEventReader("thread.started", ("thread_id",)), STARTED, STARTED.replace(b"9", b"8")).session_id
    )


def test_id_is_read_from_the_named_event():
    expected = CaptureOutcome(ID, "stdout_json_event")

    assert expected == read(JsonEventReader("thread.started", ("thread_id",)), b'{"type":"x"}\n' + STARTED)


def test_id_is_read_from_a_nested_path():
    event = line_of(type="start", data={"session": {"id": "ses_1"}})

    assert "ses_1" == read(JsonEventReader("start", ("data", "session", "id")), event).session_id


@pytest.mark.parametrize("event", [{"thread_id": None}, {"thread_id": ""}, {"thread_id": {"a": 1}}, {}])
def test_event_without_the_path_fails_and_names_the_path(event):
    outcome = read(JsonEventReader("thread.started", ("thread_id",)), line_of(type="thread.started", **event))

    assert outcome.method == "failed"
    assert "'thread_id'" in outcome.error


def test_missing_event_fails_and_names_the_event():
    outcome = read(JsonEventReader("thread.started", ("thread_id",)), b"plain text\n[1]\n{broken\n")

    assert outcome.method == "failed"
    assert "'thread.started'" in outcome.error


@settings(deadline=None)
@given(st.lists(st.integers(min_value=0, max_value=400), max_size=8))
def test_the_cuts_between_chunks_make_no_difference(cuts):
    stdout = b'noise \xc3\xa9\n{"type":"x"}\n' + STARTED + b"tail"
    edges = [0, *sorted(min(cut, len(stdout)) for cut in cuts), len(stdout)]
    chunks = [stdout[start:end] for start, end in itertools.pairwise(edges)]

    assert ID == read(JsonEventReader("thread.started", ("thread_id",)), *chunks).session_id


@pytest.mark.parametrize("size", [7, 1000], ids=["in pieces", "at once"])
def test_a_line_that_is_too_long_is_dropped_and_the_next_one_read(monkeypatch, size):
    monkeypatch.setattr(capture, "LONGEST_LINE", 100)
    stdout = b'{"type":"thread.started","thread_id":"' + b"x" * 200 + b'"}\n' + STARTED
    chunks = [stdout[start : start + size] for start in range(0, len(stdout), size)]

    assert ID == read(JsonEventReader("thread.started", ("thread_id",)), *chunks).session_id


def test_an_endless_line_is_not_kept_in_memory(monkeypatch):
    monkeypatch.setattr(capture, "LONGEST_LINE", 1000)
    reader = ForcedFlagReader(ID)
    for _ in range(100):
        reader.feed(b"x" * 99)

    assert len(reader._lines._pending) <= 1000
    assert "failed" == reader.finish().method


def test_hostile_nesting_is_no_event():
    assert "failed" == read(ForcedFlagReader(ID), b'{"a":' * 100_000 + b"\n").method


def test_the_outcome_may_be_asked_for_again():
    reader = ForcedFlagReader(ID)
    reader.feed(INIT)

    assert reader.finish() == reader.finish()
