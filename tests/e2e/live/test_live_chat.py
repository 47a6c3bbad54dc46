"""`chat`: a prompt and its answer on a live session, in text, as events, and gone on with."""

import json
import os
import signal
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from oulipoly_engine.cli.live.chat_output import Printer
from oulipoly_engine.cli.main import main


@pytest.fixture
def chat(live, capfd, monkeypatch, tmp_path):
    """Run `chat` in this process, in the demo's project."""
    monkeypatch.chdir(live.demo.project)
    piped = tmp_path / "piped"

    def run(*words, stdin=b"", options=()):
        piped.write_bytes(stdin)
        with piped.open() as file:
            monkeypatch.setattr(sys, "stdin", file)
            code = main([*options, "chat", *words])
        said = capfd.readouterr()
        return SimpleNamespace(code=code, out=said.out, err=said.err)

    return run


def script(*actions):
    return json.dumps([*actions])


def sessions(live):
    return [status.session for status in live.live.list_sessions()]


def test_words_are_the_prompt_and_the_answer_is_on_stdout(live, chat):  # vectors 1 and 8
    live.scripted()
    done = chat("-p", "scripted", script(["say", "two"], ["say", "parts"]))

    assert (0, "two\nparts\n") == (done.code, done.out)
    assert "on scripted" in done.err
    session = sessions(live)[0]
    assert [("completed", "parts")] == [(turn.status, turn.reply) for turn in live.live.turns(session.session_id)]
    assert str(live.demo.project.resolve()) == session.workspace


def test_several_words_and_what_is_piped_in_are_one_message(live, chat):
    live.scripted()
    for words, stdin, heard in (
        (("nonexistent_subcommand", "world"), b"", "nonexistent_subcommand world"),
        ((), b"piped\n", "piped\n"),
        ((), b"\xff\x80.", "\ufffd\ufffd."),
        (("Review:",), b"diff\n", "Review:\n\ndiff\n"),
    ):
        assert 0 == chat("-p", "scripted", *words, stdin=stdin).code
        assert heard == live.texts()[-1]


def test_print_is_the_answer_alone(live, chat):  # vector 3
    live.scripted()
    done = chat("--print", "-p", "scripted", script(["say", "aside"], ["say", "answer"]))

    assert (0, "answer\n", "") == (done.code, done.out, done.err)


def test_json_is_one_event_a_line_between_its_own_two(live, chat):
    live.scripted()
    done = chat("--mode", "json", "-p", "scripted", script(["say", "hello"]))
    lines = [json.loads(line) for line in done.out.splitlines()]
    kept = [
        line["seq"]
        for line in lines[1:-1]
        if line["type"] != "item_delta" and line.get("item", {}).get("status") != "running"
    ]

    assert (0, "") == (done.code, done.err)
    assert ("chat_started", "chat_ended") == (lines[0]["type"], lines[-1]["type"])
    assert {"turn_started", "item_ended", "turn_ended"} <= {line["type"] for line in lines}
    assert sorted(set(kept)) == kept
    assert ("completed", "hello", False) == tuple(lines[-1][key] for key in ("status", "reply", "timed_out"))
    assert lines[0]["session_id"] == lines[-1]["session_id"] == sessions(live)[0].session_id


def test_it_goes_on_with_the_last_session_of_its_folder(live, chat, tmp_path):  # vector 3
    live.scripted()
    chat("-p", "scripted", "first")
    elsewhere = live.begin("other", runtime="scripted", folder=tmp_path)
    chat("-c", "second")
    first = next(one.session_id for one in sessions(live) if one.session_id != elsewhere)

    assert ["first", "second"] == [turn.input for turn in live.live.turns(first)]
    refused = chat("-c", "--thinking", "none", "third")
    assert (2, True) == (refused.code, "--thinking is for a new session" in refused.err)
    missing = chat("-c", "--cwd", str(live.root), "x")
    assert (10, True) == (missing.code, "no live session has worked in" in missing.err)


@pytest.mark.parametrize(
    ("actions", "code", "said"),
    [
        ([["end", "failed"]], 1, "the turn is failed"),
        ([["kill"]], 75, "turn resume"),
        ([["half", "cut off"], ["end", "interrupted"]], 130, "the turn is interrupted"),
    ],
)
def test_the_exit_code_tells_how_the_turn_ended(live, chat, actions, code, said):
    live.scripted()
    done = chat("-p", "scripted", script(*actions))

    assert (code, True) == (done.code, said in done.err), done


def test_a_turn_that_takes_too_long_is_interrupted(live, chat):
    live.scripted()
    done = chat("--mode", "json", "--timeout", "1", "-p", "scripted", script(["listen"]))
    end = json.loads(done.out.splitlines()[-1])

    assert (124, "interrupted", True) == (done.code, end["status"], end["timed_out"])
    assert "interrupted" == live.live.turns(end["session_id"])[0].status


def test_what_is_asked_ends_a_stream_of_events_and_is_answered_elsewhere(live, chat):
    live.scripted()
    done = chat("--mode", "json", "-p", "scripted", script(["approve"]))
    end = json.loads(done.out.splitlines()[-1])

    assert (75, "waiting_approval") == (done.code, end["status"])
    assert "request_opened" in done.out
    assert f"agents requests show {live.live.requests()[0].request_id}" == end["next"]


def test_text_waits_until_what_is_asked_is_answered(live, chat):
    live.scripted()

    def approve():
        session = live.live.find_latest(live.demo.project)
        live.live.answer(live.request(session.session_id).request_id, "approve")

    begun = threading.Event()
    waiting = threading.Thread(target=lambda: begun.wait(60) and approve())
    waiting.start()
    session = live.begin("ready", runtime="scripted", folder=live.demo.project)
    live.live.wait(session, live.live.turns(session)[0].turn_id)
    begun.set()
    done = chat("-c", script(["approve"], ["say", "thanks"]))
    waiting.join(60)

    assert (0, "thanks\n") == (done.code, done.out)
    assert "[approved by" in done.err


def test_a_chat_prints_its_own_turn_alone_and_waits_for_the_one_before(live, chat):
    live.scripted()
    go = live.root / "go"
    words = script(["say", "mine"]), script(["say", "of another"], ["wait", str(go)], ["say", "still another's"])
    session = live.begin("ready", runtime="scripted", folder=live.demo.project)
    live.live.wait(session, live.live.turns(session)[0].turn_id)
    first = live.live.send(session, words[1]).turn_id
    releasing = threading.Thread(
        target=lambda: live.until(session, lambda event: getattr(event, "messages", ())) and go.touch()
    )
    after = live.live.last_number(session)
    releasing.start()
    done = chat("-c", words[0])
    releasing.join(60)

    assert (0, "mine\n") == (done.code, done.out)
    assert "completed" == live.live.wait(session, first, after=after).status


def test_a_model_of_the_table_is_narrowed_by_a_provider(live, chat):
    assert 0 == chat("-m", "demo-codex", "-p", "demo-codex2", "hi").code
    assert ("demo-codex", "demo-codex2") == (sessions(live)[0].model_name, sessions(live)[0].account)
    assert 0 == chat("-m", "demo-codex", "-p", "codex", "hi").code
    refused = chat("-m", "demo-codex", "-p", "anthropic", "hi")
    assert (1, True) == (refused.code, "no account of 'anthropic'" in refused.err), refused


def test_any_other_model_is_the_clis_own(live, chat):  # vector 2
    done = chat("--provider", "anthropic", "--model", "claude-sonnet-4-20250514", "Hello")
    session = sessions(live)[0]

    assert (0, "claude-sonnet-4-20250514") == (done.code, session.opening.model)
    assert session.account.startswith("demo-claude")


def test_thinking_and_a_system_prompt_reach_the_cli(live, chat, tmp_path):
    (tmp_path / "more").write_text("Be brief.")
    done = chat("-p", "demo-codex1", "--thinking", "Thorough", "--append-system-prompt", str(tmp_path / "more"), "hi")
    opening = sessions(live)[0].opening

    assert (0, "high") == (done.code, opening.effort)
    assert 'developer_instructions="Be brief."' in opening.args


def test_account_and_thinking_come_from_settings_where_nothing_is_said(live, chat, monkeypatch):
    monkeypatch.setenv("OXI_PROVIDER", "demo-codex1")
    monkeypatch.setenv("AGENT_RUNNER_THINKING_LEVEL", "thorough")
    done = chat("hi")
    session = sessions(live)[0]

    assert (0, "demo-codex1", "high") == (done.code, session.account, session.opening.effort)


def test_limits_of_settings_reach_a_cli_that_knows_them(live, chat, monkeypatch):
    monkeypatch.setenv("OXI_MAX_TOKENS", "1024")
    monkeypatch.setenv("AGENT_RUNNER_MAX_RESPONSE_TOKENS", "4096")  # vector 18: it stands above the older name
    monkeypatch.setenv("OXI_TOOL_TIMEOUT", "60")
    chat("-p", "demo-claude1", "hi")
    host = live.host_of(sessions(live)[0].session_id)
    words = Path(f"/proc/{host.pid}/environ").read_bytes().split(b"\0")

    assert {b"CLAUDE_CODE_MAX_OUTPUT_TOKENS=4096", b"BASH_DEFAULT_TIMEOUT_MS=60000"} <= {*words}


@pytest.mark.parametrize("streams", [True, False])
def test_an_answer_is_printed_while_it_comes_or_whole(live, chat, monkeypatch, streams):
    live.scripted()
    go = live.root / "go"
    take = Printer.take

    def begin_and_take(printer, numbered):
        go.touch()  # it listens: an answer that had ended before would be printed as a whole
        return take(printer, numbered)

    monkeypatch.setattr(Printer, "take", begin_and_take)
    prompt = script(["say", "aside"], ["wait", str(go)], ["say", "answer"])
    done = chat("--mode", "json", "-p", "scripted", prompt, options=("--set", f"stream_responses={streams}"))
    types = {json.loads(line)["type"] for line in done.out.splitlines()}

    assert (streams, True) == ("item_delta" in types, "item_ended" in types)


def test_an_error_is_a_line_of_json_where_events_are(live, chat):
    done = chat("--mode", "json", "-p", "nobody", "hi")

    assert ("", "account-unusable") == (done.out, json.loads(done.err)["error"]["code"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-e", "/path/to/ext.so", "-e", "/other/ext.so", "hi"), "/path/to/ext.so cannot be used"),
        (("--thinking", "invalid", "hi"), "choose from none, minimal, standard, thorough"),
        (("-p", "nobody", "hi"), "no account, runtime or CLI 'nobody'"),
        (("-p", "demo-codex1", "--tools", "a,b", "hi"), "leave out --tools"),
        (("-p", "demo-codex1"), "no prompt"),
        (("-i", "hi"), "needs a terminal"),
        (("--mode", "rpc", "hi"), "choose from text, json"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_begun(live, chat, words, said):
    done = chat(*words)

    assert ("", True) == (done.out, said in done.err), done
    assert 0 != done.code
    assert [] == sessions(live)


def test_no_session_leaves_no_record(live, chat):
    kept = chat("-p", "demo-claude1", "the walrus stays")
    done = chat("--no-session", "-p", "demo-claude1", "the walrus goes")

    assert (0, 0, True) == (kept.code, done.code, bool(done.out))
    assert ["the walrus stays"] == [turn.input for one in sessions(live) for turn in live.live.turns(one.session_id)]
    assert [] == live.rows("SELECT 1 FROM live_events WHERE event LIKE '%walrus goes%'")
    assert [] == live.rows("SELECT 1 FROM session_turns WHERE body LIKE '%walrus goes%'")
    assert 1 == len(live.rows("SELECT 1 FROM session_chains"))


def test_a_chat_without_a_session_that_is_killed_leaves_no_record_after_the_next_command(live, commands, agents):
    live.scripted()
    words = ["chat", "--no-session", "-p", "scripted", script(["say", "begun"], ["listen"])]
    cli = commands.show(words, dict(os.environ), live.demo.project, (24, 80))
    cli.expect_exact("begun")
    session = live.live.find_latest(live.demo.project).session_id
    assert b"" == agents("session", "list", "--live").stderr  # it is in use
    cli.kill(signal.SIGKILL)
    cli.wait()
    done = agents("session", "list", "--live")

    assert f"session {session} was removed, for its chat".encode() in done.stderr
    assert [] == [*live.engine.paths.unkept_sessions.iterdir()]
    assert ([], []) == (sessions(live), live.rows("SELECT 1 FROM live_turns"))
    assert b"removed" not in agents("session", "list", "--live").stderr


def test_a_killed_chat_loses_nothing_and_is_gone_on_with(live, chat, commands):
    live.scripted()
    go = live.root / "go"
    words = ["chat", "-p", "scripted", script(["say", "begun"], ["wait", str(go)], ["say", "done"])]
    cli = commands.show(words, dict(os.environ), live.demo.project, (24, 80))
    cli.expect_exact("begun")
    session = live.live.find_latest(live.demo.project).session_id
    cli.kill(signal.SIGKILL)
    go.touch()
    turn = live.live.turns(session)[0].turn_id
    result = live.live.wait(session, turn)
    done = chat("-c", script(["say", "again"]))

    assert ("completed", "done") == (result.status, result.reply)
    assert (0, "again\n", 2) == (done.code, done.out, len(live.live.turns(session)))


def test_ctrl_c_interrupts_the_turn(live, commands):
    live.scripted()
    words = ["chat", "-p", "scripted", script(["say", "begun"], ["listen"])]
    cli = commands.show(words, dict(os.environ), live.demo.project, (24, 80))
    cli.expect_exact("begun")
    cli.sendintr()
    cli.expect_exact("the turn is interrupted")
    cli.wait()

    assert 130 == cli.exitstatus
    assert "interrupted" == live.live.turns(sessions(live)[0].session_id)[0].status


def test_at_a_terminal_lines_are_messages_commands_and_answers(live, commands):
    live.scripted()
    cli = commands.show(["chat", "-p", "scripted"], dict(os.environ), live.demo.project, (24, 120))
    for wanted, line in (
        ("> ", script(["say", "hello there"])),
        ("\nhello there", "/nosuch x"),
        ("Error: there is no command /nosuch", script(["approve"], ["say", "thanks"])),
        ("c: deny and interrupt the turn: ", "y"),
        ("\nthanks", "/name red roof"),
        ("it is called red roof", script(["say", "more"], ["listen"])),
    ):
        cli.expect_exact(wanted)
        if wanted != "> " and "interrupt" not in wanted:
            cli.expect_exact("> ")
        cli.sendline(line)
    cli.expect_exact("\nmore")
    cli.sendintr()
    cli.expect_exact("the turn is interrupted")
    cli.expect_exact("> ")
    cli.sendeof()
    cli.wait()
    (session,) = sessions(live)
    turns = live.live.turns(session.session_id)

    assert (0, "red roof") == (cli.exitstatus, session.title)
    assert ["completed", "completed", "interrupted"] == [turn.status for turn in turns]


def test_the_arrow_keys_edit_a_line_the_tab_key_completes_it_and_earlier_ones_come_back(live, commands):
    live.scripted()
    cli = commands.show(["chat", "-p", "scripted"], dict(os.environ), live.demo.project, (24, 80))
    cli.expect_exact("> ")
    cli.send("walrus\x1b[D\x1b[D\x1b[D-\r")
    cli.expect_exact("> ")
    cli.send("\x1b[A\r")
    cli.expect_exact("> ")
    cli.send("/queu\t\r")
    cli.expect_exact("/queue ")
    cli.expect_exact("> ")
    cli.send("\x04")
    cli.wait()

    assert ["wal-rus", "wal-rus"] == live.texts()
    assert [] == [*live.root.rglob("*history*")]


def test_a_talk_in_which_nothing_was_said_leaves_no_session(live, commands):  # vector 29
    live.scripted()
    cli = commands.show(["chat", "-p", "scripted"], dict(os.environ), live.demo.project, (24, 80))
    cli.expect_exact("> ")
    cli.sendeof()
    cli.wait()

    assert (0, []) == (cli.exitstatus, sessions(live))
