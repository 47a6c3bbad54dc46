"""Changes of model, thinking level and name are entries of a live session's tree, and change nothing that is sent."""

import json

import pytest

from oulipoly_engine.core.live import orders
from oulipoly_engine.core.sessions.tree_lines import path_to
from oulipoly_engine.facade.sessions.values import ExportOptions

FIRST, SECOND, THIRD, OTHER = (f'[["say", "{text}"]]' for text in ("first", "second", "third", "other"))
CHANGES = ["model_change", "thinking_level_change", "session_info"]


def begin(live, runtime, model="gpt-5-mini"):
    """Begin a session with one turn, then another model and name, then another turn."""
    session, turn = live.begin_turn(FIRST, runtime=runtime)
    live.live.wait(session, turn)
    live.live.order(session, orders.SetModel(model, "low"), starts=True)  # of several the last is noted
    live.live.order(session, orders.SetModel(model, "high"), starts=True)
    live.engine.sessions.notes.rename(session, "walks")
    live.live.send(session, SECOND, waits=True)
    return session


def tree_of(live, session, kept="all"):
    live.engine.sessions.transcripts.glance()
    return live.engine.sessions.branches.tree(session, kept)


def path(live, session, **more):
    """Return kinds of changes, and what a person said, on the way to the leaf."""
    tree = tree_of(live, session, **more)
    entries = tree.find(path_to(tree.leaf, tree.parents))
    said = [entry.preview if entry.kind == "message" else entry.kind for entry in entries if entry.role != "assistant"]
    return [text for text in said if not text.startswith("<")]


def answer_to(live, session, text):
    """Return the id of what follows on a message."""
    tree = tree_of(live, session, "default")
    (asked,) = [entry.entry_id for entry in tree.entries if entry.preview == text]
    return next(entry_id for entry_id, parent in tree.parents.items() if parent == asked)


def export(live, session, form):
    file = live.engine.sessions.files.export(session, ExportOptions(form), live.root / form).path
    return [json.loads(line) for line in file.read_text().splitlines()][1:]


@pytest.mark.parametrize(
    ("runtime", "model"), [("demo-claude1", "claude-haiku-4-5"), ("demo-codex1", "gpt-5-mini"), ("", "gpt-5-mini")]
)
def test_they_stand_where_they_happened_also_when_a_transcript_was_read(live, runtime, model):
    session = begin(live, runtime or live.scripted(), model)
    live.engine.sessions.notes.rename(session, "walks")  # the same name is no change
    live.engine.sessions.notes.rename(session, "long walks")

    assert [FIRST, *CHANGES, SECOND] == path(live, session)
    assert {"message"} == {entry.kind for entry in tree_of(live, session, "default").entries}
    *_, last = tree_of(live, session).entries
    assert ("session_info", "long walks", tree_of(live, session).leaf) == (last.kind, last.preview, last.parent_id)

    live.live.send(session, THIRD, waits=True)
    assert [SECOND, "session_info", THIRD] == path(live, session)[-3:]
    behind = answer_to(live, session, SECOND)
    live.engine.sessions.branches.branch(session, behind)
    live.live.order(session, orders.Rename("a name on the way"), starts=True)
    live.live.send(session, OTHER, waits=True)
    way = path(live, session)
    assert THIRD not in way
    assert [FIRST, *CHANGES, SECOND] == way[:5]
    assert OTHER == way[-1]


def test_a_file_of_version_3_has_them_in_its_words_and_version_2_goes_without(live):
    session = begin(live, "demo-claude1", "claude-haiku-4-5")
    lines = export(live, session, "session-v3")
    changes = {line["type"]: line for line in lines if line["type"] in CHANGES}
    messages = [line for line in lines if line["type"] == "message"]

    change = changes["model_change"]
    assert ("demo-claude1", "claude-haiku-4-5") == (change["provider"], change["modelId"])
    assert ("high", "walks") == (changes["thinking_level_change"]["thinkingLevel"], changes["session_info"]["name"])
    assert changes["session_info"]["id"] == messages[2]["parentId"]
    assert messages[-1] == lines[-1]  # pi goes on behind the last line

    of_version_2 = export(live, session, "session-v2")
    assert not {"model_change", "session_info"} & {line.get("kind") for line in of_version_2}
    assert [None, *(line["id"] for line in of_version_2[:-1])] == [line["parent_id"] for line in of_version_2]

    done = live.engine.sessions.files.import_file(live.root / "session-v3")
    tree = live.engine.sessions.branches.tree(done.chain_id, "all")
    assert CHANGES == [entry.kind for entry in tree.entries if entry.kind != "message"]
    assert "walks" == live.engine.sessions.catalogue.find(done.chain_id).name
