"""Live sessions in plain lines: begun, talked to, what they ask answered."""

import importlib.util
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from oulipoly_engine.core.live.events import Prompt
from oulipoly_tui.linear import linear, live
from oulipoly_tui.linear.talk import Talk

_PATH = Path(__file__).parents[1] / "live" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("live_of_linear", _PATH)
_LIVE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_LIVE)
live_world = _LIVE.live_world
MENU = "Live sessions"


@pytest.fixture
def talk(live_world, agents):
    def run(*answers, arguments=()):
        stdin = "".join(f"{answer}\n" for answer in answers).encode()
        done = agents("--linear", *arguments, stdin=stdin, cwd=live_world.project)
        assert 0 == done.returncode, done.stderr.decode()
        return done.stdout.decode()

    return run


def test_a_session_is_begun_talked_to_and_its_request_approved(talk):
    said = ("hello", "/nosuch", "/name red roof", "[[approve:rm -rf build]] go")
    text = talk(MENU, "Begin one", "demo-codex", *said, "Approve once", "", "", "", "y")

    assert "Assistant: " in text
    assert "It wants to run a command." in text
    assert "The request is approved." in text
    assert 2 == text.count("Turn completed.")
    assert "Error. there is no command /nosuch: see /help;" in text
    assert "it is called red roof" in text


def test_a_request_is_denied_with_a_reason_later(talk):
    talk(MENU, "Begin one", "demo-codex", "[[approve:rm -rf build]] go", "", "")
    text = talk(MENU, "Answer what is asked", "Deny", "not today")

    assert "1 request waits for you." in text
    assert "Command: " in text


def test_nothing_is_sent_in_read_only_mode(talk):
    text = talk(MENU, "", arguments=("--read-only",))

    assert "No live sessions." in text
    assert "Begin one" not in text


def test_lines_that_were_typed_ahead_on_a_terminal_approve_nothing(monkeypatch):
    mine, its = os.openpty()
    answered = []
    engine = SimpleNamespace(live=SimpleNamespace(answer=lambda *given, **_more: answered.append(given)))
    request = SimpleNamespace(
        request_id="r",
        session_id="s",
        kind="command_approval",
        prompt=Prompt("Run ls", "ls", reach="every ls of the session"),
    )
    typed = {"Answer": "Approve for the session", "Approve every ls of the session?": ""}

    def read_line(label):
        words = next(text for begin, text in typed.items() if label.startswith(begin))
        os.write(mine, f"{words}\ny\n".encode())  # the y is typed ahead
        return sys.stdin.readline().rstrip("\n")

    os.write(mine, b"Approve once\n")
    with os.fdopen(its) as stdin, os.fdopen(mine, "rb", 0):
        monkeypatch.setattr(sys, "stdin", stdin)
        live._answer(Talk(engine, read_line, False, linear.drop_typed_ahead), request)

    assert [] == answered
