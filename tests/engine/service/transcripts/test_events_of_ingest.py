"""What a scan publishes: accounts that got new entries, and the sessions that they came with."""

import json
import shlex

import pytest

from oulipoly_engine.core.accounts.accounts import SessionScripts
from oulipoly_engine.events import EntriesIngested, Listeners
from oulipoly_engine.service.transcripts.ingest import Ingester
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.testing import FakeClock


@pytest.fixture
def scan(tmp_path):
    store, listeners, told = open_store(tmp_path / "state.db"), Listeners(), []
    listeners.subscribe(told.append)

    def scan(**scripts):
        found = {name: SessionScripts(script) for name, script in scripts.items()}
        places = (tmp_path, {}, tmp_path / "sessions", tmp_path / "locks")
        Ingester(store, found, FakeClock(), *places, listeners=listeners).ingest_accounts(tuple(found))
        events, told[:] = list(told), []
        return events

    yield scan
    store.close()


def prints(*entries):
    at = "2026-04-17T08:00:00Z"
    lines = [{"session_id": session, "turn_id": entry, "timestamp": at, "role": "user"} for session, entry in entries]
    return "".join(f"echo {shlex.quote(json.dumps(line))};" for line in lines)


def test_new_turns_are_told_with_their_sessions(scan):
    events = scan(a=prints(("T", "1"), ("S", "2"), ("S", "3")))

    assert [EntriesIngested(FakeClock().now(), "a", 3, ("S", "T"))] == events


def test_nothing_new_is_no_event(scan):
    scan(a=prints(("S", "1")))

    assert [] == scan(a=prints(("S", "1")))


def test_a_script_that_failed_is_no_event(scan):
    assert [] == scan(a=prints(("S", "1")) + "exit 3")


def test_each_account_is_told_of_alone(scan):
    events = scan(a=prints(("S", "1")), b=prints(("S", "1")), c="true")

    assert {("a", 1), ("b", 1)} == {(event.account, event.new_turns) for event in events}
