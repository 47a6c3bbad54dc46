"""What readers of the outbox are told of a one-shot."""

import pytest

from oulipoly_engine.core.accounts.accounts import Account, Model, PoolMember, Settings
from oulipoly_engine.paths import Paths
from oulipoly_engine.service.runs.invoke import Invoker, Request
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.outbox import events
from oulipoly_engine.testing import FakeClock

KEY = "sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5vX7"


class Silent:
    """A face that shows nothing."""

    def stdout(self, data):
        pass

    def stderr(self, data):
        pass

    def note(self, line):
        pass


@pytest.fixture
def store(tmp_path):
    with_events = open_store(tmp_path / "state.db")
    events.register(with_events, "hooks")
    yield with_events
    with_events.close()


@pytest.fixture
def run(store, tmp_path):
    """Run a prompt on an account that does as some shell says; return what was told: topics and bodies."""

    def run(body, prompt="hello"):
        account = Account("ada", "sh", ("-c", body))
        paths = Paths(config=tmp_path, data=tmp_path, home=tmp_path)
        invoker = Invoker(store, {"ada": account}, Settings(), None, paths, FakeClock(), Silent())
        done = invoker.invoke(Request(Model("m", (PoolMember(0, "ada"),)), prompt, tmp_path))
        told = events.read_after(store, "hooks")
        assert {done.result.id} == {event.session_id for event in told}
        return [(event.topic, event.body) for event in told]

    return run


def test_a_run_that_answers(run, tmp_path):
    told = run(f"echo 'API_KEY={KEY}'", f"use API_KEY={KEY}")

    assert ["session_started", "message_sent", "message_received", "session_ended"] == [topic for topic, _ in told]
    started, sent, received, ended = (body for _, body in told)
    assert ("one-shot", "ada", "m", str(tmp_path)) == tuple(
        started[key] for key in ("kind", "account", "model", "workspace")
    )
    assert ("use API_KEY=[redacted]", "API_KEY=[redacted]\n") == (sent["text"], received["text"])
    assert {"kind": "one-shot", "reason": "done", "exit_code": 0} == ended


def test_a_run_that_fails(run):
    told = run("echo boom >&2; exit 3")

    assert ["session_started", "message_sent", "error", "session_ended"] == [topic for topic, _ in told]
    assert (3, True) == (told[-1][1]["exit_code"], bool(told[2][1]["code"]))
