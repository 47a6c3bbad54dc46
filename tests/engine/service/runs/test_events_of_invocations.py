"""What the one-shot service publishes: each attempt's start and end."""

import pytest

from oulipoly_engine.core.accounts.accounts import Account, Model, PoolMember, Settings
from oulipoly_engine.events import InvocationEnded, InvocationStarted, Listeners
from oulipoly_engine.paths import Paths
from oulipoly_engine.service.runs.invoke import Invoker, Request
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.testing import FakeClock


class Silent:
    """A face that shows nothing."""

    def stdout(self, data):
        pass

    def stderr(self, data):
        pass

    def note(self, line):
        pass


@pytest.fixture
def run(tmp_path):
    store = open_store(tmp_path / "state.db")
    paths = Paths(config=tmp_path, data=tmp_path, home=tmp_path)

    def run(*bodies, listeners=None):
        """Run a prompt on a pool of accounts that do as some shell says."""
        accounts = {f"a{n}": Account(f"a{n}", "sh", ("-c", body)) for n, body in enumerate(bodies)}
        model = Model("m", tuple(PoolMember(n, name) for n, name in enumerate(accounts)))
        face = Silent()
        clock = FakeClock()
        invoker = Invoker(store, accounts, Settings(), None, paths, clock, face)
        invoker.listeners = listeners
        return invoker.invoke(Request(model, "hello", tmp_path))

    run.store = store
    yield run
    store.close()


def test_a_run_is_told_when_it_has_begun_and_when_its_row_is_final(run):
    told, rows = [], []
    listeners = Listeners()
    listeners.subscribe(told.append)
    listeners.subscribe(lambda event: rows.append(invocations.find(run.store, event.invocation_uuid).success))

    done = run("cat", listeners=listeners)

    at, identity = told[0].at, done.result.id
    assert InvocationStarted(at, identity, "m", "a0") == told[0]
    assert InvocationEnded(at, identity, "m", "a0", True) == told[1]
    assert [None, True] == rows


def test_every_attempt_of_a_pool_is_told_with_the_category_of_its_failure(run):
    told = []
    listeners = Listeners()
    listeners.subscribe(told.append)
    spent = "cat >/dev/null; echo 'You have hit your usage limit.' >&2; exit 1"

    run(spent, "cat", listeners=listeners)

    ended = [event for event in told if isinstance(event, InvocationEnded)]
    assert [("a0", False, "quota_exhausted"), ("a1", True, None)] == [
        (event.account, event.success, event.category) for event in ended
    ]
    assert [InvocationStarted, InvocationEnded] * 2 == [type(event) for event in told]


def test_a_failed_run_is_told_as_one(run):
    told = []
    listeners = Listeners()
    listeners.subscribe(told.append)

    run("exit 7", listeners=listeners)

    assert (False, "a0") == (told[-1].success, told[-1].account)


def test_nobody_has_to_listen(run):
    assert 0 == run("cat").exit_code
