"""A migration and an appending that are killed before each of their changes to the disk lose nothing."""

import os
import signal
import sys
from itertools import count

from oulipoly_engine.core.transcripts.session_file.entry import Header, SessionEntry
from oulipoly_engine.service.sessions.session_files import SessionWriter, migrate, read

CHANGES = ("os.rename", "os.link", "os.remove")
LONGEST = 1 << 20
OLD = b'{"role":"user","content":"one"}\n{"role":"assistant","content":"two"}\n{"role":"user","content":"thr'
TALK = (
    SessionEntry("1", None, role="user", text="one"),
    SessionEntry("2", "1", role="assistant", text="two"),
    SessionEntry("3", "2", role="user", text="three"),
)


def killed_before_change(number, work):
    """Do some work in a child that is killed before one of its changes to the disk, and return whether it was."""
    child = os.fork()
    if not child:
        numbers = count(1)

        def die(event, arguments):
            is_change = event in CHANGES or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR))
            if is_change and next(numbers) == number:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(die)
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_a_killed_migration_leaves_the_old_file_or_the_new_one_with_the_old_one_beside_it(tmp_path):
    path, before = tmp_path / "s.jsonl", ["one", "two"]
    backup = tmp_path / "s.jsonl.bak-v0"
    for number in count(1):
        path.write_bytes(OLD)
        backup.unlink(missing_ok=True)
        was_killed = killed_before_change(number, lambda: migrate(path, LONGEST))

        assert before == [entry.text for entry in read(path, LONGEST).entries]
        assert OLD in [file.read_bytes() for file in (path, backup) if file.exists()]
        migrate(path, LONGEST)
        assert (2, before) == (
            read(path, LONGEST).header.version,
            [entry.text for entry in read(path, LONGEST).entries],
        )
        assert {OLD} == {file.read_bytes() for file in tmp_path.glob("s.jsonl.bak-*")}
        assert [] == list(tmp_path.glob(".*.tmp"))
        if not was_killed:
            break

    assert number > 3


def test_a_killed_writer_leaves_the_entries_of_whole_calls(tmp_path):
    for number in count(1):
        path = tmp_path / f"{number}.jsonl"

        def talk(path=path):
            writer = SessionWriter(path, Header("s", 2))
            for entry in TALK:
                writer.append(entry)

        was_killed = killed_before_change(number, talk)
        ids = [entry.id for entry in read(path, LONGEST).entries] if path.exists() else []

        assert ids in ([], ["1", "2"], ["1", "2", "3"])
        if not was_killed:
            break

    assert (["1", "2", "3"], True) == (ids, number > 3)
