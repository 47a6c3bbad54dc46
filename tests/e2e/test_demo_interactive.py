"""The demo CLIs' interactive mode in a real terminal."""

import json
import os
import re
import signal

import pexpect
import pytest

from oulipoly_demo import world
from oulipoly_demo.world import Options

READY = "╰─+╯"


@pytest.fixture
def demo(tmp_path):
    return world.build(tmp_path / "w", options=Options(pace_s=0, seeded=False))


@pytest.fixture
def open_cli(demo):
    opened = []

    def open_(account, *arguments, **env):
        full = world.environment_for(demo, os.environ) | {"TERM": "xterm-256color", "NO_COLOR": "1"} | env
        cli = pexpect.spawn(
            str(demo.bin / account),
            list(arguments),
            env=full,
            cwd=str(demo.project),
            encoding="utf-8",
            timeout=60,
            dimensions=(24, 80),
        )
        cli.delayafterclose = cli.delayafterterminate = cli.ptyproc.delayafterclose = 0
        opened.append(cli)
        return cli

    yield open_
    for cli in opened:
        cli.close(force=True)


def finish(cli):
    cli.expect(pexpect.EOF)
    rest = cli.before
    cli.wait()
    return rest


def transcripts(demo, account="demo-claude1"):
    return [
        [json.loads(line) for line in path.read_text().splitlines()]
        for path in demo.account_home(account).rglob("*.jsonl")
    ]


def test_two_turns_and_exit_say_how_to_resume(demo, open_cli):
    cli = open_cli("demo-claude1", "--model", "opus")
    cli.expect(READY)
    cli.send("1 + 1\r")
    cli.expect("● 1 \\+ 1 = 2")
    cli.send("what did I say so far?\r")
    cli.expect("1\\. 1 \\+ 1")
    cli.expect(READY)
    cli.send("/exit\r")
    rest = finish(cli)

    (records,) = transcripts(demo)
    assert 0 == cli.exitstatus
    assert f"Resume this session with:\r\ndemo-claude1 --resume {records[0]['sessionId']}\r\n" in rest
    assert ["user", "assistant"] * 2 == [record["type"] for record in records if "uuid" in record]


def test_status_line_shows_model_account_and_falling_quota(open_cli):
    cli = open_cli("demo-claude2", "--model", "opus")
    cli.expect("demo-opus-1 · demo-claude2 · 5h 0\\.0% · 7d 0\\.0% · demo")
    cli.send("hello\r")

    cli.expect("demo-claude2 · 5h [1-9]\\d*\\.\\d% → \\d\\d:\\d\\d")


def test_quota_command_draws_the_windows(open_cli):
    cli = open_cli("demo-codex1")
    cli.expect(READY)
    cli.send("/quota\r")

    cli.expect("weekly +░{20} 0\\.0%")


def test_thinking_is_animated_and_drawn_over_itself(open_cli):
    cli = open_cli("demo-claude1")
    cli.expect(READY)
    cli.send("hello [[sleep:0.5]]\r")
    cli.expect("● ")

    marks = set(re.findall("(.) Thinking", cli.before))
    assert len(marks) > 1
    assert "\x1b[2A\r\x1b[J" in cli.before


def test_resize_redraws_the_box_at_the_new_width(open_cli):
    cli = open_cli("demo-claude1")
    cli.expect("╭─{78}╮")
    cli.setwinsize(24, 40)
    cli.expect_exact("\x1b[2J\x1b[H")
    cli.expect("╭─{38}╮\r\n│ > +│")

    cli.send("typed after it")
    cli.expect("│ > typed after it")


def test_ctrl_c_interrupts_an_answer_and_twice_leaves(demo, open_cli):
    cli = open_cli("demo-claude1")
    cli.expect(READY)
    cli.send("hello [[sleep:600]]\r")
    cli.expect("Thinking")
    cli.send("\x03")
    cli.expect("Interrupted")
    cli.send("\x03")
    cli.expect("Press Ctrl-C again to exit")
    cli.send("\x03")
    finish(cli)

    (records,) = transcripts(demo)
    assert 0 == cli.exitstatus
    assert "[Request interrupted by user]" == records[-1]["message"]["content"][0]["text"]


def test_ctrl_d_leaves_without_a_word_when_nothing_was_said(demo, open_cli):
    cli = open_cli("demo-claude1")
    cli.expect(READY)
    cli.send("\x04")
    rest = finish(cli)

    assert 0 == cli.exitstatus
    assert "Resume" not in rest
    assert [] == transcripts(demo)


def test_resume_shows_the_history(demo, open_cli):
    cli = open_cli("demo-claude1", "the word is turtle")
    cli.expect("You said")
    cli.expect(READY)
    cli.send("/exit\r")
    session_id = re.search("--resume (\\S+)", finish(cli))[1]

    again = open_cli("demo-claude1", "--resume", session_id)

    again.expect("> the word is turtle\r\n")
    again.expect("● You said: the word is turtle")


def test_codex_says_how_to_resume_in_its_own_words(demo, open_cli):
    cli = open_cli("demo-codex2", "1 + 1")
    cli.expect("1 \\+ 1 = 2")
    cli.expect(READY)
    cli.send("/exit\r")
    thread_id = re.search("To continue this session, run:\r\n  demo-codex2 resume (\\S+)", finish(cli))[1]

    again = open_cli("demo-codex2", "resume", thread_id)

    again.expect("● 1 \\+ 1 = 2")


def test_clear_starts_another_session_in_the_same_process(demo, open_cli):
    cli = open_cli("demo-claude1")
    cli.expect(READY)
    cli.send("1 + 1\r")
    cli.expect("= 2")
    cli.send("/clear\r")
    cli.expect("A new session")
    cli.send("2 + 2\r")
    cli.expect("= 4")
    (marker,) = (demo.account_home("demo-claude1") / "sessions").iterdir()
    current = json.loads(marker.read_text())["sessionId"]

    sessions = {records[0]["sessionId"]: records[0]["message"]["content"] for records in transcripts(demo)}
    assert {"1 + 1", "2 + 2"} == set(sessions.values())
    assert "2 + 2" == sessions[current]


def test_refusal_is_shown_and_the_talk_goes_on(open_cli):
    cli = open_cli("demo-claude1")
    cli.expect(READY)
    cli.send("x [[quota]]\r")
    cli.expect("You've hit your session limit")
    cli.send("1 + 1\r")

    cli.expect("= 2")


def test_pasted_lines_are_one_prompt(demo, open_cli):
    cli = open_cli("demo-claude1")
    cli.expect(READY)
    cli.send("\x1b[200~1 +\n1\x1b[201~\r")
    cli.expect("1 \\+ *\r?\n?.*1")
    cli.expect("● ")

    assert "1 +\n1" == transcripts(demo)[0][0]["message"]["content"]


def test_terminate_gives_the_terminal_back(demo, open_cli):
    cli = open_cli("demo-claude1")
    cli.expect(READY)
    cli.kill(signal.SIGTERM)
    rest = finish(cli)

    assert 143 == cli.exitstatus
    assert "\x1b[?2004l" in rest
    assert [] == list((demo.account_home("demo-claude1") / "sessions").iterdir())


def test_closed_terminal_ends_it(demo, open_cli):
    cli = open_cli("demo-claude1")
    cli.expect(READY)

    cli.ptyproc.fileobj.close()
    cli.ptyproc.wait()

    assert [] == list((demo.account_home("demo-claude1") / "sessions").iterdir())
