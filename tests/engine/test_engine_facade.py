"""The facade that both faces may call: snapshots that cost little, commands, and news of what others write."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing

import pytest

from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.paths import from_environment
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.store.runs.invocations import NewInvocation
from oulipoly_engine.testing import FakeClock

_PATIENCE_S = 60.0


class Heard:
    """Keeps events, and waits for one."""

    def __init__(self, engine):
        self.events = []
        self._news = threading.Condition()
        engine.listeners.subscribe(self._hear)

    def _hear(self, event):
        with self._news:
            self.events.append(event)
            self._news.notify_all()

    def named(self, name):
        return [event for event in self.events if type(event).__name__ == name]

    def wait(self, name, count=1):
        with self._news:
            assert self._news.wait_for(lambda: len(self.named(name)) >= count, _PATIENCE_S), f"no {name} came"
        return self.named(name)[count - 1]


@pytest.fixture
def configured(world):
    """A model over two accounts, the second without any CLI of its own."""
    world.account("ada", "cat")
    world.account("bob", "exec sleep 60")
    world.model("opus", "ada", "bob")
    return world


@pytest.fixture
def engine(configured):
    """An engine over it."""
    found = Engine(Surroundings(paths=from_environment()))
    yield found
    found.close()


def test_a_snapshot_has_accounts_pools_and_the_next_pick(engine):
    snapshot = engine.snapshot()

    assert ["ada", "bob"] == [view.name for view in snapshot.accounts]
    assert "ada" == snapshot.pool("opus").next_account
    assert snapshot.store_failure is None


def test_an_empty_home_gives_an_empty_snapshot(home):
    engine = Engine(Surroundings(paths=from_environment()))

    assert engine.snapshot().is_empty
    engine.close()


def test_configuration_is_read_again_only_when_a_file_changes(engine, configured):
    before = engine.configuration.read_configuration()

    assert engine.configuration.read_configuration() is before
    configured.model("mix", "bob")
    assert {"opus", "mix"} == set(engine.configuration.read_configuration().models)


def test_a_file_that_breaks_takes_nothing_away_and_is_one_error(engine, configured):
    engine.snapshot()
    path = engine.paths.providers
    whole = path.read_text()
    path.write_text(whole + "kaputt = [\n")
    engine.snapshot()
    engine.configuration.examine()

    snapshot = engine.snapshot()
    errors = [one for one in snapshot.problems if one.is_error]
    assert ["ada", "bob"] == [view.name for view in snapshot.accounts if view.account is not None]
    assert [f"{path}:{whole.count(chr(10)) + 1}"] == [one.subject for one in errors]
    assert snapshot.stand_ins == tuple(errors)
    path.write_text(whole)
    assert () == engine.snapshot().stand_ins


def test_a_state_file_that_was_deleted_is_told_with_its_way_out_and_a_new_start_mends_it(engine):
    engine.snapshot()
    for path in engine.paths.data.glob("state.db*"):
        path.unlink()

    failure = engine.snapshot().store_failure
    later = Engine(Surroundings(paths=from_environment()))

    assert "restore it, or start again, which makes a fresh one" in failure
    assert later.snapshot().store_failure is None
    later.close()


def test_a_model_s_file_that_breaks_keeps_its_pool(engine, configured):
    engine.snapshot()
    (engine.paths.models / "opus.toml").write_text("[[providers]\n")

    snapshot = engine.snapshot()

    assert "ada" == snapshot.pool("opus").next_account
    assert [f"{engine.paths.models / 'opus.toml'}:1"] == [one.subject for one in snapshot.stand_ins]


def test_a_broken_file_is_a_problem_and_the_rest_stays(engine, configured):
    (configured.config / "models" / "bad.toml").write_text("providers = 3\n")

    snapshot = engine.snapshot()

    assert ["opus"] == [pool.model.name for pool in snapshot.pools]
    assert any("bad.toml" in trouble.subject and trouble.fix for trouble in snapshot.problems)


def test_a_state_file_of_another_kind_is_said_in_the_snapshot(engine, configured):
    configured.data.mkdir(parents=True)
    (configured.data / "state.db").write_text("no database " * 500)

    snapshot = engine.snapshot()

    assert "state.db" in snapshot.store_failure
    assert ["ada", "bob"] == [view.name for view in snapshot.accounts]


def test_the_last_good_data_stays_when_the_state_file_breaks(engine, configured):
    good = engine.snapshot()
    for path in configured.data.glob("state.db*"):
        path.write_bytes(b"rubbish " * 2000)

    found = engine.snapshot()

    assert found.store_failure is not None
    assert found.pools == good.pools
    assert found.stored_at == good.stored_at


def test_examining_finds_what_lies_between_files(engine, configured):
    configured.model("mix", "nobody")

    engine.configuration.examine()

    assert any("'nobody' is not in providers.toml" in trouble.text for trouble in engine.snapshot().problems)


def test_drains_disables_and_reserves_are_stored(engine):
    engine.accounts.drain("ada", on=True)
    engine.accounts.disable("bob", on=True)
    engine.accounts.reserve("ada", 0.25)

    snapshot = engine.snapshot()

    assert (True, 0.25) == (snapshot.account("ada").wishes.drained, snapshot.account("ada").wishes.reserve)
    assert snapshot.account("bob").wishes.disabled
    assert snapshot.pool("opus").next_account is None


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_an_impossible_reserve_is_refused(engine, share):
    with pytest.raises(RunnerError, match="reserve"):
        engine.accounts.reserve("ada", share)


def test_an_unknown_account_names_the_nearest(engine):
    with pytest.raises(RunnerError, match="did you mean 'ada'"):
        engine.accounts.drain("adaa", on=True)


def test_a_pin_decides_and_is_taken_away_again(engine):
    engine.pools.pin("opus", "bob")
    pinned = engine.snapshot().pool("opus")
    engine.pools.pin("opus", None)

    assert ("bob", "bob", 1) == (pinned.pin, pinned.next_account, pinned.decision.index)
    assert "ada" == engine.snapshot().pool("opus").next_account


def test_a_pin_of_a_drained_account_gives_nobody_and_says_why(engine):
    engine.accounts.drain("bob", on=True)
    engine.pools.pin("opus", "bob")

    pool = engine.snapshot().pool("opus")

    assert pool.next_account is None
    assert "drained" in pool.decision.error


def test_a_what_if_changes_nothing_until_it_is_applied(engine):
    supposed = engine.pools.what_if("opus", ["drain=ada"])
    before = engine.snapshot().account("ada").wishes.drained
    engine.pools.apply("opus", ["drain=ada", "reserve=bob:20"])

    assert ("bob", False) == (supposed.account, before)
    snapshot = engine.snapshot()
    assert (True, 0.2) == (snapshot.account("ada").wishes.drained, snapshot.account("bob").wishes.reserve)


def test_a_what_if_keeps_the_pin_that_there_is(engine):
    engine.pools.pin("opus", "bob")

    choices = [engine.pools.what_if("opus", texts).account for texts in ([], ["turns=+20"], ["drain=bob"], ["pin=ada"])]

    assert ["bob", "bob", None, "ada"] == choices


@pytest.mark.rows_share_fixtures
@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda engine: engine.accounts.drain("ada", on=True), id="drain"),
        pytest.param(lambda engine: engine.accounts.disable("ada", on=True), id="disable"),
        pytest.param(lambda engine: engine.accounts.reserve("ada", 0.1), id="reserve"),
        pytest.param(lambda engine: engine.accounts.clear("ada"), id="clear"),
        pytest.param(lambda engine: engine.quota.refresh(), id="refresh"),
        pytest.param(lambda engine: engine.pools.apply("opus", ["drain=ada"]), id="apply"),
        pytest.param(lambda engine: engine.background.start("opus", "hello"), id="one-shot"),
    ],
)
def test_read_only_refuses_every_change(configured, act):
    engine = Engine(Surroundings(paths=from_environment(), read_only=True))

    with pytest.raises(RunnerError, match="read-only"):
        act(engine)
    assert not engine.snapshot().account("ada").wishes.words
    engine.close()


def test_another_process_s_write_is_told(engine, agents):
    heard = Heard(engine)
    engine.follow()
    heard.wait("StateChanged")  # the first look

    assert 0 == agents("account", "drain", "bob").returncode
    heard.wait("StateChanged", 2)
    assert engine.snapshot().account("bob").wishes.drained


def test_a_written_configuration_is_told(engine, configured):
    heard = Heard(engine)
    engine.follow()
    heard.wait("StateChanged")

    configured.model("mix", "bob")
    heard.wait("ConfigurationChanged")


def test_a_one_shot_tells_its_output_and_its_end(engine):
    heard = Heard(engine)

    number = engine.background.start("opus", "to be echoed")

    assert (number, 0) == (heard.wait("OneShotEnded").number, heard.wait("OneShotEnded").exit_code)
    assert "to be echoed" == "".join(one.text for one in heard.named("OneShotSaid") if not one.is_note)
    assert () == engine.background.running


def test_a_one_shot_never_shows_its_prompt_among_the_processes(engine, configured):
    engine.pools.pin("opus", "bob")
    heard = Heard(engine)
    engine.background.start("opus", "a secret wish")
    heard.wait("OneShotSaid")

    shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout

    assert "a secret wish" not in shown
    engine.close()


def test_closing_stops_what_runs_and_makes_its_record_final(engine, configured):
    engine.pools.pin("opus", "bob")
    heard = Heard(engine)
    engine.background.start("opus", "hello")
    heard.wait("OneShotSaid")

    engine.close()

    assert [("failed", "interrupted")] == [
        (row["status"], str(row["terminal_reason"]).split(":")[0].split("_")[0])
        for row in configured.rows("SELECT status, terminal_reason FROM invocations")
    ]


def test_a_killed_one_shot_is_not_shown_as_running(engine, configured):
    engine.pools.pin("opus", "bob")
    heard = Heard(engine)
    engine.background.start("opus", "hello")
    heard.wait("OneShotSaid")
    (row,) = configured.rows("SELECT owner_pid FROM invocations")
    assert ["bob"] == [one.account for one in engine.snapshot().running]

    os.kill(row["owner_pid"], signal.SIGKILL)
    heard.wait("OneShotEnded")

    assert () == engine.snapshot().running


def test_readings_of_another_process_are_in_the_next_snapshot(engine, configured, agents):
    body = json.dumps({"windows": [{"used_percent": 42, "resets_at": "2099-01-01T00:00:00Z", "label": "5h"}]})
    configured.account("cyd", "cat", f"quota_script = {json.dumps(f'echo {chr(39)}{body}{chr(39)}')}")
    engine.snapshot()

    assert 0 == agents("quota-check", "cyd").returncode

    assert [0.42] == [window.used for window in engine.snapshot().account("cyd").quota.windows]


def list_due(engine):
    return [view.name for view in engine.snapshot().accounts if view.is_due]


def test_readings_are_due_at_the_start_and_after_a_run_and_two_apps_read_once(configured):
    calls = configured.data / "calls"
    body = json.dumps({"windows": [{"used_percent": 42, "resets_at": "2026-11-25T00:00:00Z", "label": "weekly"}]})
    configured.account("cyd", "cat", f"quota_script = {json.dumps(f'echo >> {calls}; echo {chr(39)}{body}{chr(39)}')}")
    clock = FakeClock()
    one, other = (Engine(Surroundings(paths=from_environment(), clock=clock)) for _ in range(2))
    at = one.snapshot().at

    assert ["cyd"] == list_due(one)
    clock.advance(1)
    one.quota.refresh_for_display(("cyd",), at)
    other.quota.refresh_for_display(("cyd",), at)
    assert "\n" == calls.read_text()

    clock.advance(120)
    assert [] == list_due(one)
    assert ["cyd"] == list_due(other)  # which began later: others may have worked meanwhile
    with one._home.lend_store() as store:
        row = invocations.begin(store, NewInvocation("u", "opus", "cyd", 0, clock.now()))
        invocations.end(store, row, Outcome(success=True, exit_code=0, finished_at=clock.now()))
    assert ["cyd"] == list_due(one)
    one.close()
    other.close()


def test_a_locked_state_file_does_not_stop_the_reading(engine, configured):
    engine.snapshot()
    with closing(sqlite3.connect(configured.data / "state.db")) as other:
        other.execute("BEGIN IMMEDIATE")

        assert engine.snapshot().store_failure is None
        other.execute("ROLLBACK")


def test_the_facade_loads_nothing_of_the_screen():
    code = (
        "import sys, oulipoly_engine.facade.engine;"
        "print({'textual', 'rich', 'asyncio', 'oulipoly_tui'} & set(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "set()" == done.stdout.strip()


def test_read_only_engine_makes_nothing_in_an_empty_home(home):
    engine = Engine(Surroundings(read_only=True))
    found = engine.snapshot()
    listed = engine.sessions.catalogue.board()
    engine.close()

    assert (None, ()) == (found.store_failure, found.accounts)
    assert listed is not None
    assert [] == list(home.iterdir())


def test_read_only_engine_sees_a_state_file_as_soon_as_there_is_one(configured, agents):
    engine = Engine(Surroundings(read_only=True))
    before = engine.snapshot().account("ada").wishes.words
    agents("account", "drain", "ada")

    assert (False, True) == (bool(before), bool(engine.snapshot().account("ada").wishes.words))
    engine.close()
