"""Kept copies: whole, deduplicated, within a limit, given back to the byte."""

import hashlib
import json
import os
import random
import time
from datetime import timedelta

import pytest

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.accounts.accounts import SessionScripts, StorageType
from oulipoly_engine.errors import SessionNotFound
from oulipoly_engine.process.lock import try_lock
from oulipoly_engine.service.archive import keeper as keeping
from oulipoly_engine.service.archive.archive import Archive, ArchiveDamaged, CopyState
from oulipoly_engine.service.archive.keeper import ArchiveKeeper, after_run, after_scan
from oulipoly_engine.service.transcripts.atomic_file import FileExists
from oulipoly_engine.service.transcripts.files import Home, homes
from oulipoly_engine.store.archive import copies as rows
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.testing import FakeClock

SESSION = "5169694d-de0f-40d1-890c-6e28e55bab27"
OTHER = "9e69e8cc-616d-4640-bf1d-96f5391b1a2e"


def lines(count, seed=0):
    made = random.Random(seed)
    return b"".join(
        json.dumps({"n": n, "x": made.randbytes(made.randint(20, 900)).hex()}).encode() + b"\n" for n in range(count)
    )


class Bench:
    """One Claude account's projects and their archive."""

    def __init__(self, folder):
        self.root = folder / "home" / "projects"
        self.project = self.root / "-work"
        self.project.mkdir(parents=True)
        self.clock = FakeClock()
        self.store = open_store(folder / "state.db")
        home = Home("acc", StorageType.CLAUDE_CODE, self.root)
        self.archive = Archive(self.store, folder / "archive", {"acc": home}, self.clock)

    def write(self, session=SESSION, content=b"{}\n", age_days=0.0):
        path = self.project / f"{session}.jsonl"
        path.write_bytes(content)
        self.age(path, age_days)
        return path

    def age(self, path, days):
        at = (self.clock.now() - timedelta(days=days)).timestamp()
        os.utime(path, (at, at))

    def keep(self, limit=0, **more):
        return ArchiveKeeper(self.archive, limit).keep(**more)

    def content(self, session=SESSION):
        with self.archive.open(self.archive.find_copy("acc", session)) as file:
            return file.read()

    def objects(self):
        return sorted(path.name for path in (self.archive.folder / "objects").rglob("*.z"))

    def state(self, session=SESSION):
        return self.archive.status("acc", session).keeping


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    made.store.close()


def test_copy_is_the_file_to_the_byte(bench):
    content = lines(3000) + b"half a li"
    bench.write(content=content)

    assert (1, True) == ((done := bench.keep()).kept, done.is_complete)
    assert content == bench.content()
    with bench.archive.open(bench.archive.find_copy("acc", SESSION)) as file:
        assert content.splitlines(keepends=True) == list(file)


@pytest.mark.parametrize("content", [b"", b"\n", b"x" * (9 << 20), b"no newline", b"\x00\xff\n\r\n"])
def test_any_bytes_are_kept(bench, content):
    bench.write(content=content)
    bench.keep()

    assert hashlib.sha256(content).digest() == hashlib.sha256(bench.content()).digest()


def test_nothing_is_read_where_nothing_changed(bench):
    path = bench.write(content=lines(10))
    bench.keep()
    path.chmod(0)

    assert (1, 0, 0, []) == ((done := bench.keep()).looked_at, done.kept, done.read_bytes, done.notes)


def test_appended_transcript_is_read_and_stored_from_its_last_chunk_on(bench):
    content = lines(6_000)
    path = bench.write(content=content)
    first = bench.keep()
    before = set(bench.objects())
    with path.open("ab") as file:
        file.write(lines(5, seed=1))

    done = bench.keep()

    assert bench.content() == content + lines(5, seed=1)
    assert done.read_bytes < first.read_bytes / 5
    assert len(before - set(bench.objects())) <= 1
    assert 1 == len(rows.of_session(bench.store, "acc", SESSION))


def test_equal_transcripts_are_stored_once(bench):
    bench.write(content=lines(3000))
    bench.write(OTHER, lines(3000))
    bench.keep()

    together = bench.objects()
    (bench.project / f"{OTHER}.jsonl").unlink()
    assert len(together) == len(set(rows.chunks_of(bench.store, bench.archive.find_copy("acc", SESSION))))


def test_edited_transcript_shares_what_was_not_edited(bench):
    content = lines(6_000)
    path = bench.write(content=content)
    bench.keep()
    before = set(bench.objects())
    middle = content.index(b"\n", len(content) // 2)
    path.write_bytes(content[:middle] + b" " + content[middle:])

    bench.keep()

    assert 1 <= len(set(bench.objects()) - before) <= 3


def test_what_a_rewritten_transcript_held_is_still_there(bench):
    path = bench.write(content=b"one\n")
    bench.keep()
    path.write_bytes(b"another\n")
    bench.keep()

    earlier = rows.find_superseded(bench.store, "acc", path)
    with bench.archive.open(earlier[0]) as file:
        assert b"one\n" == file.read()
    assert b"another\n" == bench.content()


def test_only_three_earlier_states_are_left(bench):
    for number in range(8):
        path = bench.write(content=f"{number}\n".encode(), age_days=8 - number)
        bench.keep()

    assert 3 == len(rows.find_superseded(bench.store, "acc", path))
    assert 4 == len(bench.objects())


def test_own_folder_of_a_session_is_kept_and_restored_with_it(bench, tmp_path):
    bench.write(content=b"{}\n")
    part = bench.project / SESSION / "subagents" / "agent-a.jsonl"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"inner\n")
    bench.keep()

    done = bench.archive.restore("acc", SESSION, tmp_path / "to")

    assert [f"{SESSION}.jsonl", f"{SESSION}/subagents/agent-a.jsonl"] == [
        str(one.path.relative_to(tmp_path / "to")) for one in done
    ]
    assert b"inner\n" == (tmp_path / "to" / SESSION / "subagents" / "agent-a.jsonl").read_bytes()


def test_deleted_transcript_comes_back_where_it_was(bench):
    path = bench.write(content=lines(2000), age_days=29)
    bench.keep()
    path.unlink()
    assert CopyState.ONLY_COPY is bench.state()

    done = bench.archive.restore("acc", SESSION)

    assert (path, False) == (done[0].path, done[0].was_there)
    assert lines(2000) == path.read_bytes()
    assert 0o600 == path.stat().st_mode & 0o777
    assert bench.archive.restore("acc", SESSION)[0].was_there


def test_restoring_never_takes_the_place_of_another_file(bench):
    path = bench.write(content=b"one\n")
    bench.keep()
    path.write_bytes(b"two\n")

    with pytest.raises(FileExists):
        bench.archive.restore("acc", SESSION)
    assert b"two\n" == path.read_bytes()


@pytest.mark.parametrize("harm", [b"", b"garbage", None])
def test_damaged_copy_is_told_and_nothing_is_written(bench, tmp_path, harm):
    bench.write(content=lines(3000))
    bench.keep()
    victim = next((bench.archive.folder / "objects").rglob("*.z"))
    victim.unlink() if harm is None else victim.write_bytes(harm)

    with pytest.raises(ArchiveDamaged):
        bench.archive.restore("acc", SESSION, tmp_path / "to")
    assert [] == list((tmp_path / "to").iterdir())


def test_what_another_state_file_keeps_is_never_swept(bench, tmp_path):
    content = lines(40)
    path = bench.write(content=content)
    bench.keep()
    path.unlink()
    known, fresh = bench.archive, open_store(tmp_path / "fresh.db")
    home = Home("acc", StorageType.CLAUDE_CODE, bench.root)
    bench.archive = Archive(fresh, known.folder, {"acc": home}, bench.clock)
    bench.write(OTHER, lines(5, seed=1))
    bench.keep()
    ArchiveKeeper(bench.archive, 0).prune()

    bench.archive = known
    assert content == bench.content()


@pytest.mark.parametrize("at_s", [10_500_000_000, -10_500_000_000])  # 2302 and 1637
def test_a_file_of_an_impossible_day_is_kept_with_the_rest(bench, at_s):
    odd = bench.write(content=lines(3))
    os.utime(odd, (at_s, at_s))
    bench.write(OTHER, lines(4))

    assert (None, None) == (bench.keep().problem, bench.keep().problem)
    assert [lines(3), lines(4)] == [bench.content(), bench.content(OTHER)]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every folder")
def test_a_copy_is_not_called_the_only_one_where_nobody_may_look(bench):
    bench.write()
    bench.keep()
    bench.project.chmod(0)
    try:
        assert CopyState.ONLY_COPY is not bench.state()
    finally:
        bench.project.chmod(0o700)


def test_unknown_session_is_not_found(bench):
    with pytest.raises(SessionNotFound):
        bench.archive.restore("acc", SESSION)


def test_everything_in_the_archive_is_for_its_owner_alone(bench):
    bench.write(content=lines(10))
    bench.keep()

    found = [bench.archive.folder, *bench.archive.folder.rglob("*")]
    assert {0} == {path.stat().st_mode & 0o077 for path in found}


def test_limit_gives_up_the_oldest_whose_file_is_there(bench):
    for age, session in enumerate((SESSION, OTHER)):
        bench.write(session, lines(1000, seed=age), age_days=age)
    size = bench.keep().stored_bytes

    done = bench.keep(limit=size - 1)
    bench.write("5169694d-de0f-40d1-890c-6e28e55bab28", b"{}\n")
    done = bench.keep(limit=size - 1)

    assert 1 == done.given_up
    assert (CopyState.KEPT, CopyState.GIVEN_UP) == (bench.state(), bench.state(OTHER))
    assert done.stored_bytes < size


def test_copy_that_was_given_up_is_not_made_again_while_there_is_no_room(bench):
    for age, session in enumerate((SESSION, OTHER)):
        bench.write(session, lines(1000, seed=age), age_days=age)
    size = bench.keep().stored_bytes
    ArchiveKeeper(bench.archive, int(size * 0.6)).prune()

    assert 0 == bench.keep(limit=int(size * 0.6)).kept
    assert 1 == bench.keep(limit=size * 10).kept


def test_only_copies_stay_unless_they_are_named(bench):
    path = bench.write(content=lines(1000))
    bench.keep()
    path.unlink()
    keeper = ArchiveKeeper(bench.archive, 10)

    spared, named = keeper.prune(), keeper.prune(only_copies=True)

    assert ((), True) == (spared.copies, spared.is_over)
    assert ([SESSION], False) == ([copy.session_id for copy in named.only_copies], named.is_over)
    assert CopyState.LOST is bench.state()
    assert [] == bench.objects()


def test_a_copy_whose_transcript_became_a_link_is_the_only_one_and_stays(bench, tmp_path):
    path = bench.write(content=lines(1000))
    bench.keep()
    path.unlink()
    path.symlink_to("/etc/passwd")
    state, spared = bench.state(), ArchiveKeeper(bench.archive, 10).prune()
    bench.keep()

    assert (CopyState.ONLY_COPY, (), True) == (state, spared.copies, spared.is_over)
    (restored,) = bench.archive.restore("acc", SESSION, tmp_path / "to")
    assert lines(1000) == restored.path.read_bytes()


def test_archive_full_of_only_copies_says_so(bench):
    path = bench.write(content=lines(1000), age_days=1)
    size = bench.keep().stored_bytes
    path.unlink()
    bench.write(OTHER, lines(500, seed=1))

    done = bench.keep(limit=size // 2)

    assert ["the archive is full of only copies"] == [note.partition(" (")[0] for note in done.notes]
    assert bench.archive.find_copy("acc", SESSION) is not None


def test_first_history_over_the_limit_keeps_its_newest(bench):
    names = [f"5169694d-de0f-40d1-890c-{number:012}" for number in range(300)]
    for age, name in enumerate(names):
        bench.write(name, lines(4, seed=age), age_days=age)

    done = bench.keep(limit=100_000)

    kept = [name for name in names if bench.archive.find_copy("acc", name)]
    assert kept == names[: len(kept)]
    assert 20 < len(kept) < 300
    assert done.stored_bytes <= 100_000
    assert 0 == bench.keep(limit=100_000).read_bytes


def test_at_risk_is_what_the_cli_may_delete_soon(bench):
    bench.write(content=b"{}\n", age_days=28)
    bench.write(OTHER, b"{}\n", age_days=1)

    found = bench.archive.at_risk()

    assert [(SESSION, CopyState.NOT_KEPT)] == [(one.session_id, one.keeping) for one in found]
    assert timedelta(days=2) == found[0].due - bench.clock.now()
    bench.keep()
    assert [CopyState.KEPT] == [one.keeping for one in bench.archive.at_risk()]


@pytest.mark.parametrize(
    ("settings", "days"),
    [('{"cleanupPeriodDays": 90}', 90), ('{"cleanupPeriodDays": "x"}', 30), ("rubbish", 30), ("[]", 30)],
)
def test_period_is_the_one_of_the_cli_s_settings(bench, settings, days):
    (bench.root.parent / "settings.json").write_text(settings)
    bench.write(content=b"{}\n")
    bench.keep()

    assert timedelta(days=days) == bench.archive.status("acc", SESSION).due - bench.clock.now()


def test_codex_deletes_nothing(tmp_path):
    assert Home("c", StorageType.CODEX_SESSION, tmp_path).cleanup_after() is None


def test_scan_without_news_looks_at_nothing(bench):
    bench.write()
    keeper = ArchiveKeeper(bench.archive, 0)

    assert 1 == after_scan(keeper, 5.0).kept
    assert after_scan(keeper, 5.0) is None
    with bench.store.write():
        at = "2026-04-17T08:00:00.000000Z"
        bench.store.insert(
            "session_turns",
            provider_name="acc",
            session_id=SESSION,
            turn_id="t",
            timestamp=at,
            role="user",
            ingested_at=at,
        )
    assert 0 == after_scan(keeper, 5.0).kept


def test_budget_leaves_the_oldest_for_another_time(bench):
    for age, session in enumerate((SESSION, OTHER)):
        bench.write(session, lines(10, seed=age), age_days=age)

    done = bench.keep(budget_s=-1.0)

    assert (0, False) == (done.kept, done.is_complete)
    assert 2 == after_scan(ArchiveKeeper(bench.archive, 0), 5.0).kept


def test_what_a_cli_deletes_soon_is_kept_whatever_the_budget(bench):
    """It was left for another time as the oldest, and told as at risk until then; on a slow disk that was for long."""
    for session, age in ((SESSION, 29), (OTHER, 1)):
        bench.write(session, lines(10, seed=age), age_days=age)
    keeper = ArchiveKeeper(bench.archive, 0)

    assert 0 == after_scan(keeper, -1.0).kept
    done = after_scan(keeper, -1.0, rescues=True)

    assert (1, False) == (done.kept, done.is_complete)
    assert CopyState.KEPT is bench.state(SESSION)
    assert bench.archive.find_copy("acc", OTHER) is None


def test_what_a_cli_deletes_soon_comes_first(bench, monkeypatch):
    ages = (0, 29, 2, 26, 20)
    names = {age: f"5169694d-de0f-40d1-890c-6e28e55bab{age:02}" for age in ages}
    for age, session in names.items():
        bench.write(session, lines(1, seed=age), age_days=age)
    taken, opening = [], keeping.open_transcript
    monkeypatch.setattr(keeping, "open_transcript", lambda path, most: taken.append(path.stem) or opening(path, most))
    bench.keep(budget_s=60.0)

    assert [names[age] for age in (26, 29, 0, 2, 20)] == taken


def test_busy_archive_is_left_to_whoever_fills_it(bench):
    bench.write()
    with try_lock(bench.archive.folder / "archive.lock"):
        done = bench.keep()

    assert (True, 0) == (done.is_busy, done.kept)


def test_unreadable_transcript_is_noted_and_the_rest_is_kept(bench):
    bench.write(content=b"one\n")
    os.mkfifo(bench.project / f"{OTHER}.jsonl")
    (bench.project / "5169694d-de0f-40d1-890c-6e28e55bab29.jsonl").symlink_to("/etc/passwd")

    done = bench.keep()

    assert (1, 1) == (done.looked_at, done.kept)


def test_folder_that_cannot_be_written_is_a_problem_and_no_exception(bench):
    bench.write()
    bench.archive.folder.write_text("in the way")

    assert "cannot be written" in bench.keep().problem


def test_kept_at_is_the_instant_of_the_keeping(bench):
    bench.write()
    bench.keep()

    assert bench.clock.now() == from_text(bench.archive.find_copy("acc", SESSION).kept_at)


def test_run_keeps_its_own_session_and_looks_at_no_other(bench):
    bench.write(content=lines(3))
    bench.keep()
    bench.write(content=lines(4))
    bench.write(OTHER, lines(5))
    after_run(ArchiveKeeper(bench.archive, 0), "acc", SESSION, 5.0)

    assert lines(4) == bench.content()
    assert bench.archive.find_copy("acc", OTHER) is None


def test_run_looks_at_everything_where_nobody_has_for_hours(bench):
    bench.write(content=lines(3))
    bench.write(OTHER, lines(5))
    after_run(ArchiveKeeper(bench.archive, 0), "acc", SESSION, 5.0)

    assert lines(5) == bench.content(OTHER)


@pytest.mark.parametrize(("hours", "is_recent"), [(1, True), (7, False), (-1, False)])
def test_look_through_holds_for_some_hours_and_no_clock_that_jumps_prolongs_it(bench, hours, is_recent):
    keeper = ArchiveKeeper(bench.archive, 0)
    bench.keep()
    at = time.time() - hours * 3600
    os.utime(bench.archive.folder / "looked", (at, at))

    assert is_recent is keeper.was_looked_through()


def test_budget_counts_from_the_first_file_on(bench, monkeypatch):
    """A look through ten thousand files takes longer than a short budget: something is kept all the same."""
    bench.write(content=lines(3))
    known, begun = rows.latest_of, time.monotonic()

    def slow(store, account):
        monkeypatch.setattr(time, "monotonic", lambda: begun + 10)
        return known(store, account)

    monkeypatch.setattr(rows, "latest_of", slow)

    assert 1 == bench.keep(budget_s=0.3).kept


def test_accounts_of_other_clis_have_no_home_in_the_archive(tmp_path):
    scripts = {name: SessionScripts(f"{name}-turns /somewhere", None) for name in ("gemini", "opencode")}

    assert () == homes({}, scripts, tmp_path)
