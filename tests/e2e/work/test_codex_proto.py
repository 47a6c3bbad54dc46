"""A session through `codex proto`: turns, an approval, and the message that revives it with what was said before."""

import time

import pytest

from oulipoly_engine.core.worktrees.trace import build_trace
from oulipoly_engine.facade.worktrees.work import NewWork


@pytest.fixture
def begin(live):
    """Begin a session of the fake in a folder, without a worktree; returns its id."""

    def begin(mood="", kind="codex-proto", **more):
        live.scripted(mood, "echo", cli="echo_proto.py", kind=kind)
        given = {"repository": live.demo.project, "runtime": "echo", "uses_worktree": False}
        return live.engine.work.begin(NewWork(**given | more)).session.session_id

    return begin


def reply(live, session, text):
    turn = live.engine.work.send(session, text).turn_id
    return live.live.wait(session, turn).reply


def test_a_turn_is_echoed_and_its_trace_can_be_read(live, begin):
    session = begin()

    assert ["Echo: Hello", "ran"] == [reply(live, session, text) for text in ("Hello", "RUN it")]
    _, ran = build_trace(live.live.events(session, limit=1000))
    (row,) = ran.tools
    assert ("success", ["Looking"], "search", "+1 cmd", 0) == (
        ran.status, [one.title for one in ran.sections], row.label, row.more, row.exit_code
    )  # fmt: skip


def test_an_approval_is_a_request_of_the_inbox(live, begin):
    session = begin()
    turn = live.engine.work.send(session, "REQUEST_APPROVAL please").turn_id
    request = live.request(session)
    live.live.answer(request.request_id, "deny")

    assert ("file_change_approval", "add docs/test.txt") == (request.kind, request.prompt.title)
    assert "Approval deny" == live.live.wait(session, turn).reply


@pytest.mark.parametrize(("mood", "kind"), [("", "codex-proto"), ("quiet", "plain")])
def test_the_next_process_is_told_what_was_said_before(live, begin, mood, kind):
    session = begin(mood, kind)
    reply(live, session, "my name is Ann")
    live.engine.work.cancel(session)
    live.until_closed(session)
    second = reply(live, session, "who am I?")

    if kind == "codex-proto":
        assert "User:\nmy name is Ann\n\nAgent:\nEcho: my name is Ann" in second
        assert second.endswith("who am I?")
        assert "Echo: and now?" == reply(live, session, "and now?")
    assert "running" == live.engine.work.find(session).rest_status


def test_a_turn_that_cannot_be_interrupted_is_timed_out_all_the_same(live, begin):
    session = begin("quiet", "plain", turn_silence_s=0.3)
    live.engine.work.send(session, "hush")
    deadline = time.monotonic() + 60
    while live.engine.work.messages(session)[-1].status != "failed":
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_answer_can_be_read_while_it_is_written(live, begin):
    session = begin()
    work = live.engine.work
    work.send(session, "STREAM")
    deadline = time.monotonic() + 60
    while not (told := work.messages(session)[-1]).content and time.monotonic() < deadline:
        time.sleep(0.02)

    assert ("Echo: in pieces", "running") == (told.content, told.status)  # a word that is not whole may be a secret


def test_no_event_of_a_session_that_works_by_itself_holds_a_secret(live, begin):
    session = begin()
    answer = reply(live, session, "SECRET")
    kept = "".join(row["event"] for row in live.rows("SELECT event FROM live_events"))

    assert "it says OPENAI_API_KEY=[redacted]" == answer
    assert "abcdefghijklmnop1234" not in kept
