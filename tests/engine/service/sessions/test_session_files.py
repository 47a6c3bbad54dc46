"""Session files on the disk: when they are written, what is kept of old ones, and what is never touched.

Conversation tree, vectors 22, 24, 26, 27 and 29.
"""

import fcntl
import json
import stat

import pytest

from oulipoly_engine.core.sessions.tree import build
from oulipoly_engine.core.transcripts.session_file.encode import encode
from oulipoly_engine.core.transcripts.session_file.entry import Header, SessionEntry
from oulipoly_engine.errors import NameTaken, RunnerError, SessionBusy, StorageUnsupported
from oulipoly_engine.records import replace
from oulipoly_engine.service.sessions.session_files import SessionWriter, migrate, read

LONGEST = 1 << 20
HEADER = Header("s", 2, "2026-11-20T12:00:00.000000Z", "/w")
ASKED = SessionEntry("1", None, role="user", text="one", at="2026-11-20T12:00:01.000000Z")
ANSWERED = SessionEntry("2", "1", role="assistant", text="two", at="2026-11-20T12:00:02.000000Z")
MORE = SessionEntry("3", "2", role="user", text="three")
BARE = b"".join(b'{"role":"user","content":"%d"}\n' % number for number in range(3))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sessions" / "s.jsonl"


@pytest.fixture
def old(tmp_path):
    """A file of version 0, in the mode of its owner's choice."""
    file = tmp_path / "old" / "old.jsonl"
    file.parent.mkdir()
    file.write_bytes(BARE)
    file.chmod(0o640)
    return file


@pytest.fixture
def folder(tmp_path):
    """A folder with nothing in it."""
    own = tmp_path / "own"
    own.mkdir()
    return own


def ids(path):
    return [entry.id for entry in read(path, LONGEST).entries]


def texts(path):
    return [entry.text for entry in read(path, LONGEST).entries]


def test_nothing_is_written_before_the_first_answer_and_then_all_at_once(path):
    writer = SessionWriter(path, HEADER)
    writer.append(ASKED)
    existed_early = path.exists()
    writer.append(ANSWERED)
    first = path.read_bytes()
    writer.append(MORE)
    writer.close()

    assert (False, 3) == (existed_early, first.count(b"\n"))
    assert (True, ["1", "2", "3"]) == (path.read_bytes().startswith(first), ids(path))
    assert (HEADER, 0o600) == (read(path, LONGEST).header, stat.S_IMODE(path.stat().st_mode))


@pytest.mark.parametrize("entries", [[], [ASKED], [replace(ANSWERED, parent_id=None)]])
@pytest.mark.rows_share_fixtures
def test_a_session_in_which_nobody_asked_or_nobody_answered_leaves_no_file(path, entries):
    writer = SessionWriter(path, HEADER)
    for entry in entries:
        writer.append(entry)
    writer.close()

    assert not path.exists()


def test_a_session_goes_on_behind_a_torn_line_and_is_not_removed(path):
    path.parent.mkdir()
    whole = b"".join(encode(HEADER, [ANSWERED]))
    path.write_bytes(whole + b'{"id":"9","par')
    writer = SessionWriter.resume(path, LONGEST)
    writer.append(MORE)
    writer.close()

    assert path.read_bytes().startswith(whole + b'{"id":"9","par\n{"id":"3"')
    assert (["2", "3"], ["line 3: it is not JSON"]) == (
        ids(path),
        [problem.sentence for problem in read(path, LONGEST).problems],
    )


def test_a_last_line_that_lacks_its_newline_alone_is_kept(path):
    path.parent.mkdir()
    path.write_bytes(b"".join(encode(HEADER, [ASKED, ANSWERED])).rstrip(b"\n"))
    SessionWriter.resume(path, LONGEST).append(MORE)

    assert ["1", "2", "3"] == ids(path)


def test_old_files_are_read_as_they_are_and_migrated_with_the_old_one_kept(old):
    listed = read(old, LONGEST)
    unchanged = old.read_bytes()
    backup = migrate(old, LONGEST)
    migrated = read(old, LONGEST)

    assert (BARE, BARE, "old.jsonl.bak-v0") == (unchanged, backup.read_bytes(), backup.name)
    assert (0, 2, "old") == (listed.header.version, migrated.header.version, migrated.header.id)
    assert ["0", "1", "2"] == texts(old)
    assert [entry.id for entry in listed.entries] == ids(old)
    assert [None, *ids(old)[:2]] == [entry.parent_id for entry in migrated.entries]
    assert 0o640 == stat.S_IMODE(old.stat().st_mode)
    assert {"old.jsonl", "old.jsonl.bak-v0"} == {file.name for file in old.parent.iterdir()}
    assert migrate(old, LONGEST) is None


def test_another_file_of_the_backups_name_is_left_and_a_resumed_old_file_is_migrated(old):
    old.with_name("old.jsonl.bak-v0").write_bytes(b"mine")
    SessionWriter.resume(old, LONGEST).append(MORE)

    assert ["0", "1", "2", "three"] == texts(old)
    assert (b"mine", BARE) == tuple(old.with_name(f"old.jsonl.bak-v0{end}").read_bytes() for end in ("", ".2"))


def test_nobody_migrates_what_another_process_does(old):
    with old.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(SessionBusy, match=r"old\.jsonl is just being migrated"):
            migrate(old, LONGEST)

    assert BARE == old.read_bytes()


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (b"", 0),
        (b'{"type":"session","version":2}\n{"id":"1","message":{"role":"user","content":"hi"}}\n', 1),
        (BARE + b'{"type":"session","version":1,"id":"x"}\n', 4),
        (b'{"id":"1","parent_id":null,"message":{"role":"user","content":"hi"}}\n', 1),
    ],
    ids=["empty", "no id", "late header", "no header"],
)
@pytest.mark.rows_share_fixtures
def test_a_file_without_a_usable_header_counts_as_empty_and_is_never_written(folder, content, count):
    path = folder / "unusable.jsonl"
    path.write_bytes(content)

    assert ((), min(count, 1)) == (read(path, LONGEST).entries, read(path, LONGEST).problem_count)
    assert migrate(path, LONGEST) is None
    with pytest.raises(StorageUnsupported, match="left as it is"):
        SessionWriter.resume(path, LONGEST)
    assert (content, ["unusable.jsonl"]) == (path.read_bytes(), [file.name for file in folder.iterdir()])


@pytest.mark.parametrize("act", [read, migrate, SessionWriter.resume])
@pytest.mark.rows_share_fixtures
def test_a_newer_version_is_refused_by_name_and_never_rewritten(folder, act):
    path = folder / "new.jsonl"
    content = json.dumps({"type": "session", "version": 99, "id": "s"}).encode() + b"\n"
    path.write_bytes(content)
    with pytest.raises(StorageUnsupported, match=r"new\.jsonl: .*version 99.* version 2"):
        act(path, LONGEST)

    assert (content, ["new.jsonl"]) == (path.read_bytes(), [file.name for file in folder.iterdir()])


def test_files_of_pi_are_read_and_not_written(tmp_path):
    path = tmp_path / "pi.jsonl"
    path.write_text('{"type":"session","version":3,"id":"s"}\n')

    assert 3 == read(path, LONGEST).header.version
    with pytest.raises(StorageUnsupported, match="not a session file of version 2"):
        SessionWriter.resume(path, LONGEST)


def test_a_file_that_is_there_already_is_not_replaced_and_a_lost_one_is_told(path):
    path.parent.mkdir()
    path.write_bytes(b"somebody's")
    with pytest.raises(NameTaken, match="left as it is"):
        SessionWriter(path, HEADER).append(ANSWERED)
    assert b"somebody's" == path.read_bytes()

    path.unlink()
    writer = SessionWriter(path, HEADER)
    writer.append(ANSWERED)
    path.unlink()
    with pytest.raises(RunnerError, match=r"s\.jsonl cannot be written"):
        writer.append(MORE)


def test_a_fork_holds_the_path_to_its_entry_and_names_its_parent(path):
    entries = [SessionEntry(str(own), str(own - 1) if own > 1 else None, text=str(own)) for own in range(1, 7)]
    tree = build([*entries, SessionEntry("7", "4"), SessionEntry("8", "7", role="assistant")])
    path.parent.mkdir()
    path.write_bytes(b"".join(encode(HEADER, tree.entries)))
    before = path.read_bytes()
    fork = path.with_name("fork.jsonl")
    writer = SessionWriter(fork, Header("fork", 2, parent_session="s"))
    for entry in (*build(read(path, LONGEST).entries).path("4"), replace(ANSWERED, parent_id="4", id="9")):
        writer.append(entry)

    assert (["1", "2", "3", "4", "9"], "s") == (ids(fork), read(fork, LONGEST).header.parent_session)
    assert before == path.read_bytes()


def test_a_line_longer_than_the_limit_is_told_and_never_read_whole(path):
    path.parent.mkdir()
    path.write_bytes(b"".join(encode(HEADER, [ASKED, replace(ASKED, id="long", text="x" * 5000), ANSWERED])))
    file = read(path, 1000)

    assert (["1", "2"], [3]) == ([entry.id for entry in file.entries], [problem.line for problem in file.problems])
