"""A person goes back in a session, and it goes on there: one session, one tree, whatever its CLI keeps."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.sessions.tree_lines import format_line, path_to
from oulipoly_engine.errors import RunnerError


class Tree:
    """What `session tree` says of a session."""

    def __init__(self, live, session):
        live.engine.sessions.transcripts.glance()
        self.tree = live.engine.sessions.branches.tree(session)
        self.texts = {entry.entry_id: entry.preview for entry in self.tree.entries}

    @property
    def path(self):
        """Return what a person said on the way to the leaf."""
        said = [self.texts[entry] for entry in path_to(self.tree.leaf, self.tree.parents)]
        return [text for text in said if text.startswith("the ")]

    @property
    def shown(self):
        """Return the lines of what a person said."""
        lines = (format_line(entry, is_leaf=False) for entry in self.tree.entries if entry.role == "user")
        return [line.replace("U ", "", 1) for line in lines if "  the " in line]

    def answer_to(self, text):
        ids = [*self.texts]
        return ids[next(place for place, one in enumerate(ids) if self.texts[one] == text) + 1]


@pytest.mark.parametrize("runtime", ["demo-claude1", "demo-codex1"])
def test_one_session_goes_on_behind_any_answer_and_keeps_every_branch(live, runtime):
    branches = live.engine.sessions.branches
    session, first = live.begin_turn("the first thing", runtime=runtime)
    live.live.wait(session, first)
    live.live.send(session, "the second thing", waits=True)
    behind = Tree(live, session).answer_to("the first thing")
    branches.branch(session, behind)

    assert behind == Tree(live, session).tree.leaf
    live.live.send(session, "the other way", waits=True)
    live.live.send(session, "the way on", waits=True)
    assert ["the first thing", "the other way", "the way on"] == Tree(live, session).path
    assert 2 == len({part.session_id for part in live.engine.sessions.catalogue.find(session).parts})

    branches.branch(session, Tree(live, session).answer_to("the second thing"))  # and back on the first branch
    live.live.send(session, "the third thing", waits=True)
    tree = Tree(live, session)
    assert ["the first thing", "the second thing", "the third thing"] == tree.path
    assert 1 == len(tree.tree.entries) - len(tree.tree.parents)  # roots
    texts = [text for text in tree.texts.values() if text.startswith("the ")]
    assert len(texts) == len({*texts})  # what its CLI has copied stands once
    assert (None, ()) == (tree.tree.origin, tree.tree.forks)  # a branch in place is no fork
    assert 1 == len(live.engine.sessions.catalogue.table(live.engine.sessions.catalogue.query("")).rows)

    branches.branch(session, "")
    assert None is Tree(live, session).tree.leaf
    live.live.send(session, "the new beginning", waits=True)
    tree = Tree(live, session)
    assert (["the new beginning"], 2) == (tree.path, len(tree.tree.entries) - len(tree.tree.parents))


def test_no_cli_goes_on_elsewhere_than_the_leaf_without_a_word(live, agents):
    session, first = live.begin_turn("the first thing", runtime="demo-claude1")
    live.live.wait(session, first)
    live.live.send(session, "the second thing", waits=True)
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)
    live.engine.sessions.transcripts.glance()
    answer = ("resume", "--session-id", Tree(live, session).tree.chain_id, "--prompt", "the thing at the end")
    assert 0 == agents(*answer).returncode
    live.engine.sessions.branches.branch(session, Tree(live, session).answer_to("the first thing"))
    refused = [agents(*answer), agents("repl", "--resume", session, "--detach")]
    with pytest.raises(RunnerError, match="--at-end"):
        live.engine.new_terminals.resume(session, None, (80, 24))

    assert [1, 1] == [done.returncode for done in refused]
    assert all(b"`agents session send " in done.stderr and b"--at-end" in done.stderr for done in refused)
    assert ["the first thing"] == Tree(live, session).path
    assert 0 == agents(*answer, "--at-end").returncode
    assert ["the first thing", "the second thing", *["the thing at the end"] * 2] == Tree(live, session).path
    assert 0 == agents(*answer).returncode  # it goes on at its end again


@pytest.mark.parametrize("runtime", ["demo-claude1", "demo-codex1"])
def test_what_a_cli_has_written_and_nobody_has_read_yet_does_not_undo_going_back(live, runtime):
    session, first = live.begin_turn("the first thing", runtime=runtime)
    live.live.wait(session, first)
    behind = Tree(live, session).answer_to("the first thing")
    live.live.send(session, "the second thing", waits=True)

    live.engine.sessions.branches.branch(session, behind)

    tree = Tree(live, session)
    assert (behind, True) == (tree.tree.leaf, "the second thing" in tree.texts.values())


@pytest.mark.parametrize("runtime", ["demo-claude1", "demo-codex1"])
def test_a_message_that_was_seen_live_is_found_and_keeps_its_label_when_its_transcript_is_read(live, runtime):
    branches = live.engine.sessions.branches
    session, first = live.begin_turn("the first thing", runtime=runtime)
    live.live.wait(session, first)
    live.live.send(session, "the second thing", waits=True)
    live.engine.sessions.notes.rename(session, "a name")
    *_, answer, _, end = branches.tree(session).entries  # nothing of its transcript is read yet
    branches.label(session, answer.entry_id, "here")
    branches.label(session, end.entry_id, "the end")

    _, leaf = branches.branch(session, answer.entry_id)

    tree = Tree(live, session)
    assert [leaf, leaf, answer.preview] == [tree.tree.leaf, tree.answer_to("the first thing"), tree.texts[leaf]]
    labelled = {entry.label: entry.preview for entry in tree.tree.entries if entry.label}
    assert {"here": answer.preview, "the end": end.preview} == labelled


def test_a_cli_that_cannot_cut_there_is_told_what_was_said(live):
    session, first = live.begin_turn("the first thing", runtime=live.scripted())  # it knows no `thread/fork`
    live.live.wait(session, first)
    live.live.send(session, "the second thing", waits=True)
    (behind,) = (one for one, text in Tree(live, session).texts.items() if text == "the first thing")
    live.engine.sessions.branches.branch(session, behind)
    live.live.send(session, "the other way", waits=True)

    *_, told = live.texts()
    assert (True, False) == ("the first thing" in told, "the second thing" in told)
    assert ["the first thing", "the other way"] == Tree(live, session).path


def leave_to_its_cli(live, session):
    """Have a session known by its CLI's transcript alone; return its CLI's id."""
    native = live.live.find(session).native_id
    live.live.order(session, orders.Close(), starts=False)
    live.until_closed(session)
    with closing(sqlite3.connect(live.engine.paths.state_db)) as connection:  # as if its CLI alone had had it
        for table in ("live_events", "live_turns", "live_sessions", "session_turns", "session_chain_segments"):
            connection.execute(f"DELETE FROM {table}")
        connection.execute("DELETE FROM session_chains")
        connection.commit()
    shutil.rmtree(live.engine.paths.data / "sessions", ignore_errors=True)
    live.engine.sessions.scans.read_new()
    return native


@pytest.mark.parametrize("runtime", ["demo-claude1", "demo-codex1"])
def test_a_branch_that_was_left_is_forked_at_its_messages(live, runtime):
    session, first = live.begin_turn("the first thing", runtime=runtime)
    live.live.wait(session, first)
    live.live.send(session, "the second thing", waits=True)
    native = leave_to_its_cli(live, session)
    live.engine.sessions.branches.branch(native, Tree(live, native).answer_to("the first thing"))
    live.live.send(native, "the other way", waits=True)
    chain_id = live.engine.sessions.catalogue.find(native).chain_id

    fork = live.live.fork(chain_id, at_turn=Tree(live, chain_id).answer_to("the second thing")).session
    live.live.send(fork.session_id, "the fork", waits=True)
    said = live.engine.sessions.files.document(fork.session_id)  # a CLI that cannot cut there is told it in one message
    assert [True, True, False] == [text in said for text in ("the first thing", "the second thing", "the other way")]
    assert "the fork" == Tree(live, fork.session_id).path[-1]


def test_a_recorded_session_goes_on_live_where_a_person_went_back_to(live):
    session, first = live.begin_turn("the first thing", runtime="demo-claude1")
    live.live.wait(session, first)
    live.live.send(session, "the second thing", waits=True)
    native = leave_to_its_cli(live, session)

    branches = live.engine.sessions.branches
    branches.branch(native, Tree(live, native).answer_to("the first thing"))
    live.live.send(native, "the other way", waits=True)
    chain = live.engine.sessions.catalogue.find(native)
    assert ["the first thing", "the other way"] == Tree(live, native).path
    assert ("the first thing", 2) == (chain.title, len(chain.parts))
    fork = live.live.fork(chain.chain_id).session
    live.live.send(fork.session_id, "the fork", waits=True)
    assert ["the first thing", "the other way", "the fork"] == Tree(live, fork.session_id).path


def test_nobody_goes_back_while_a_turn_runs_nor_to_what_is_not_there(live):
    session, first = live.begin_turn("the first thing", runtime="demo-claude1")
    live.live.wait(session, first)
    answer = Tree(live, session).answer_to("the first thing")
    live.live.send(session, "[[approve:ls]] the second thing")

    with pytest.raises(RunnerError, match="no message 'nonsense'"):
        live.engine.sessions.branches.branch(session, "nonsense")
    with pytest.raises(RunnerError, match="a turn runs"):
        live.engine.sessions.branches.branch(session, answer)


def test_the_commands_show_label_and_compare(live, capfdbinary):
    session, first = live.begin_turn("the first thing", runtime="demo-claude1")
    live.live.wait(session, first)
    live.live.send(session, "the second thing", waits=True)
    answer = Tree(live, session).answer_to("the first thing")[:8]

    def agents(*words):
        assert 0 == main(words)
        return capfdbinary.readouterr().out.decode()

    assert "is labelled the good one" in agents("session", "label", session, answer, "the", "good", "one")
    document = json.loads(agents("tree", session, "--filter", "labelled", "--json"))
    assert [(answer, "message", "assistant", 0, "the good one")] == [
        (one["id"][:8], one["kind"], one["role"], one["depth"], one["label"]) for one in document["entries"]
    ]
    agents("session", "branch", session, answer)
    last = json.loads(agents("session", "tree", session, "--json"))["entries"][-1]["id"]
    both, second, *_ = agents("session", "compare", session, last).splitlines()
    assert ("2 messages are in both", True) == (both, second.startswith("< U "))
