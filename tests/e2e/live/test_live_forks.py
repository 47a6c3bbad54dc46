"""Forks: by the CLI itself where it can, else with what was said as a preface; the source stays as it is."""

import pytest

from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.events import ItemEnded
from oulipoly_engine.core.transcripts.entry_text import text_of
from oulipoly_engine.errors import RunnerError


@pytest.fixture
def source(live):
    """A session with two turns."""
    session, first = live.begin_turn("the first thing")
    live.live.wait(session, first)
    return session, first, live.live.send(session, "the second thing", waits=True).turn_id


def file_of(live, session):
    native = live.live.find(session).native_id
    (path,) = live.demo.account_home("demo-codex1").rglob(f"*{native}.jsonl")
    return path


def past(live, session):
    """Return what the demo's codex knows of a session: the messages of its own file."""
    text = file_of(live, session).read_text()
    return [word for word in ("first thing", "second thing", "third thing") if word in text]


def test_a_fork_has_the_whole_past_and_leaves_its_source(live, source):
    session, _, _ = source
    before = live.live.events(session)
    begun = live.live.fork(session, title="Another way")
    fork = begun.session.session_id
    live.live.send(fork, "the third thing", waits=True)

    assert "by the CLI itself" == begun.why
    assert ("Another way", session) == (live.live.find(fork).title, live.live.find(fork).forked_from)
    assert live.live.find(fork).native_id != live.live.find(session).native_id
    assert ["first thing", "second thing", "third thing"] == past(live, fork)
    assert ["first thing", "second thing"] == past(live, session)
    assert before == live.live.events(session)


def test_a_fork_at_a_turn_has_the_past_to_there(live, source):
    session, first, _ = source
    begun = live.live.fork(session, at_turn=first[:8])
    fork = begun.session.session_id
    live.live.send(fork, "the third thing", waits=True)

    assert "by the CLI itself" == begun.why
    assert ["first thing", "third thing"] == past(live, fork)
    with pytest.raises(RunnerError, match="no turn 'nonsense'"):
        live.live.fork(session, at_turn="nonsense")


def test_a_fork_that_the_cli_refuses_gets_what_was_said(live):
    session, first = live.begin_turn("the first thing", runtime=live.scripted())  # it knows no `thread/fork`
    live.live.wait(session, first)
    live.live.send(session, "the second thing", waits=True)
    begun = live.live.fork(session, at_turn=first)
    fork = begun.session.session_id

    assert "preface, since its CLI could not" in begun.why
    assert "what the tools printed" in begun.losses
    assert "completed" == live.live.send(fork, "and now?", waits=True).status
    assert (True, False) == ("the first thing" in live.texts()[-1], "the second thing" in live.texts()[-1])


def test_a_fork_that_is_refused_only_later_gets_what_was_said_then(live, source):
    session, first, _ = source
    fork = live.live.fork(session, at_turn=first).session.session_id
    for each in (fork, session):  # nobody writes the file any more
        live.live.order(each, orders.Close(), starts=False)
        live.until_closed(each)
    path = file_of(live, session)
    content = path.read_bytes()
    path.unlink()  # its CLI has not got it any more
    lost = live.live.send(fork, "hello", waits=True)
    path.write_bytes(content)
    again = live.live.send(fork, "and now?", waits=True)

    assert ("queued", "completed") == (lost.status, again.status)
    assert "hello" == live.live.turns(fork)[0].input
    assert ["first thing"] == past(live, fork)


def test_a_fork_goes_on_when_its_process_has_ended(live, source):
    fork = live.live.fork(source[0]).session.session_id
    live.live.send(fork, "the third thing", waits=True)
    native = live.live.find(fork).native_id
    live.live.order(fork, orders.Close(), starts=False)
    live.until_closed(fork)

    assert "completed" == live.live.send(fork, "hello", waits=True).status
    assert native == live.live.find(fork).native_id
    assert ["first thing", "second thing", "third thing"] == past(live, fork)


def test_another_runtime_gets_what_was_said(live, source):
    live.scripted()
    branches = live.engine.sessions.branches
    begun = live.live.fork(source[0], runtime="scripted", at_turn=source[1])
    fork = begun.session.session_id
    way = [entry.preview for entry in branches.tree(fork).entries]
    for text in ("and now?", "more"):
        live.live.send(fork, text, waits=True)
    tree = branches.tree(fork)

    assert "preface, since it goes on in another runtime" in begun.why
    first, second = live.texts()
    assert ("more", True) == (second, first.endswith("and now?"))
    assert (True, False) == ("the first thing" in first, "the second thing" in first)
    users = [one.event.item.text for one in live.live.events(fork) if is_user(one.event)]
    assert "more" == users[1]
    assert ["the first thing", *way[1:], "and now?", "more"] == [
        entry.preview for entry in tree.entries if entry.role == "user" or entry.preview in way
    ]
    with pytest.raises(RunnerError, match="was said in the session that this one is a fork of"):
        branches.branch(fork, tree.entry_ids[0])
    with pytest.raises(RunnerError, match="no runtime 'nobody'"):
        live.live.fork(source[0], runtime="nobody")


def test_what_the_cli_never_got_is_said_again(live, source):
    live.scripted("dies-at-a-turn")
    fork = live.live.fork(source[0], runtime="scripted").session.session_id
    turn = live.live.send(fork, "and now?").turn_id
    live.until_closed(fork)
    again = live.live.fork(fork)
    assert again.why.endswith("it has no turn yet")
    assert "the second thing" in again.session.opening.preface
    known = {one.runtime.id: one.status for one in live.engine.runtimes.summaries()}
    for mood in ("dies-at-a-turn", ""):
        live.scripted(mood)
        live.until_closed(fork)
        (left,) = live.live.left_turns()
        turn = live.live.resume_turn(left.turn_id, known).turn_id
        live.live.wait(fork, turn)

    assert ["interrupted", "interrupted", "completed"] == [one.status for one in live.live.turns(fork)]
    assert [] == live.heard("thread/resume") + live.heard("thread/fork")
    *_, said = live.texts()
    assert (1, 1) == (said.count("User:\nthe second thing"), said.count("It was:\n\nand now?"))
    live.live.send(fork, "more", waits=True)
    assert "more" == live.texts()[-1]


def entries_of(live, session):
    """Return the ids of what was said in a session, by the text."""
    sql = "SELECT turn_id, body FROM session_turns WHERE session_id = ? ORDER BY timestamp, id"
    rows = live.rows(sql, live.live.find(session).native_id)
    return {text_of(row["body"]): row["turn_id"] for row in rows}


def test_a_fork_at_a_message_that_ends_a_turn_is_the_fork_at_the_turn(live, source):
    session, first, _ = source
    said = entries_of(live, session)
    before_second = [*said.values()][[*said].index("the second thing") - 1]
    begun = live.live.fork(session, at_turn=before_second)
    live.live.send(begun.session.session_id, "the third thing", waits=True)

    assert ("by the CLI itself", first) == (begun.why, begun.session.opening.fork_turn)
    assert ["first thing", "third thing"] == past(live, begun.session.session_id)


def test_a_fork_at_a_message_within_a_turn_gets_what_was_said_to_there(live, source):
    session = source[0]
    asked = entries_of(live, session)["the second thing"]
    begun = live.live.fork(session, at_turn=asked)

    assert begun.why.endswith("as a preface, since its CLI forks at the end of a turn only")
    preface = begun.session.opening.preface
    assert ("first thing" in preface, preface.count("second thing")) == (True, 1)
    with pytest.raises(RunnerError, match="more than one turn or message 'live/'"):
        live.live.fork(session, at_turn="live/")


def test_a_session_goes_on_behind_its_last_message(live, source):
    (*_, last) = entries_of(live, source[0]).values()

    assert last == live.live.find_leaf(source[0])


def is_user(event):
    return isinstance(event, ItemEnded) and event.item.kind == "user_message"


def test_a_session_without_a_turn_is_forked_as_it_is(live):
    session = live.begin()
    fork = live.live.fork(session).session.session_id

    assert "1 + 1 = 2" == live.live.send(fork, "1 + 1", waits=True).reply
