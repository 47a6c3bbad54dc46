"""A set-up that waits at its terminal, or for a line of JSON, hears what is answered in the inbox."""

import sys
import time

import pexpect
import pytest

from oulipoly_engine.facade.engine import Engine

WAITS = """
from oulipoly_engine.cli.setup.agent.json_face import JsonFace
from oulipoly_engine.cli.setup.agent.terminal_face import TerminalFace
from oulipoly_engine.cli.base.questions import Questions
from oulipoly_engine.core.setup.events import Agreement
from oulipoly_engine.facade.engine import Engine
from oulipoly_engine.service.setup.inbox import Inbox

home = Engine().web._home
inbox = Inbox({}, home.lend_store, home.clock, "ann@desk")
print("first", inbox.agree(Agreement("command", "Run this command?", "npm ls")))
print("second", inbox.agree(Agreement("command", "And that one?", "npm ci")))
"""
FACES = {
    "terminal": ("TerminalFace(Questions(is_agreed=False), None)", "y\r"),
    "json": ("JsonFace()", '{"type": "confirm", "confirm_id": "agreement-2", "confirmed": true}\r'),
}


@pytest.mark.parametrize("name", FACES)
def test_a_waiting_face_hears_the_inbox(home, name):
    face, yes = FACES[name]
    cli = pexpect.spawn(sys.executable, ["-c", WAITS.replace("{}", face)], encoding="utf-8", timeout=60)
    cli.expect_exact("Run this command?")
    cli.send("y")  # begun and not sent: it answers nothing
    engine = Engine()
    deadline = time.monotonic() + 60
    while not engine.live.requests() and time.monotonic() < deadline:
        time.sleep(0.05)
    (request,) = engine.live.requests()
    engine.live.acting_as("ann's phone", is_person=True).answer(request.request_id, "deny")
    engine.close()
    cli.expect_exact("denied by ann's phone")
    cli.expect_exact("first False")
    cli.expect_exact("And that one?")
    if name == "json":
        cli.send("\r")  # ends the line that was begun
    cli.send(yes)
    cli.expect_exact(f"second {name == 'terminal'}")
    cli.expect(pexpect.EOF)
    cli.close()
