"""Session files of other tools become sessions with all their branches, and go out again as they came."""

import contextlib
import json
import os
import signal
import sqlite3
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

from oulipoly_engine.core.sessions.resolve import OF_FILES
from oulipoly_engine.core.transcripts import entry_tree
from oulipoly_engine.errors import RequestRefused, RunnerError, TurnNotFound
from oulipoly_engine.service.sessions.session_copies import fork_file, import_file, write_file
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.sessions import labels, leaves
from oulipoly_engine.store.sessions.sessions import list_sessions
from oulipoly_engine.store.transcripts.entry_pages import links

NOW = datetime(2026, 11, 29, tzinfo=UTC)
SHARED = Path(os.environ.get("SHARED_DIR") or Path(__file__).resolve().parents[5] / "shared")
DAMAGED = sorted((SHARED / "fixtures" / "sessions" / "damaged").glob("*.jsonl"))
FILES = sorted((SHARED / "fixtures" / "sessions").glob("pi-*/*.jsonl"))
LONGEST = 1 << 26


def read_lines(data):
    return [json.loads(line) for line in data.split(b"\n") if line.strip()]


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "state.db")
    yield opened
    opened.close()


@pytest.mark.skipif(not FILES, reason="no real session files: neither ../shared nor $SHARED_DIR has any")
def test_real_files_of_pi_keep_tree_leaf_and_labels_and_go_out_as_they_came(store, tmp_path):
    asked = 0
    for path in FILES:
        if path.stem == "long":
            continue
        told = json.loads(path.with_suffix(".json").read_text())
        done = import_file(store, path, tmp_path / "copies", LONGEST, NOW)
        assert len(told["parents"]) == done.entries, path
        assert 0 == import_file(store, path, tmp_path / "copies", LONGEST, NOW).new_entries
        assert done.leaf == leaves.find_leaf(store, OF_FILES, done.session_id)
        assert told["labels"] == labels.of_chain(store, done.chain_id)
        parents = entry_tree.parent_ids(links(store, OF_FILES, done.session_id))
        told_parents = {entry_id: parent for _, entry_id, parent, *_ in told["parents"] if parent is not None}
        if done.version > 1:  # ids of version 1 are made
            assert (told["leaf"], told_parents) == (done.leaf, parents), path
        (session,) = list_sessions(store, (done.chain_id,))
        if done.version == 3 and not done.problems:
            written = b"".join(write_file(store, session, tmp_path / "copies", LONGEST, 3))
            assert read_lines(path.read_bytes()) == read_lines(written), path
        asked += 1
    assert asked > 25


def test_a_file_without_a_session_is_refused_and_nothing_is_kept(store, tmp_path):
    cases = {b"": "no entry", b"{\n": "not JSON", b'{"type":"session","version":99,"id":"a"}\n': "version 99"}
    for content, why in cases.items():
        path = tmp_path / "s.jsonl"
        path.write_bytes(content)
        with pytest.raises((RequestRefused, RunnerError), match=why):
            import_file(store, path, tmp_path / "copies", LONGEST, NOW)
        assert content == path.read_bytes()
    assert (0, False) == (len(list_sessions(store)), (tmp_path / "copies").exists())


@pytest.mark.parametrize(("parent", "origin"), [("/x/2026_ab-cd.jsonl", "ab-cd"), ("my_session.2", "my_session.2")])
def test_a_parent_is_a_file_or_an_id(store, tmp_path, parent, origin):
    source = tmp_path / "s.jsonl"
    entry = {"id": "1", "message": {"role": "user", "content": "one"}}
    header = {"type": "session", "version": 2, "id": "source", "parent_session": parent}
    source.write_text(f"{json.dumps(header)}\n{json.dumps(entry)}\n")
    import_file(store, source, tmp_path / "copies", LONGEST, NOW)

    assert [(origin,)] == store.rows("SELECT forked_from FROM session_facts")


def test_a_fork_has_the_path_to_its_last_entry_with_ids_and_labels_and_names_its_parent(store, tmp_path):
    source = tmp_path / "s.jsonl"
    path = {"1": None, "2": "1", "3": "2", "4": "3", "5": "4", "6": "5", "7": "4", "8": "7"}
    lines = [{"type": "session", "version": 2, "id": "source", "cwd": "/w"}]
    lines += [
        {"id": each, "parent_id": parent, "message": {"role": "user", "content": each}, "timestamp": int(each) * 1000}
        for each, parent in path.items()
    ]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    copies = tmp_path / "copies"
    imported = import_file(store, source, copies, LONGEST, NOW)
    for entry_id in ("4", "6"):
        labels.put(store, imported.chain_id, entry_id, f"at {entry_id}", NOW)
    (session,) = list_sessions(store, (imported.chain_id,))

    for end, expected in (("4", ["1", "2", "3", "4"]), ("8", ["1", "2", "3", "4", "7", "8"])):
        done = fork_file(store, session, end, copies, LONGEST, NOW)
        placed = links(store, OF_FILES, done.session_id)
        assert (expected, end, {"4": "at 4"}) == (
            [link.entry_id for link in placed],
            leaves.find_leaf(store, OF_FILES, done.session_id),
            labels.of_chain(store, done.chain_id),
        )
        (fork,) = list_sessions(store, (done.chain_id,))
        written = b"".join(write_file(store, fork, copies, LONGEST, 2)).split(b"\n")
        assert ("source", "/w") == (json.loads(written[0])["parent_session"], json.loads(written[0])["cwd"])
        assert lines[1 : 1 + 4] == [{key: line[key] for key in lines[1]} for line in map(json.loads, written[1:5])]
    assert ("8", 8) == (leaves.find_leaf(store, OF_FILES, "source"), len(links(store, OF_FILES, "source")))
    with pytest.raises(TurnNotFound):
        fork_file(store, session, "9", copies, LONGEST, NOW)


@pytest.mark.skipif(not DAMAGED, reason="no damaged session files: neither ../shared nor $SHARED_DIR has any")
def test_damaged_files_come_in_with_all_that_can_be_read_or_are_refused_by_line(tmp_path):
    refused = {}
    for path in DAMAGED:
        before = path.read_bytes()
        with contextlib.closing(open_store(tmp_path / f"{path.stem}.db")) as store:
            try:
                done = import_file(store, path, tmp_path / "copies", LONGEST, NOW)
            except RunnerError as error:
                refused[path.stem] = error.message
                continue
            placed = links(store, OF_FILES, done.session_id)
            objects = [record for record in map(parse, before.split(b"\n")) if isinstance(record, dict)]
            assert len({link.entry_id for link in placed}) == len(placed) == done.entries == len(objects) - 1, path
            assert done.leaf == leaves.find_leaf(store, OF_FILES, done.session_id)
            assert before == path.read_bytes()

    assert {"empty", "header_second_line", "version_4"} == {*refused}
    assert all(f"{name}.jsonl" in message for name, message in refused.items())
    assert "line 1" in refused["header_second_line"]


@pytest.mark.parametrize("header", ["", '{"type":"session","version":1}\n'], ids=["version 0", "without an id"])
def test_two_files_of_one_name_that_tell_no_id_are_two_sessions(store, tmp_path, header):
    done = {}
    for folder, text in (("a", "one"), ("b", "two")):
        path = tmp_path / folder / "talk of mine.jsonl"
        path.parent.mkdir()
        path.write_text(f'{header}{{"type":"message","message":{{"role":"user","content":"{text}"}}}}\n')
        done[text] = [import_file(store, path, tmp_path / "copies", LONGEST, NOW) for _ in range(2)]

    assert [[1, 0], [1, 0]] == [[each.new_entries for each in twice] for twice in done.values()]
    assert 2 == len({twice[0].session_id for twice in done.values()})
    for text, (first, _) in done.items():
        (session,) = list_sessions(store, (first.chain_id,))
        written = b"".join(write_file(store, session, tmp_path / "copies", LONGEST, 2))
        assert (first.session_id, text) == (
            json.loads(written.split(b"\n")[0])["id"],
            json.loads(written.split(b"\n")[1])["message"]["content"],
        )


def parse(line):
    try:
        return json.loads(line.decode("utf-8-sig", "replace"))
    except ValueError:
        return None


@pytest.fixture
def long_file(tmp_path):
    """A file of more entries than are stored at once."""
    path = tmp_path / "long.jsonl"
    rows = [{"type": "session", "version": 2, "id": "long"}]
    for number in range(1201):
        message = {"role": "user", "content": f"words {number}"}
        rows.append({"id": str(number), "parent_id": str(number - 1) if number else None, "message": message})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_an_import_that_is_killed_between_two_pages_is_completed_by_the_next(long_file, tmp_path):
    child = os.fork()
    if not child:
        commits = count(1)
        connect = sqlite3.connect

        def die_at_third(statement):
            if statement == "COMMIT" and next(commits) == 3:
                os.kill(os.getpid(), signal.SIGKILL)

        store = open_store(tmp_path / "state.db")
        store.close()

        def traced(*words, **options):
            connection = connect(*words, **options)
            connection.set_trace_callback(die_at_third)
            return connection

        sqlite3.connect = traced
        import_file(open_store(tmp_path / "state.db"), long_file, tmp_path / "copies", LONGEST, NOW)
        os._exit(0)
    assert -signal.SIGKILL == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.closing(open_store(tmp_path / "state.db")) as store:
        assert (1000, 0) == (len(links(store, OF_FILES, "long")), len(list_sessions(store)))

        done = import_file(store, long_file, tmp_path / "copies", LONGEST, NOW)
        (session,) = list_sessions(store)
        assert (201, 1201, "1200") == (done.new_entries, len(links(store, OF_FILES, "long")), done.leaf)
        assert done.chain_id == session.chain_id


def test_two_imports_of_a_file_at_once_make_one_session(long_file, tmp_path):
    with contextlib.closing(open_store(tmp_path / "state.db")) as store:
        children = []
        for _ in range(2):
            child = os.fork()
            if not child:
                mine = open_store(tmp_path / "state.db")
                done = import_file(mine, long_file, tmp_path / "copies", LONGEST, NOW)
                os._exit(0 if done.entries == 1201 else 1)
            children.append(child)
        assert [0, 0] == [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        (session,) = list_sessions(store)

        assert (1201, "1200") == (len(links(store, OF_FILES, "long")), leaves.find_leaf(store, OF_FILES, "long"))
        written = b"".join(write_file(store, session, tmp_path / "copies", LONGEST, 2))
        assert [f"words {number}" for number in range(1201)] == [
            row["message"]["content"] for row in read_lines(written)[1:]
        ]
    assert 1 == len([*(tmp_path / "copies").iterdir()])
