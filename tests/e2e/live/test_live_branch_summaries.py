"""Who goes back in a session takes along a summary of what is left, where a model writes it; else nothing changes."""

import json
import os
from pathlib import Path

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.core.sessions.tree_lines import path_to
from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.facade.sessions.values import ExportOptions

TOLD = "The second way led nowhere."


@pytest.fixture
def summer(live):
    """An account whose CLI answers what it is asked with a summary."""
    live.sums_up(TOLD)


def begin(live, runtime):
    """Begin a session in which two things were said; return it, and what stands behind the first one."""
    if runtime == "echoes":
        live.echoes()
    session, turn = live.begin_turn("the first thing", runtime=runtime)
    live.live.wait(session, turn)
    tree = tree_of(live, session)
    live.live.send(session, "the second thing", waits=True)
    return session, answer_of(live, session, tree)


def answer_of(live, session, tree):
    entry = tree.find([tree.leaf])[0]
    return next(each.entry_id for each in tree_of(live, session).entries if each.preview == entry.preview)


def tree_of(live, session):
    live.engine.sessions.transcripts.glance()
    return live.engine.sessions.branches.tree(session)


def path(live, session):
    tree = tree_of(live, session)
    return tree.find(path_to(tree.leaf, tree.parents))


@pytest.mark.parametrize("runtime", ["demo-claude1", "demo-codex1", "echoes"])
def test_the_next_message_comes_with_the_summary_of_what_was_left(live, summer, runtime):
    session, behind = begin(live, runtime)
    before, leaf, summary = live.live.branch(session, behind, "Look at the paths.")
    asked = (Path(os.environ["HOME"]) / "asked").read_text()

    assert (TOLD, leaf) == (summary, tree_of(live, session).leaf)
    assert (True, True, False) == ("Look at the paths." in asked, "the second thing" in asked, "first thing" in asked)
    live.engine.sessions.notes.rename(session, "another walk")
    live.live.send(session, "the third thing", waits=True)
    way = path(live, session)
    assert ["branch_summary"] == [entry.kind for entry in way if entry.kind != "message"]
    assert behind == next(entry.parent_id for entry in way if entry.entry_id == leaf)
    assert "the second thing" not in [entry.preview for entry in way]
    live.live.send(session, "the fourth thing", waits=True)  # and it is told once
    assert ["the third thing", "the fourth thing"] == [e.preview for e in path(live, session) if e.role == "user"][-2:]
    if runtime == "echoes":
        third, fourth = live.log.read_text().splitlines()[-2:]
        assert (True, True, False) == (TOLD in third, "the first thing" in third, "the second thing" in third)
        assert "the fourth thing" == fourth

    live.engine.sessions.branches.branch(session, before.leaf)  # goes back before it, to where it was left
    live.live.send(session, "the fifth thing", waits=True)
    assert "branch_summary" not in [entry.kind for entry in path(live, session)]

    file = live.engine.sessions.files.export(session, ExportOptions("session-v3"), live.root / "out").path
    lines = {line["id"]: line for line in map(json.loads, file.read_text().splitlines())}
    (exported,) = [line for line in lines.values() if line["type"] == "branch_summary"]
    assert (TOLD, exported["parentId"]) == (exported["summary"], exported["fromId"])


@pytest.mark.parametrize("runtime", ["demo-claude1", "echoes"])
def test_a_fork_begins_where_the_session_goes_on_with_the_summary(live, summer, runtime):
    session, behind = begin(live, runtime)
    live.live.branch(session, behind)
    fork = live.live.fork(session).session.session_id
    live.live.send(fork, "the third thing", waits=True)
    live.engine.sessions.transcripts.glance()
    file = live.engine.sessions.files.export(fork, ExportOptions("session-v3"), live.root / "out").path
    said = live.log.read_text().splitlines()[-1] if runtime == "echoes" else file.read_text()

    assert (True, True, False) == ("the first thing" in said, TOLD in said, "the second thing" in said)


def test_a_summary_that_fails_leaves_everything_as_it_was(live, summer):
    session, behind = begin(live, "demo-claude1")
    before = tree_of(live, session)
    (Path(os.environ["HOME"]) / "answer").write_text('{"is_error": true}')

    with pytest.raises(RequestRefused, match="nothing was changed: summer: it answered nothing"):
        live.live.branch(session, behind)
    assert before.leaf == tree_of(live, session).leaf
    assert before.entry_ids == tree_of(live, session).entry_ids


def test_a_session_that_goes_on_meanwhile_stays_where_it_is(live, summer):
    session, behind = begin(live, "demo-claude1")

    def sum_up(*_):
        live.open_engine().live.send(session, "meanwhile", waits=True)
        live.engine.sessions.transcripts.glance()
        return TOLD

    with pytest.raises(RequestRefused, match="has gone on while a model summed up"):
        live.engine.sessions.branches.branch(session, behind, sum_up)
    assert "meanwhile" in [entry.preview for entry in path(live, session)]


def test_the_command_tells_before_what_would_be_summed_up_and_by_whom(live, summer, capfd):
    session, behind = begin(live, "demo-claude1")

    assert 0 == main(["session", "branch", session, behind, "--summary", "--preview"])
    assert "short would sum up 2 messages" in capfd.readouterr().out
    assert 0 == main(["session", "branch", session, behind, "--summary=Be short.", "--json"])
    told = json.loads(capfd.readouterr().out)
    assert (TOLD, told["leaf"]) == (told["summary"], tree_of(live, session).leaf)
    assert 0 == main(["session", "branch", session, told["leaf"], "--summary"])
    assert "nothing was left" in capfd.readouterr().out
    assert 2 == main(["session", "branch", session, behind, "--summary", "--restore", "both"])


def test_without_a_model_it_says_which_setting_names_one(live):
    session, behind = begin(live, "echoes")

    with pytest.raises(RequestRefused, match=r"`compaction_model` in config\.toml"):
        live.live.branch(session, behind)
