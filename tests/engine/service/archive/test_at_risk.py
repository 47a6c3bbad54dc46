"""Which transcripts a CLI deletes soon while nobody keeps a copy: counted for every snapshot."""

import os
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.core.accounts.accounts import Account, SessionScripts
from oulipoly_engine.service.accounts.configuration import Configured
from oulipoly_engine.service.archive.expiring import RiskWatch
from oulipoly_engine.store.base.db import open_store

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


class Shelf:
    """One Claude account with described sessions of some ages."""

    def __init__(self, folder):
        self.folder = folder
        self.root = folder / "ada" / "projects" / "-w"
        self.root.mkdir(parents=True)
        self.store = open_store(folder / "state.db")
        scripts = {"ada": SessionScripts(f"claude-code-turns {self.root.parent}")}
        self.configured = Configured({"ada": Account("ada", command="claude")}, scripts=scripts)
        self.watch = RiskWatch()

    def session(self, name, *, days, is_kept=False):
        path = self.root / f"{name}.jsonl"
        path.write_text("{}\n")
        at = (NOW - timedelta(days=days)).timestamp()
        os.utime(path, (at, at))
        same = {"session_id": name}
        with self.store.write():
            facts = {"turns": 1, "assistant_turns": 1, "sidechain_turns": 0, "side_chains": 0, "transcript": str(path)}
            times = {"first_turn_at": "2026", "last_turn_at": "2026", "mtime_ms": int(at * 1000)}
            self.store.insert("session_facts", account="ada", **same, **facts, **times)
            self.store.insert(
                "session_chains", chain_id=f"c-{name}", created_at="2026", last_used_at="2026", model_name="m"
            )
            self.store.insert(
                "session_chain_segments",
                chain_id=f"c-{name}",
                provider_name="ada",
                **same,
                started_at="2026",
                transition_reason="start",
            )
        if is_kept:
            self.keep(name)
        return path

    def keep(self, name):
        where = {"account": "ada", "session_id": name, "path": name.encode(), "part": "", "device": 0, "inode": 0}
        with self.store.write():
            self.store.insert("archive_copies", **where, size_bytes=3, mtime_ns=0, kept_at="2026", is_latest=1)

    def look(self, later=timedelta(0)):
        return self.watch.look(self.store, self.configured, self.folder, NOW + later)


@pytest.fixture
def shelf(tmp_path):
    found = Shelf(tmp_path)
    yield found
    found.store.close()


def test_old_transcripts_without_a_copy_are_counted_and_the_first_to_go_is_named(shelf):
    for name, days in (("a", 24), ("b", 29), ("c", 3)):
        shelf.session(name, days=days)
    shelf.session("d", days=29.5, is_kept=True)
    (found,) = shelf.look()

    assert ("ada", 2, "c-b") == (found.account, found.count, found.chain_id)
    assert NOW + timedelta(days=1) == found.due


def test_what_was_written_since_or_is_gone_is_at_no_risk(shelf):
    now = NOW.timestamp()
    os.utime(shelf.session("a", days=29), (now, now))
    shelf.session("b", days=29).unlink()

    assert () == shelf.look()


def test_the_account_s_own_period_counts(shelf):
    shelf.session("a", days=29)
    (shelf.folder / "ada" / "settings.json").write_text('{"cleanupPeriodDays": 365}')

    assert () == shelf.look()


def test_a_copy_takes_it_out_at_once_and_files_are_looked_at_again_after_a_minute(shelf):
    shelf.session("a", days=29)
    path = shelf.session("b", days=29)
    assert 2 == shelf.look()[0].count
    shelf.keep("a")
    assert 1 == shelf.look()[0].count
    path.unlink()
    assert 1 == shelf.look(timedelta(seconds=30))[0].count
    assert () == shelf.look(timedelta(seconds=61))
