"""The app's follower: it begins late, takes up a changed configuration, and stays away in read-only mode."""

import json
import threading

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.events import EntriesIngested, Listeners
from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.paths import Paths
from oulipoly_engine.service.following.late import LateFollower, Sources

PATIENCE_S = 60


@pytest.fixture
def paths(tmp_path):
    (tmp_path / "config").mkdir()
    return Paths(config=tmp_path / "config", data=tmp_path / "data", home=tmp_path)


def write(paths, name):
    """Configure an account with one transcript."""
    (paths.home / name).mkdir()
    record = {"type": "user", "uuid": name, "timestamp": "2026-04-17T08:00:00Z", "sessionId": "S", "message": "hi"}
    (paths.home / name / "s.jsonl").write_text(json.dumps(record) + "\n")
    with (paths.config / "sessions.toml").open("a") as file:
        file.write(f"[{name}]\nturn_script = \"claude-code-turns '{paths.home / name}'\"\n")


def listen(engine):
    """Return what waits until an account's entries were told of."""
    told, arrived = set(), threading.Condition()

    def note(event):
        if isinstance(event, EntriesIngested):
            with arrived:
                told.add(event.account)
                arrived.notify_all()

    def wait(name):
        with arrived:
            assert arrived.wait_for(lambda: name in told, PATIENCE_S)

    engine.listeners.subscribe(note)
    return wait


def test_an_engine_that_follows_stores_what_is_written_and_what_is_configured_later(paths):
    write(paths, "a")
    engine = Engine(Surroundings(paths))
    wait = listen(engine)

    engine.follow()
    wait("a")
    write(paths, "b")
    wait("b")
    engine.close()


def test_a_read_only_engine_stores_nothing(paths):
    write(paths, "a")
    engine = Engine(Surroundings(paths, read_only=True))

    engine.follow()
    engine.close()

    assert engine._follower is None


def test_closing_before_it_has_begun_is_at_once(paths):
    def never():
        raise AssertionError

    follower = LateFollower(Sources(never, never, paths, never, Listeners(), SystemClock()), begin_after_s=600)

    follower.close()

    assert not follower._thread.is_alive()
