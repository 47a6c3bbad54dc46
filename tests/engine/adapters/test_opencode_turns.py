"""opencode's database, as opencode 1.18.33 wrote it, through its adapter: read only, whoever writes meanwhile."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from oulipoly_engine.adapters.bundled import SessionCall, entry_reading, run_place, turn_call
from oulipoly_engine.adapters.scripts.opencode import OpencodeFailed, Reading, find_origin
from oulipoly_engine.adapters.scripts.turns import TurnsFailed

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "scripts" / "opencode-turns"
SQL = ROOT / "tests" / "fixtures" / "transcripts" / "opencode" / "opencode-1.18.33.sql"
FORK = "ses_e03b64746ffeDC5a0khpEgzF62"  # of LINEAR, by opencode itself
LINEAR, TASK = "ses_e03b6b4cbffeMCq4uCbKk1rWZt", "ses_e03b6610fffe59GtG6NFESfqB1"
NOW = 1795234060000


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "opencode"
    folder.mkdir()
    database = sqlite3.connect(folder / "opencode.db")
    database.execute("PRAGMA journal_mode = WAL")
    database.executescript(SQL.read_text())
    database.close()
    return folder


@pytest.fixture
def writer(folder):
    """opencode, running: what it writes stands in the write-ahead log."""
    database = sqlite3.connect(folder / "opencode.db", isolation_level=None)
    database.execute("PRAGMA wal_autocheckpoint = 0")
    yield database
    database.close()


def begin(database, message_id, role="user", session=LINEAR, at=NOW, **data):
    value = json.dumps({"role": role, "time": {"created": at}} | data)
    database.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (message_id, session, at, at, value))


def part(database, message_id, text, session=LINEAR, number=0):
    row = (f"prt_{message_id}_{number}", message_id, session, NOW, NOW, json.dumps({"type": "text", "text": text}))
    database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", row)


def end(database, message_id):
    database.execute("UPDATE message SET data = json_set(data, '$.time.completed', 1) WHERE id = ?", (message_id,))


def read(folder):
    reading = Reading(folder, folder.parent / "state")
    found = list(reading.turns())
    reading.keep()
    return found


def ids(folder):
    return [turn["turn_id"] for turn in read(folder)]


def test_real_sessions_are_read_with_parents_bodies_and_sub_agents(folder):
    turns = read(folder)

    linear = [turn for turn in turns if turn["session_id"] == LINEAR]
    assert 23 == len(turns)
    assert ["first", "echo: first", "second", "echo: second"] == [turn["body"][0]["text"] for turn in linear]
    assert [None, linear[0]["turn_id"], None, linear[2]["turn_id"]] == [turn["parent_turn_id"] for turn in linear]
    assert {TASK} == {turn["session_id"] for turn in turns if turn["is_sidechain"]}
    assert "2026-11-21T04:07:04.646Z" == linear[0]["timestamp"]


def test_an_answer_that_is_only_a_tools_call_says_so(folder):
    bodies = [turn.get("body") for turn in read(folder) if turn["role"] == "assistant"]

    assert [{"type": "tool_use"}] in bodies


def test_a_failed_answer_is_a_turn_without_a_body(folder):
    failed = [turn for turn in read(folder) if turn["turn_id"] == "msg_1fc49adf3001xUz0zoY63mFJDi"]

    assert ["assistant"] == [turn["role"] for turn in failed]
    assert "body" not in failed[0]


def test_second_pass_gives_nothing_and_nothing_is_left_beside_the_database(folder):
    before = (folder / "opencode.db").read_bytes()

    assert (23, []) == (len(read(folder)), read(folder))
    assert ["opencode.db"] == [path.name for path in folder.iterdir()]
    assert before == (folder / "opencode.db").read_bytes()


def test_an_answer_waits_for_its_end(folder, writer):
    read(folder)
    begin(writer, "msg_u")
    part(writer, "msg_u", "question")
    begin(writer, "msg_a", "assistant", parentID="msg_u")
    part(writer, "msg_a", "half an ans")
    early = ids(folder)
    part(writer, "msg_a", "wer", number=1)
    end(writer, "msg_a")
    found = read(folder)

    assert ["msg_u"] == early
    assert [["half an ans", "wer"]] == [[chunk["text"] for chunk in turn["body"]] for turn in found]
    assert [] == read(folder)


def test_an_answer_that_never_ends_counts_once_the_session_goes_on(folder, writer):
    begin(writer, "msg_a", "assistant")
    part(writer, "msg_a", "killed in the mid")
    read(folder)
    begin(writer, "msg_u")
    part(writer, "msg_u", "again")

    assert ["msg_a", "msg_u"] == ids(folder)


def test_a_database_that_was_replaced_is_read_anew(folder):
    read(folder)
    copy = folder / "copy.db"
    shutil.copy(folder / "opencode.db", copy)
    copy.replace(folder / "opencode.db")

    assert 23 == len(read(folder))


def test_numbers_given_again_after_a_deletion_hide_nothing(folder, writer):
    begin(writer, "msg_gone")
    part(writer, "msg_gone", "taken back")
    read(folder)
    writer.execute("DELETE FROM message WHERE id = 'msg_gone'")
    begin(writer, "msg_new")
    part(writer, "msg_new", "instead")

    assert "msg_new" in ids(folder)


def test_damaged_messages_are_named_and_the_rest_is_read(folder, writer):
    for number in range(5):
        writer.execute("INSERT INTO message VALUES (?, ?, 1, 1, ?)", (f"msg_{number}", LINEAR, "{oops"))
    reading = Reading(folder, folder.parent / "state")

    assert 23 == len(list(reading.turns()))
    assert 4 == len(reading.notes)
    assert "message msg_0: its data is not a JSON object" in reading.notes[0]
    assert reading.notes[-1].endswith("2 more damaged messages")


def test_what_a_message_lacks_is_told(folder, writer):
    begin(writer, "msg_a", role=None)
    begin(writer, "msg_b", at=10**18)
    part(writer, "msg_b", "late")
    begin(writer, "msg_c")
    part(writer, "msg_c", "kept")
    writer.execute("INSERT INTO part VALUES ('prt_z', 'msg_c', ?, 1, 1, '{oops')", (LINEAR,))
    reading = Reading(folder, folder.parent / "state")
    found = {turn["turn_id"]: turn for turn in reading.turns()}

    assert ("1970-01-01T00:00:00.000Z", "kept") == (found["msg_b"]["timestamp"], found["msg_c"]["body"][0]["text"])
    assert [
        "message msg_a: it has no `role`, left out",
        f"message msg_b: its time is not an instant: {10**18}, kept as of 1970",
        "message msg_c: 1 of its parts are not JSON objects, left out",
    ] == [note.partition(": ")[2] for note in reading.notes]
    assert "msg_a" not in found


@pytest.mark.parametrize("content", [b"no database at all" * 100, b""], ids=["foreign", "empty"])
def test_what_is_no_database_of_opencodes_is_refused_by_name(tmp_path, content):
    (tmp_path / "opencode.db").write_bytes(content)

    with pytest.raises(OpencodeFailed, match=r"cannot read .*opencode\.db") as failure:
        list(Reading(tmp_path, tmp_path / "state").turns())
    with pytest.raises(TurnsFailed, match="cannot read"):
        list(entry_reading(SessionCall("opencode-turns", tmp_path), tmp_path / "state").turns())
    assert 2 == failure.value.exit_code


def test_no_database_yet_is_no_failure(tmp_path):
    reading = Reading(tmp_path, tmp_path / "state")

    assert [] == list(reading.turns())
    assert "does not exist" in reading.notes[0]


def test_a_pass_that_is_not_kept_comes_again(folder):
    list(Reading(folder, folder.parent / "state").turns())

    assert 23 == len(read(folder))


def test_the_script_alone_prints_what_is_read_in_process(folder, tmp_path):
    copy = tmp_path / "bin" / "opencode-turns"
    copy.parent.mkdir()
    shutil.copy(SCRIPT, copy)
    environ = {"PATH": os.environ["PATH"], "STATE_DIR": str(tmp_path / "other")}

    done = subprocess.run([sys.executable, "-I", copy, folder], env=environ, capture_output=True, check=False)

    assert (0, b"") == (done.returncode, done.stderr)
    assert read(folder) == [json.loads(line) for line in done.stdout.splitlines()]


def test_a_bare_call_is_served_in_process(folder):
    call = turn_call(f"opencode-turns {folder}", folder)
    reading = entry_reading(call, folder.parent / "state")

    assert 23 == len(list(reading.turns()))
    reading.keep()
    assert [] == list(entry_reading(call, folder.parent / "state").turns())


def test_the_folder_of_a_session_is_told(folder, writer):
    writer.execute("UPDATE session SET directory = ? WHERE id = ?", (str(folder), LINEAR))
    said = [run_place(SessionCall("opencode-cwd", folder), one).stdout for one in (LINEAR, TASK, "ses_none")]

    assert {"found": True, "cwd": str(folder)} == json.loads(said[0])
    assert {"found": False, "error": "opencode_cwd_missing"} == json.loads(said[1])
    assert {"found": False} == json.loads(said[2])


def copy_session(database, source, name, title, most=99):
    """Fork a session as opencode does: new ids, old instants."""
    database.execute("CREATE TEMP TABLE copied AS SELECT * FROM session WHERE id = ?", (source,))
    database.execute("UPDATE copied SET id = ?, title = ?, time_created = time_created + 60000", (name, title))
    database.execute("INSERT INTO session SELECT * FROM copied")
    database.execute("DROP TABLE copied")
    copied = "SELECT id || ?, ?, time_created, time_updated, data FROM message WHERE session_id = ? ORDER BY id LIMIT ?"
    database.execute(f"INSERT INTO message {copied}", (name, name, source, most))


def test_a_fork_names_the_session_that_it_was_made_of(folder, writer):
    copy_session(writer, FORK, "ses_again", "echo: first (fork #2)")
    copy_session(writer, LINEAR, "ses_other", "echo: first (fork #1)", 2)
    copy_session(writer, LINEAR, "ses_named", "renamed since")

    found = {one: find_origin(folder, one) for one in (LINEAR, TASK, FORK, "ses_again", "ses_other", "ses_named")}

    assert {
        LINEAR: None, TASK: None, FORK: LINEAR, "ses_again": FORK, "ses_other": LINEAR, "ses_named": LINEAR,
    } == found  # fmt: skip


def test_reading_goes_on_while_opencode_writes(folder, writer):
    writer.execute("BEGIN IMMEDIATE")
    begin(writer, "msg_u")
    part(writer, "msg_u", "not yet")
    during = len(read(folder))
    writer.execute("COMMIT")

    assert 23 == during
    assert ["msg_u"] == ids(folder)
