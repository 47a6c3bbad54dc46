"""Session files of other tools become sessions with all their branches, and go out again as they came."""

import json
import os
from datetime import UTC, datetime
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
        if path.stem in ("long", "linear_header_without_id", "compacted_header_without_id"):
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
