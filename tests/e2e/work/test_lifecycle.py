"""Sessions that work by themselves: one turn or many, how they end, what is kept of them."""

import json
import time
from datetime import UTC, datetime

import pytest

from oulipoly_engine.cli.main import main
from oulipoly_engine.core.live import orders
from oulipoly_engine.core.live.requests import SessionIsOneshot, TurnInFlight
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade.worktrees.work import NewWork
from oulipoly_engine.service.live.session_log import SessionLog, read_tail

KINDS = ("demo-claude1", "demo-codex1")


def begin(live, runtime="demo-codex1", **more):
    """Begin a session in a folder of a person's, without a worktree; returns its id."""
    given = {"repository": live.demo.project, "runtime": runtime, "uses_worktree": False, "profile": "full_access"}
    return live.engine.work.begin(NewWork(**given | more)).session.session_id


def until(is_true, within_s=60.0):
    deadline = time.monotonic() + within_s
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("runtime", KINDS)
def test_a_one_shot_session_ends_with_its_turn_and_takes_no_other(live, runtime):
    session = begin(live, runtime, prompt="hello", lifecycle="oneshot")
    until(lambda: live.engine.work.find(session).rest_status == "closed")

    work = live.engine.work.find(session)
    assert (0, False, None, False) == (work.session.exit_code, work.busy, work.pid, work.is_stale)
    asked, answered = live.engine.work.messages(session)
    assert ("user", "hello", "assistant", "completed") == (asked.role, asked.content, answered.role, answered.status)
    assert answered.content
    with pytest.raises(SessionIsOneshot):
        live.engine.work.send(session, "again")


def test_a_one_shot_session_needs_its_message_before_anything_begins(live):
    with pytest.raises(UsageInvalid, match="prompt"):
        begin(live, lifecycle="oneshot")
    assert () == live.engine.work.list()


@pytest.mark.parametrize("runtime", KINDS)
def test_a_session_stays_for_the_next_turn_and_refuses_a_second_one_meanwhile(live, runtime):
    session = begin(live, runtime)
    work = live.engine.work
    sent = work.send(session, "[[stall:600]]")
    until(lambda: work.find(session).busy)

    with pytest.raises(TurnInFlight):
        work.send(session, "too early")
    told = work.messages(session)
    assert [sent.user_message_id, sent.assistant_message_id] == [one.message_id for one in told]
    assert () == work.messages(session, after=sent.assistant_message_id)
    with pytest.raises(UsageInvalid):
        work.messages(session, after="nobody's")
    live.live.order(session, orders.Interrupt(), starts=False)
    until(lambda: not work.find(session).busy)
    assert ("running", "persistent") == (work.find(session).rest_status, work.find(session).session.lifecycle)


def test_a_cancelled_session_stays_cancelled_until_a_message_revives_it(live):
    session = begin(live, prompt="first words")
    work = live.engine.work
    until(lambda: ["completed"] == [one.status for one in work.messages(session)][-1:])
    assert "closing" == work.cancel(session)
    live.until_closed(session)

    assert "canceled" == work.find(session).rest_status
    assert "canceled" == work.cancel(session)
    work.send(session, "second words")
    until(lambda: ["completed"] == [one.status for one in work.messages(session)][-1:])
    assert ["first words", "second words"] == [one.content for one in work.messages(session) if one.role == "user"]
    assert "running" == work.find(session).rest_status


def test_a_session_whose_host_was_killed_is_failed_and_stale_and_goes_on(live):
    session = begin(live)
    work = live.engine.work
    work.send(session, "[[stall:600]]")
    until(lambda: work.find(session).busy)
    host = live.host_of(session)
    live.kill(host.host_pid)
    live.kill(host.pid)
    until(lambda: live.host_of(session) is None)

    found = work.find(session)
    assert ("failed", True, False) == (found.rest_status, found.is_stale, found.busy)
    work.send(session, "go on")
    until(lambda: ["completed"] == [one.status for one in work.messages(session)][-1:])
    assert "running" == work.find(session).rest_status


def test_a_turn_that_says_nothing_for_too_long_is_timed_out_and_ends_a_one_shot(live):
    session = begin(live, prompt="[[stall:600]]", lifecycle="oneshot", turn_silence_s=0.3)
    until(lambda: live.engine.work.find(session).rest_status == "timed_out")
    assert "failed" == live.engine.work.messages(session)[-1].status


def test_a_turn_that_waits_for_an_answer_is_not_timed_out(live):
    session = begin(live, prompt="[[approve:ls]]", profile="supervised", turn_silence_s=2.0)
    request = live.request(session)
    time.sleep(2.1)  # longer than it may be silent
    live.live.answer(request.request_id, "approve")
    until(lambda: ["completed"] == [one.status for one in live.engine.work.messages(session)][-1:])


def test_sessions_beyond_the_limit_wait_and_say_for_what(live):
    config = live.demo.config / "config.toml"
    config.write_text("work_max_running = 1\n" + config.read_text())
    work = live.engine.work
    first, second = begin(live), begin(live, prompt="patience")

    waiting = work.find(second)
    assert ("queued", 1) == (waiting.rest_status, len(waiting.queue))
    assert "1 of 1" in waiting.waits_for
    assert first[:8] in waiting.waits_for
    assert () == work.start_waiting()
    work.cancel(first)
    live.until_closed(first)
    assert (second,) == work.start_waiting()
    until(lambda: ["completed"] == [one.status for one in work.messages(second)][-1:])


def test_a_script_is_told_that_the_session_it_waits_for_waits_itself(live, capfd):
    config = live.demo.config / "config.toml"
    config.write_text("work_max_running = 1\n" + config.read_text())
    begin(live)
    words = [
        "--runtime",
        "demo-codex1",
        "--lifecycle",
        "oneshot",
        "--prompt",
        "patience",
        "--cwd",
        str(live.demo.project),
    ]
    capfd.readouterr()
    code = main(["session", "new", *words, "--wait", "--json"])
    told = json.loads(capfd.readouterr().out)

    assert (75, "queued") == (code, told["status"])
    assert "1 of 1" in told["waits_for"]
    assert f"session queue {told['session_id']}" in told["next"]


def test_a_session_that_waits_can_be_cancelled(live):
    config = live.demo.config / "config.toml"
    config.write_text("work_max_running = 1\n" + config.read_text())
    begin(live)
    second = begin(live, prompt="never")
    third = begin(live, prompt="never")
    assert "queued" == live.live.status(third).status
    assert 0 == main(["session", "cancel", third])
    assert "canceled" == live.engine.work.cancel(second)
    for session in (second, third):
        work = live.engine.work.find(session)
        assert ("canceled", ()) == (work.rest_status, work.queue)
        assert ("closed", "canceled") == (live.live.status(session).status, live.live.find(session).ended)


def test_the_log_has_what_the_cli_wrote_and_none_of_its_secrets(live, tmp_path):
    session = begin(live, prompt="say OPENAI_API_KEY=sk-proj-abcdefghijklmnop1234", lifecycle="oneshot")
    live.until_closed(session)

    log = live.engine.work.log_tail(session, None)
    assert " out " in log
    assert " end " in log
    assert "abcdefghijklmnop1234" not in log
    assert 1 == len(live.engine.work.log_tail(session, 1).splitlines())


def test_the_log_goes_on_with_what_the_cli_has_logged_itself_where_that_is_asked_for(live):
    session = begin(live, "demo-claude1", prompt="remember sk-proj-abcdefghijklmnop1234", lifecycle="oneshot")
    live.until_closed(session)
    assert "\ncli " not in live.engine.work.log_tail(session, None)
    config = live.demo.config / "config.toml"
    config.write_text("work_merge_cli_log = true\n" + config.read_text())

    log = live.engine.work.log_tail(session, None)
    assert "\ncli {" in log
    assert "abcdefghijklmnop1234" not in log
    hint = live.engine.work.files_of(live.live.find(session)).agent_log_hint
    assert str(live.demo.root) in hint


def test_what_a_codex_session_is_given_is_checked_and_reaches_its_command_line(live):
    given = {"model": "demo-gpt-1", "include_plan_tool": True, "web_search": True, "include_apply_patch_tool": False}
    session = live.engine.work.find(begin(live, parameters=given)).session

    assert given == session.opening.parameters
    assert "demo-gpt-1" == session.opening.model
    assert "-c tools.web_search=true" in " ".join(session.opening.args)
    with pytest.raises(UsageInvalid, match="colour"):
        begin(live, parameters={"colour": "red"})
    with pytest.raises(UsageInvalid, match="web_search"):
        begin(live, "demo-claude1", parameters={"web_search": True})


def test_a_log_leaves_out_keys_and_the_values_of_secret_variables(tmp_path):
    class Clock:
        def now(self):
            return datetime(2026, 11, 23, tzinfo=UTC)

    path = tmp_path / "logs" / "one.log"
    log = SessionLog(path, Clock(), {"MY_TOKEN": "hunter2hunter2", "PLAIN": "visible words"})
    for line in (
        b"a hunter2hunter2 b visible words",
        b"-----BEGIN RSA PRIVATE KEY-----",
        b"MIIabc",
        b"-----END RSA PRIVATE KEY-----",
    ):
        log.write("out", line)
    text = path.read_text()

    assert "hunter2" not in text
    assert "MIIabc" not in text
    assert "visible words" in text
    assert 0o600 == path.stat().st_mode & 0o777
    assert text.splitlines()[-1:] == read_tail(path, 1).splitlines()
    assert "" == read_tail(tmp_path / "none", 5)
