"""The README's five minutes, in a real tmux: watch quota, resume, talk, read, export, edit, import, take back."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time

import pytest

from oulipoly_demo import world
from oulipoly_demo.past import state
from oulipoly_demo.world import Options
from oulipoly_tui.driver.typeahead import KeysInTurn

PATIENCE_S = 60
ASKED = "What is a turtle, in one line?"

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux")


class Tmux:
    """A server of our own with one window, typed to and read as a person would."""

    def __init__(self, folder, size=(150, 45)):
        self._words = ["tmux", "-S", str(folder / "tmux"), "-f", os.devnull]
        self._size = [str(number) for number in size]

    def _run(self, *words, env=None):
        return subprocess.run([*self._words, *words], check=True, capture_output=True, text=True, env=env).stdout

    def start(self, command, env, cwd):
        columns, rows = self._size
        self._run("new-session", "-d", "-x", columns, "-y", rows, "-c", str(cwd), shlex.join(command), env=env)
        self._run("set-option", "-g", "remain-on-exit", "on")

    def screen(self):
        return self._run("capture-pane", "-p")

    def sees(self, *wanted, never=None):
        """Wait until all of these are on the screen, and this is not."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            text = self.screen()
            if all(re.search(one, text) for one in wanted) and not (never and re.search(never, text)):
                return text
            assert time.monotonic() < deadline, f"{wanted} without {never} never came:\n{text}"
            time.sleep(0.05)

    def press(self, *keys):
        self._run("send-keys", *keys)

    def type(self, text):
        self._run("send-keys", "-l", text)

    def close(self):
        subprocess.run([*self._words, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def demo(tmp_path):
    built = world.build(tmp_path / "w", options=Options(pace_s=0))
    state.ensure(built)
    return built


@pytest.fixture
def app(demo, tmp_path):
    """The app in the demo's world, with a session of an account that is not spent chosen in the tree."""
    tmux = Tmux(tmp_path)
    env = world.environment_for(demo, os.environ) | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    tmux.start([sys.executable, "-m", "oulipoly_tui", "--no-anim"], env, demo.project)
    try:
        tmux.sees("1 Pools", "2 Quota", "3 Sessions", "turtle-maps")
        tmux.press("3")
        tmux.press("/")
        tmux.type("shortest_walk to somebody")
        tmux.press("Enter")  # the cursor is on what was found, however fast the next key comes
        yield tmux
    finally:
        tmux.close()


def talked(tmux):
    """Resume the chosen session, say one thing, and leave its CLI."""
    tmux.press("r")
    tmux.sees(r"╭─{20,}╮", r"ctrl\+] leave")  # the box that takes what is typed
    tmux.type(ASKED)
    tmux.press("Enter")
    tmux.sees(re.escape(f"> {ASKED}") + r"[\s\S]*●")
    tmux.type("/exit")
    tmux.press("Enter")
    tmux.sees("ended 0")


def test_a_stranger_watches_quota_resumes_a_session_and_reads_what_was_said(app):
    app.press("2")
    app.sees("resets in", "even pace")
    app.press("3")
    talked(app)

    app.press("3")
    app.press("Enter")
    app.sees("4 Transcript", r"▌ you", re.escape(ASKED), r"▌ assistant")


def test_a_session_is_exported_edited_imported_and_taken_back_by_keyboard(app, demo):
    talked(app)
    app.press("3")
    app.press("x")
    app.sees("format    markdown")
    app.press("C-o")
    app.press("C-o")
    name = re.search(r"(\w+)\.jsonl", app.sees(r"canonical-jsonl", r"\w+\.jsonl"))[0]
    app.press("Enter")
    app.sees(rf"{name}: [\d,]+ bytes")
    exported = demo.project / name
    exported.write_text(exported.read_text().replace(ASKED, "What is a hare?"))
    (transcript,) = [path for path in demo.home.rglob("*.jsonl") if ASKED in path.read_text()]
    before = transcript.read_bytes()

    app.sees("Explain shortest_walk", never=r"Explain shortest_walk.* live |format    canonical")
    time.sleep(2 * KeysInTurn.PAUSE_S)  # a hand notices that the dialog has closed by itself; quicker keys do nothing
    app.press("i")
    app.sees("File of canonical JSON lines")
    app.sees(rf"\b{name}\b")
    app.press("Enter")  # what was exported is offered
    app.sees("1 changed", re.escape(f"- {ASKED}"), re.escape("+ What is a hare?"))
    app.press("y")
    app.sees("Session replaced", r"u: undo, \d+ s|u: undo, until")
    assert "What is a hare?" in transcript.read_text()

    app.press("u")
    app.sees("Undone|taking back")
    deadline = time.monotonic() + PATIENCE_S
    while transcript.read_bytes() != before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert before == transcript.read_bytes()
