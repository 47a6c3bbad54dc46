"""The artifact store: versions, contents beside it, labels, removal, collection, limits; and damage that is named."""

import fcntl
import io
import os
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.artifacts.addresses import Address, scratchpad_of
from oulipoly_engine.core.artifacts.versions import NewVersion
from oulipoly_engine.errors import ArtifactCollision, ArtifactInputFailed, ArtifactMissing, ArtifactStoreUnusable
from oulipoly_engine.facade.artifacts import diff
from oulipoly_engine.service.artifacts.artifact_store import make_store, opened

PLAN = Address("plan", "todo.md")
LARGE = b"a large content " * 20_000
UUID = "550e8400-e29b-41d4-a716-446655440000"


class Later(SystemClock):
    days = 0

    def now(self):
        return super().now() + timedelta(days=self.days)


@pytest.fixture
def clock():
    return Later()


@pytest.fixture
def store(tmp_path, clock):
    made, is_new = make_store(tmp_path / "artifacts.db", clock)
    assert is_new
    yield made
    made.file.close()


@pytest.fixture
def files(tmp_path):
    """Return a function that lists the files of contents."""
    return lambda: sorted(path for path in tmp_path.rglob("*") if path.is_file() and ".contents" in str(path.parent))


def content(store, address):
    return b"".join(store.read(address)[1])


@pytest.mark.parametrize("data", [b"", b"small", LARGE], ids=["empty", "small", "large"])
def test_what_is_put_is_got(store, data, tmp_path):
    version = store.put(NewVersion(PLAN, UUID, "text/plain", "it is good", labels=("draft",)), io.BytesIO(data))

    assert (1, len(data), UUID) == (version.number, version.content_len, version.producer)
    assert ("text/plain", "it is good", ("draft",)) == (version.format_hint, version.verdict_line, version.labels)
    assert data == content(store, PLAN) == content(store, PLAN.at(1))
    store.save(PLAN, tmp_path / "saved")
    assert data == (tmp_path / "saved").read_bytes()
    assert 0o600 == (tmp_path / "saved").stat().st_mode & 0o777


def test_the_same_content_lies_there_once_and_a_collection_keeps_it_as_long_as_anything_names_it(store, files):
    first, second = store.put(NewVersion(PLAN), LARGE), store.put(NewVersion(Address("other", "x")), LARGE)
    assert 1 == len(files())

    store.remove(first.address, "me", "old")
    assert 0 == store.collect().files
    assert LARGE == content(store, second.address)

    store.remove(second.address, "me", "old")
    assert (1, len(LARGE)) == (store.collect().files, len(LARGE))
    assert not files()


def test_a_removed_version_is_told_and_its_number_is_not_used_again(store):
    store.put(NewVersion(PLAN), b"one")
    version = store.put(NewVersion(PLAN), b"two")
    store.remove(version.address, "me", "wrong")

    assert b"one" == content(store, PLAN)
    with pytest.raises(ArtifactMissing, match=r"was removed by me at .*: wrong"):
        store.read(version.address)
    assert 3 == store.put(NewVersion(PLAN), b"three").number
    store.collect()
    assert [1, 3] == [one.number for one in store.file.versions("plan")]
    assert [1, 2, 3] == [one.number for one in store.file.versions("plan", with_removed=True)]


def test_a_label_names_the_latest_version_that_has_it(store):
    for text, labels in ((b"one", ("good",)), (b"two", ("good",)), (b"three", ())):
        store.put(NewVersion(PLAN, labels=labels), text)

    assert b"two" == content(store, Address("plan", "todo.md", label="good"))
    with store.file.write():
        store.file.unlabel(PLAN.at(2), "good")
    assert b"one" == content(store, Address("plan", "todo.md", label="good"))
    with pytest.raises(ArtifactMissing, match="with the label bad"):
        store.read(Address("plan", "todo.md", label="bad"))


def test_a_version_made_from_one_that_is_not_the_latest_is_refused_and_leaves_nothing(store, files):
    store.put(NewVersion(PLAN), b"one")
    store.put(NewVersion(PLAN, predecessor=1), b"two")

    with pytest.raises(ArtifactCollision, match="has version 2 by now"):
        store.put(NewVersion(PLAN, predecessor=1), LARGE)
    with pytest.raises(ArtifactMissing, match="no such version"):
        store.put(NewVersion(PLAN, predecessor=7), LARGE)
    assert [] == files()


def test_what_invocations_keep_expires_after_seven_days(store, clock):
    note = Address(scratchpad_of(UUID), "note")
    store.put(NewVersion(note), b"x")
    store.put(NewVersion(PLAN), b"x")
    clock.days = 6.9
    assert () == store.collect().expired
    clock.days = 7.1

    assert [note.at(1)] == [one.address for one in store.collect().expired]
    assert [PLAN.at(1)] == [one.address for one in store.file.versions()]


def test_what_is_only_called_like_a_scratchpad_does_not_expire(store, clock):
    store.put(NewVersion(Address("Scratchpad:mine", "x")), b"x")
    clock.days = 8

    assert () == store.collect().expired


def test_a_link_to_a_store_is_the_same_store(store, tmp_path, clock):
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.db"
    link.symlink_to(store.file.path)
    with opened(link, clock) as linked:
        linked.put(NewVersion(PLAN), LARGE)

    assert LARGE == content(store, PLAN)


def test_a_put_whose_store_was_replaced_is_refused(store, tmp_path, clock):
    for path in tmp_path.glob("artifacts.db*"):
        path.unlink()
    make_store(tmp_path / "artifacts.db", clock)[0].file.close()

    with pytest.raises(ArtifactStoreUnusable, match="was taken away while it was in use"):
        store.put(NewVersion(PLAN), LARGE)


def test_a_collection_between_making_and_locking_a_file_costs_a_put_nothing(store, tmp_path, monkeypatch):
    calls = []

    def lock_late(descriptor, kind):
        calls.append(kind)
        if len(calls) == 1:
            assert 1 == store.collect().files
        real(descriptor, kind)

    real = fcntl.flock
    monkeypatch.setattr("fcntl.flock", lock_late)
    store.put(NewVersion(PLAN), LARGE)

    assert LARGE == content(store, PLAN)


def test_a_collection_leaves_alone_what_is_not_named_by_a_hash(store, tmp_path):
    other = tmp_path / "artifacts.db.contents" / "go" / "gopher"
    other.parent.mkdir(parents=True)
    other.write_text("x")

    assert 0 == store.collect().files
    assert other.exists()


def test_a_pipe_that_was_left_non_blocking_is_read_to_its_end(store):
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.write(writing, b"one ")
    with os.fdopen(reading, "rb") as source, ThreadPoolExecutor(1) as pool:

        def write():
            while not os.get_blocking(reading):  # until all of the first part was read
                time.sleep(0.001)
            os.write(writing, b"two")
            os.close(writing)

        done = pool.submit(write)
        store.put(NewVersion(PLAN), source)
        done.result()

    assert b"one two" == content(store, PLAN)


def test_saving_keeps_links_and_replaces_nothing_but_files(store, tmp_path):
    store.put(NewVersion(PLAN), b"new")
    link, file, fifo = tmp_path / "link", tmp_path / "file", tmp_path / "fifo"
    file.write_text("old")
    link.symlink_to(file)
    os.mkfifo(fifo)

    store.save(PLAN, link)
    assert (True, "new") == (link.is_symlink(), file.read_text())
    for place in (fifo, tmp_path, tmp_path / "x\0"):
        with pytest.raises(ArtifactInputFailed, match="cannot write"):
            store.save(PLAN, place)
    assert fifo.is_fifo()


@pytest.mark.parametrize(
    "change",
    [
        f"UPDATE artifact_versions SET sha256 = '{'../' * 20}etc/passwd', content = NULL",
        "UPDATE artifact_versions SET sha256 = x'00'",
        "UPDATE artifact_versions SET artifact_name = x'00'",
        "UPDATE artifact_versions SET content_len = 1.5",
        "UPDATE artifact_versions SET verdict_line = x'00'",
        "UPDATE artifact_versions SET created_at = 'yesterday'",
        "UPDATE artifact_versions SET content = 1000000000000",
        "UPDATE artifact_versions SET content = 'x'",
        "INSERT INTO schema_meta VALUES ('limit_bytes', 'lots')",
    ],
)
def test_a_store_that_somebody_has_changed_is_called_damaged(store, change):
    store.put(NewVersion(PLAN), b"x")
    with closing(sqlite3.connect(store.file.path)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = 1")
        connection.execute(change)

    def read_and_put():
        for one in store.file.versions():
            content(store, one.address)
        store.put(NewVersion(PLAN), b"x")

    with pytest.raises(ArtifactStoreUnusable, match="is damaged"):
        read_and_put()


def test_a_store_with_a_limit_takes_no_more_and_counts_a_content_once(store, files):
    with store.file.write():
        store.file.set_limit(len(LARGE) + 100)
    store.put(NewVersion(PLAN), LARGE)
    store.put(NewVersion(PLAN), LARGE)

    with pytest.raises(ArtifactStoreUnusable, match="may hold 320 kB"):
        store.put(NewVersion(PLAN), b"x" * 101)
    with pytest.raises(ArtifactStoreUnusable, match="raise the limit"):
        store.put(NewVersion(PLAN), LARGE + b"x")
    assert 1 == len(files())
    store.put(NewVersion(PLAN), b"x" * 100)


def test_a_store_with_a_limit_reads_no_pipe_without_an_end(store, files):
    with store.file.write():
        store.file.set_limit(100_000)

    with open("/dev/zero", "rb") as endless, pytest.raises(ArtifactStoreUnusable, match="raise the limit"):  # noqa: PTH123
        store.put(NewVersion(PLAN), endless)
    assert [] == files()


@pytest.mark.parametrize(
    ("change", "why"), [("cut", "1000 bytes"), ("changed", "another hash"), ("gone", "No such file")]
)
def test_a_content_that_is_not_what_was_stored_is_never_given_out_as_it(store, files, tmp_path, change, why):
    store.put(NewVersion(PLAN), LARGE)
    (file,) = files()
    data = {"cut": LARGE[:1000], "changed": LARGE.replace(b"large", b"LARGE")}.get(change)
    file.unlink() if data is None else file.write_bytes(data)
    place = tmp_path / "saved"
    place.write_text("before")

    with pytest.raises(ArtifactMissing, match=why if change != "cut" else "another hash"):
        store.save(PLAN, place)
    with pytest.raises(ArtifactMissing, match=why) if change != "changed" else pytest.raises(ArtifactMissing):
        store.copy(PLAN, NewVersion(Address("b", "c"))) if change != "changed" else store.save(PLAN, place)
    assert "before" == place.read_text()
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".part")]
    store.put(NewVersion(PLAN), LARGE)  # heals it
    assert LARGE == content(store, PLAN)


def test_a_source_that_fails_leaves_nothing(store, files):
    class Failing(io.RawIOBase):
        left = 3

        def readable(self):
            return True

        def read(self, size=-1):
            self.left -= 1
            if not self.left:
                raise OSError(5, "Input/output error")
            return b"x" * min(size, 100_000)

    with pytest.raises(ArtifactInputFailed, match="Input/output error"):
        store.put(NewVersion(PLAN), Failing())
    assert ([], ()) == (files(), store.file.versions())


def test_threads_put_without_gap_or_double(store):
    def put(number):
        try:
            return store.put(NewVersion(PLAN), b"%d" % number + b"x" * (number % 2 * 70_000)).number
        finally:
            store.file.close()

    with ThreadPoolExecutor(8) as pool:
        numbers = [*pool.map(put, range(40))]

    assert [*range(1, 41)] == sorted(numbers)


@pytest.mark.parametrize("kind", ["missing", "folder", "another", "rubbish", "newer", "locked"])
def test_a_file_that_is_not_a_store_is_refused_and_left_alone(tmp_path, kind, clock):
    path = tmp_path / "some.db"
    if kind == "folder":
        path.mkdir()
    elif kind == "rubbish":
        path.write_bytes(b"no database at all " * 100)
    elif kind == "another":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE mine (x)")
    elif kind in ("newer", "locked"):
        make_store(path, clock)[0].file.close()
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("UPDATE schema_meta SET value = '2' WHERE ? = 'newer'", (kind,))
            connection.execute("PRAGMA journal_mode = DELETE")
    before = path.read_bytes() if path.is_file() else None
    if kind == "locked":
        with closing(sqlite3.connect(path, isolation_level=None)) as connection, opened(path, clock) as store:
            connection.execute("BEGIN EXCLUSIVE")
            store.file._connections.note_refusal()  # else it would wait for five seconds
            with pytest.raises(ArtifactStoreUnusable, match="locked by another process"):
                store.put(NewVersion(PLAN), b"x")
        return
    with pytest.raises(ArtifactStoreUnusable, match=str(path)), opened(path, clock):
        pass
    assert before == (path.read_bytes() if path.is_file() else None)


def test_a_diff_hides_secrets_and_tells_of_what_is_not_a_text(store):
    key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
    for data in (f"one\nkey={key}\n".encode(), f"two\nkey={key}\n".encode(), b"\0\1", b"\0\1"):
        store.put(NewVersion(PLAN), data)

    lines = diff(store, PLAN.at(1), PLAN.at(2))
    assert ["-one", "+two"] == [line for line in lines if line[:1] in "+-" and line[:3] not in ("---", "+++")]
    assert key not in "".join(lines)
    assert ["- 58 bytes", "+ 2 bytes"] == [" ".join(line.split()[:3]) for line in diff(store, PLAN.at(1), PLAN.at(3))]
    assert () == diff(store, PLAN.at(3), PLAN.at(4))


def test_times_of_versions_are_of_the_clock(store):
    before = datetime.now(UTC)

    assert before <= store.put(NewVersion(PLAN), b"x").created_at <= datetime.now(UTC)
