"""Snapshots of turns go when they are old: never one that a later turn has, nor the last of a session that is there."""

import subprocess
from datetime import timedelta

import pytest

from oulipoly_engine.clock import SystemClock, to_text
from oulipoly_engine.core.live.sessions import LiveSession, Turn
from oulipoly_engine.core.sessions.turn_files import Moment
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.service.worktrees.base.place import Place, open_checkout
from oulipoly_engine.service.worktrees.snapshot.turns import take_turn
from oulipoly_engine.store.live import live_sessions, turn_files
from oulipoly_engine.store.sessions import chains

NOW = SystemClock().now()


class Kept:
    """A session whose turns have left snapshots, each named by the day before today on which it was taken."""

    def __init__(self, engine, folder):
        self.engine, self.folder = engine, folder
        folder.mkdir()
        subprocess.run(["git", "init", "-q", folder], check=True)
        with self.store() as store:
            session = LiveSession("s1", str(folder), "r", "claude", "m", NOW, NOW, account="c1", native_id="n1")
            live_sessions.insert(store, session)
            chains.mint(store, "c1", "n1", "m", NOW)

    def store(self):
        return self.engine.worktrees._home.lend_store()

    def turn(self, days, text):
        at = NOW - timedelta(days=days)
        (self.folder / "a").write_text(text)
        files = take_turn(open_checkout(Place("s1", self.folder)), f"d{days}", at)
        with self.store() as store:
            live_sessions.insert_turn(store, Turn(f"d{days}", "s1", "user", "starting", "hi", "", at))
            turn_files.note(store, f"d{days}", Moment.AFTER, files.reference)

    @property
    def left(self):
        words = ["git", "-C", self.folder, "for-each-ref", "--format=%(refname:lstrip=-1)"]
        return subprocess.run(words, capture_output=True, check=True, text=True).stdout.split()


@pytest.fixture
def kept(home):
    engine = Engine()
    yield Kept(engine, home / "repo")
    engine.close()


def test_old_ones_go_but_those_that_a_later_turn_has_and_the_last(kept):
    for days, text in ((400, "one"), (300, "two"), (200, "three"), (10, "one"), (5, "four")):
        kept.turn(days, text)
    assert ["d200", "d300", "d400", "d5"] == kept.left

    gone = kept.engine.worktrees.prune(dry_run=True).references
    assert (["d300", "d200"], 4) == ([reference.name.rpartition("/")[2] for reference in gone], len(kept.left))
    kept.engine.worktrees.prune()
    assert ["d400", "d5"] == kept.left


def test_the_last_one_goes_with_a_deleted_session_alone(kept):
    kept.turn(400, "one")
    kept.turn(300, "two")
    kept.engine.worktrees.prune()
    assert ["d300"] == kept.left

    with kept.store() as store:
        (chain_id,) = (chains.chain_of(store, "c1", "n1"),)
        chains.note_deleted(store, chain_id, to_text(NOW))
    kept.engine.worktrees.prune()
    assert [] == kept.left


def test_a_folder_that_is_gone_hinders_nobody(kept):
    kept.turn(400, "one")
    kept.folder.rename(kept.folder.with_name("elsewhere"))

    assert () == kept.engine.worktrees.prune().references
