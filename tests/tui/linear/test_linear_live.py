"""Live sessions in plain lines: begun, talked to, what they ask answered."""

import importlib.util
from pathlib import Path

import pytest

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
    text = talk(
        MENU, "Begin one", "demo-codex", "hello", "[[approve:rm -rf build]] go", "Approve once", "", "", "", "y"
    )

    assert "Assistant: " in text
    assert "It wants to run a command." in text
    assert "The request is answered." in text
    assert 2 == text.count("Turn completed.")


def test_a_request_is_denied_with_a_reason_later(talk):
    talk(MENU, "Begin one", "demo-codex", "[[approve:rm -rf build]] go", "", "")
    text = talk(MENU, "Answer what is asked", "Deny", "not today")

    assert "1 request waits for you." in text
    assert "Command: " in text


def test_nothing_is_sent_in_read_only_mode(talk):
    text = talk(MENU, "", arguments=("--read-only",))

    assert "No live sessions." in text
    assert "Begin one" not in text
