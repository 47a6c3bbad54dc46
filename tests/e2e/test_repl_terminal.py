"""`repl`, `--new` and `--resume` in a real terminal, with the demo's CLIs."""

import json
import os
import re
import signal
import sqlite3
from contextlib import closing

import pexpect
import pytest

from oulipoly_demo import world
from oulipoly_demo.world import Options

READY = "╰─+╯"
ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@pytest.fixture
def demo(tmp_path):
    return world.build(tmp_path / "w", options=Options(pace_s=0, seeded=False))


@pytest.fixture
def start(demo, commands):
    opened = []

    def start(*arguments, dimensions=(24, 80)):
        env = world.environment_for(demo, os.environ) | {"TERM": "xterm-256color", "NO_COLOR": "1"}
        cli = commands.show(arguments, env, demo.project, dimensions)
        opened.append(cli)
        return cli

    yield start
    for cli in opened:
        cli.close(force=True)


def say(cli, text, answer):
    cli.expect(READY)
    cli.send(f"{text}\r")
    cli.expect(answer)
    cli.expect(READY)


def leave(cli):
    cli.send("/exit\r")
    cli.expect(pexpect.EOF)
    cli.wait()
    return cli.before


def rows(demo, table="invocations"):
    path = demo.home / ".local" / "share" / "oulipoly-agent-runner" / "state.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1")]


def test_new_session_of_a_pool_is_recorded_with_the_session_it_made(demo, start):
    cli = start("repl", "demo-opus")
    say(cli, "the word is turtle", "You said: the word is turtle")
    left = leave(cli)

    (row,) = rows(demo)
    assert 0 == cli.exitstatus
    assert re.search(f"--resume ({ID})", left)[1] == row["session_id"]
    assert ("succeeded", "turn_script", "demo-opus") == (
        row["status"],
        row["session_capture_method"],
        row["model_name"],
    )
    assert ["demo-opus"] == [chain["model_name"] for chain in rows(demo, "session_chains")]


def test_session_that_clear_began_is_the_one_that_is_recorded(demo, start):
    cli = start("repl", "-m", "demo-opus")
    say(cli, "one, two, three, four", "You said")
    cli.send("/clear\r")
    cli.expect("A new session")
    say(cli, "2 + 2", "= 4")
    left = leave(cli)

    assert re.search(f"--resume ({ID})", left)[1] == rows(demo)[0]["session_id"]


def test_new_opens_the_default_account_without_a_model(demo, start):
    cli = start("--new")
    say(cli, "1 + 1", "= 2")
    leave(cli)

    (row,) = rows(demo)
    assert ("demo-claude2", "<unknown>") == (row["provider_name"], row["model_name"])
    assert row["session_id"] is not None


@pytest.mark.parametrize("command", [("--resume",), ("repl", "--resume")])
def test_beginning_of_an_id_resumes_the_session_on_its_account(demo, start, command):
    first = start("repl", "demo-opus")
    say(first, "the word is turtle", "You said")
    leave(first)
    session = rows(demo)[0]["session_id"]

    again = start(*command, session[:6])
    again.expect_exact(f"[resume] -> {rows(demo)[0]['provider_name']}")
    again.expect("turtle")
    say(again, "what did I say so far?", "1\\. the word is turtle")
    leave(again)

    row = rows(demo)[-1]
    assert (session, "resumed", session) == (row["session_id"], row["session_capture_method"], row["resume_input_id"])
    assert "demo-opus" == row["model_name"]
    assert 1 == len(rows(demo, "session_chains"))


def test_codex_session_is_resumed_by_its_subcommand(demo, start):
    first = start("repl", "demo-codex")
    say(first, "1 + 1", "= 2")
    leave(first)

    again = start("--resume", rows(demo)[0]["session_id"][:13])
    again.expect("● 1 \\+ 1 = 2")
    leave(again)

    assert ["succeeded", "succeeded"] == [row["status"] for row in rows(demo)]


def test_window_size_reaches_the_cli_at_once_and_when_it_changes(start):
    cli = start("repl", "demo-opus", dimensions=(30, 66))
    cli.expect("╭─{64}╮")
    cli.setwinsize(24, 40)

    cli.expect("╭─{38}╮")


def test_ctrl_c_is_the_clis_own_affair(demo, start):
    cli = start("repl", "demo-opus")
    cli.expect(READY)
    cli.send("hello [[sleep:600]]\r")
    cli.expect("Thinking")
    cli.send("\x03")
    cli.expect("Interrupted")
    cli.send("\x03")
    cli.expect("again to exit")
    cli.send("\x03")
    cli.expect(pexpect.EOF)
    cli.wait()

    assert 0 == cli.exitstatus
    assert "succeeded" == rows(demo)[0]["status"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=["TERM", "HUP"])
def test_signal_ends_the_cli_and_the_row_is_a_failure(demo, start, number):
    cli = start("repl", "demo-opus")
    cli.expect(READY)
    cli.kill(number)
    cli.expect(pexpect.EOF)
    cli.wait()

    (row,) = rows(demo)
    assert 128 + number == cli.exitstatus
    assert ("failed", f"interrupted: signal {int(number)}") == (row["status"], row["terminal_reason"])
    assert "\x1b[?2004l" in cli.before
    assert [] == list((demo.account_home("demo-claude1") / "sessions").glob("*.json"))


def test_closed_terminal_ends_the_cli_and_the_row(demo, start):
    cli = start("repl", "demo-opus")
    cli.expect(READY)
    cli.ptyproc.fileobj.close()
    cli.ptyproc.wait()

    (row,) = rows(demo)
    assert ("failed", "interrupted: signal 1") == (row["status"], row["terminal_reason"])


def test_unknown_session_and_missing_terminal_are_said_plainly(demo, start, agents):
    cli = start("--resume", "0123abcd")
    cli.expect("Error: no session has the id 0123abcd")
    cli.expect(pexpect.EOF)
    cli.wait()
    done = agents("repl", "demo-opus", env=world.environment_for(demo, os.environ))

    assert (1, 1) == (cli.exitstatus, done.returncode)
    assert b"stdin is not a terminal" in done.stderr
    assert b"" == done.stdout


def test_result_file_is_kept_though_the_terminal_shows_no_marker(demo, start):
    cli = start("repl", "demo-opus")
    say(cli, "1 + 1", "= 2")
    left = leave(cli)

    (row,) = rows(demo)
    folder = demo.home / ".local" / "share" / "oulipoly-agent-runner" / "invocations"
    name, _, result = (folder / f"{row['invocation_uuid']}.result").read_text().partition("=")
    assert ("OULIPOLY_RESULT", True) == (name, json.loads(result)["success"])
    assert "OULIPOLY" not in left
