"""The tree of a session by the facade: its filters and its search look into bodies as a naive reader of them does."""

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oulipoly_engine.clock import to_text
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.transcripts import entry_tree
from oulipoly_engine.core.transcripts.entry_text import chunk_kinds, text_of
from oulipoly_engine.core.transcripts.entry_tree import to_columns
from oulipoly_engine.core.transcripts.turn_script import NO_PARENT, BodyChunk, EntryLine, encode_body
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.facade.sessions import branches as facade
from oulipoly_engine.store.base.db import open_store
from oulipoly_engine.store.models.sessions import SegmentRow
from oulipoly_engine.store.sessions import chains, imported, labels
from oulipoly_engine.store.sessions.forks import ForkedSession
from oulipoly_engine.store.transcripts import entries
from oulipoly_engine.store.transcripts.entry_columns import find_parting, read_columns
from oulipoly_engine.store.transcripts.entry_pages import links

AT = datetime(2026, 1, 1, tzinfo=UTC)
SESSION = "5e550001-0000-4000-8000-000000000000"
SECRET = "sk-ant-api03-" + "Ab1Cd2Ef3G" * 4
KINDS = st.sampled_from(["text", "context", "tool_use", "tool_result", "thinking"])
TEXTS = st.sampled_from(
    ["", 'a {"type":"text"} b', "Über uns", 'say "hi" 50%_x', "漢字", "tool result", SECRET, "a\\b"]
)
CHUNKS = st.lists(st.tuples(KINDS, TEXTS), max_size=3)
OURS = CHUNKS.map(lambda chunks: encode_body([BodyChunk(*chunk) for chunk in chunks]))
FOREIGN = CHUNKS.map(lambda chunks: json.dumps([{"text": text, "type": kind} for kind, text in chunks], indent=1))
ODD = st.sampled_from([None, "", "[", '[{"type":"tool_result"', "[]", '[1,"x",null]', '[{"text":"hi"}]', "7", "null"])
BODIES = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), OURS | FOREIGN | ODD), min_size=1, max_size=12)


def put(engine, said, parents=None):
    """Store entries, each behind the one before it, or where it is said."""
    lines = [
        EntryLine(
            SESSION,
            f"e{number}",
            to_text(AT + timedelta(seconds=number)),
            role,
            parent_entry_id=NO_PARENT if not number else f"e{parents[number] if parents else number - 1}",
            body=body,
        )
        for number, (role, body) in enumerate(said)
    ]
    with engine.sessions.branches._home.lend_store() as store:
        with store.write():
            store.execute("DELETE FROM session_turns")
            entries.insert_new(store, "a", lines, AT)
            imported.adopt(store, "a", [SESSION])
        return chains.chain_of(store, "a", SESSION)


@pytest.fixture
def engine(home):
    home.mkdir(exist_ok=True)
    opened = Engine()
    yield opened
    opened.close()


@given(BODIES)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_filters_and_search_say_what_a_reader_of_each_body_says(engine, said):
    put(engine, said)
    tree = engine.sessions.branches.tree
    ids = {f"e{number}": (role, body) for number, (role, body) in enumerate(said)}
    kinds = {entry_id: chunk_kinds(body) for entry_id, (_, body) in ids.items()}

    assert [one for one in ids if not kinds[one] or {*kinds[one]} & {"text", "context"}] == [
        *tree(SESSION, "no-tools").entry_ids
    ]
    assert [one for one in ids if ids[one][0] == "user" and kinds[one] != ("tool_result",)] == [
        *tree(SESSION, "user", known=tree(SESSION, "labelled")).entry_ids
    ]
    for words in ("über", "HI", 'hi" 50%_', "字", "type", "tool", "text", "ant-api03", "x"):
        texts = {entry_id: text_of(body) for entry_id, (_, body) in ids.items()}
        expected = {one for one, text in texts.items() if words.casefold() in redact(text).casefold()}
        assert expected == engine.sessions.branches.find(SESSION, words)


def test_what_a_cli_says_first_in_its_users_name_is_shown_with_everything_alone(engine):
    texts = ("# AGENTS.md instructions", "<environment_context>\n  <cwd>/x</cwd>", "<environment_context> is what?")
    put(engine, [("user", encode_body([BodyChunk("text", text)])) for text in (*texts[:2], "Mend it.", texts[2])])
    tree = engine.sessions.branches.tree

    assert ["Mend it."] == [entry.preview for entry in tree(SESSION).entries][:1]
    assert 4 == len(tree(SESSION, "all").entries)


def test_columns_are_what_links_are_with_the_files_of_sub_agents(engine):
    sides = [(None, False), ("e0", False), (None, True), ("e2", True), ("gone", False)]
    lines = [
        EntryLine(SESSION, f"e{number}", to_text(AT), "user", parent_entry_id=parent, is_sidechain=is_side)
        for number, (parent, is_side) in enumerate(sides)
    ]
    with engine.sessions.branches._home.lend_store() as store:
        with store.write():
            entries.insert_new(store, "a", lines, AT)
            store.execute("UPDATE session_turns SET source_file = 'side.jsonl' WHERE turn_id = 'e2'")
        columns = read_columns(store, "a", SESSION)

        assert to_columns(links(store, "a", SESSION)) == columns
        assert {2: "side.jsonl", 3: None} == columns.sides
        assert ["e3", "e4"] == read_columns(store, "a", SESSION, 2).ids


def test_of_very_many_matches_the_latest_are_told_and_labels_all(engine, monkeypatch):
    monkeypatch.setattr(facade, "MOST_MATCHES", 2)
    chain_id = put(engine, [("user", encode_body([BodyChunk("text", "the roof")]))] * 4)
    with engine.sessions.branches._home.lend_store() as store:
        labels.put(store, chain_id, "e0", "the roof", AT)

    assert {"e0", "e2", "e3"} == engine.sessions.branches.find(SESSION, "Roof")


def test_the_end_of_a_long_session_comes_alone_and_then_all_of_it(engine):
    """Of 0 ─ 1 ─ 2 ─ 3 and 4 behind 1: the last three hang together as far as it is known."""
    put(engine, [("user", None)] * 5, [0, 0, 1, 2, 1])
    tree = engine.sessions.branches.tree

    assert (["e2", "e3", "e4"], "e4", True) == (
        [*(end := tree(SESSION, last=3)).entry_ids],
        end.leaf,
        end.is_part,
    )
    for last in (5, 6, -1):
        assert ["e0", "e1", "e2", "e3", "e4"] == [*tree(SESSION, last=last).entry_ids]
    assert [None, "e0", "e1", "e2", "e1"] == [entry.parent_id for entry in tree(SESSION).entries]
    assert not tree(SESSION, last=6).is_part


_PARENT = st.one_of(st.none(), st.sampled_from([NO_PARENT, "gone"]), st.integers(0, 9))


@settings(max_examples=60, deadline=None)
@given(shared=st.integers(0, 5), own=st.lists(st.tuples(_PARENT, st.booleans()), max_size=4))
def test_a_fork_leaves_where_its_entries_part_from_its_origins(shared, own):
    with TemporaryDirectory() as folder, closing(open_store(Path(folder) / "state.db")) as store:

        def put_session(session, entries_of):
            lines = [
                EntryLine(
                    session,
                    entry_id,
                    to_text(AT + timedelta(seconds=number // 2)),  # two at a time
                    "user",
                    parent_entry_id=parent,
                    is_sidechain=is_side,
                )
                for number, (entry_id, parent, is_side) in enumerate(entries_of)
            ]
            with store.write():
                entries.insert_new(store, "a", lines, AT)
            return ForkedSession(session, "a", session)

        common = [(f"e{number}", f"e{number - 1}" if number else NO_PARENT, False) for number in range(shared)]
        said = [entry_id for entry_id, *_ in common]  # what an entry of the main line may follow on
        forked = []
        for number, (parent, is_side) in enumerate(own):
            parent = (said[parent % len(said)] if said else None) if isinstance(parent, int) else parent
            forked.append((f"own{number}", parent, is_side))
            said += [] if is_side else [f"own{number}"]
        origin = put_session("origin", [*common, ("later", "e0", False)])
        fork = put_session("fork", [*common, *forked])
        of_origin = {link.entry_id for link in links(store, "a", "origin")}

        expected = entry_tree.find_parting(links(store, "a", "fork"), of_origin)
        assert expected == find_parting(store, fork, origin)


def test_an_account_s_name_finds_what_was_said_on_it_where_a_session_has_moved(engine):
    chain_id = put(engine, [("user", encode_body([BodyChunk("text", "the roof")]))] * 2)
    assert frozenset() == engine.sessions.branches.find(SESSION, "zeta")

    with engine.sessions.branches._home.lend_store() as store, store.write():
        copied = [EntryLine(SESSION, f"e{at}", to_text(AT + timedelta(seconds=at)), "user") for at in range(3)]
        entries.insert_new(store, "zeta", copied, AT)
        store.run(SegmentRow.update(ended_at=to_text(AT)).where(SegmentRow.chain_id == chain_id))
        moved = {"chain_id": chain_id, "provider_name": "zeta", "session_id": SESSION}
        store.insert(SegmentRow, **moved, started_at=to_text(AT + timedelta(seconds=2)), transition_reason="moved")

    assert frozenset({"e2"}) == engine.sessions.branches.find(chain_id, "Zeta")


def test_a_search_takes_what_is_the_same_in_another_case(engine):
    put(engine, [("user", encode_body([BodyChunk("text", "An der Stra\u00dfe")]))])

    assert frozenset({"e0"}) == engine.sessions.branches.find(SESSION, "STRASSE")


def test_a_call_without_a_text_is_shown_and_found_by_its_tool(engine, tmp_path):
    block = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls roof"}}
    path = tmp_path / "t.jsonl"
    line = {"type": "assistant", "uuid": "e1", "message": {"content": [block]}}
    path.write_text(json.dumps(line, separators=(",", ":")))
    put(engine, [("user", None), ("assistant", encode_body([BodyChunk("tool_use")]))])
    with engine.sessions.branches._home.lend_store() as store, store.write():
        store.execute("UPDATE session_turns SET source_file = ?", (str(path),))

    assert ["(no text)", "[Bash ls roof]"] == [
        entry.preview for entry in engine.sessions.branches.tree(SESSION).entries
    ]
    assert {"e1"} == engine.sessions.branches.find(SESSION, "bash LS")


def test_a_filter_that_was_prepared_reads_no_body_again(engine):
    said = [("user", encode_body([BodyChunk("text", "a")])), ("user", encode_body([BodyChunk("tool_result", "b")]))]
    put(engine, said)
    branches = engine.sessions.branches
    tree = branches.tree(SESSION)
    branches.prepare_filters(tree)
    with branches._home.lend_store() as store, store.write():
        store.execute("UPDATE session_turns SET body = NULL")

    assert (["e0"], ["e0"]) == tuple([*branches.tree(SESSION, kept, known=tree).entry_ids] for kept in facade.OF_KINDS)
