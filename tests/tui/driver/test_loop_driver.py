"""The driver on the event loop: what is typed comes whole and in order, and the terminal is left as it was."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path

import pytest

from oulipoly_tui.driver import driver

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the app keeps Textual's own driver")

_PATIENCE_S = 60.0
_PROGRAM = """
import asyncio, json, sys
from textual import constants
from textual.containers import Vertical
from textual.widget import Widget
from oulipoly_tui.driver import driver, signals
from oulipoly_tui.driver.typeahead import KeysInTurn

class Keys(Widget, can_focus=True):
    seen = []
    def take_key(self, event):
        if event.key in ("escape", "s", "x"):
            return False
        return self.note(event.key)
    def note(self, key):
        self.seen.append(key)
        self.app._driver.write(f"<{len(self.seen)}>")
        return True
    async def on_key(self, event):
        if event.key == "s":  # which is for the one around us too
            self.note(event.key)
        elif event.key != "x":  # which is for the app
            event.stop()
            self.note(event.key)
    def on_paste(self, event):
        event.stop()
        self.note("<" + event.text + ">")

class Slow(Vertical):
    async def on_key(self, event):
        if event.key == "s":
            await asyncio.sleep(0.3)

class Program(KeysInTurn, inherit_bindings=False):
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [("x", "end", "end")]
    def compose(self):
        yield Slow(Keys())
    def on_ready(self):
        signals.give_the_terminal_back(self)
        self.query_one(Keys).focus()
        self.call_after_refresh(self._driver.write, "READY" + sys.argv[1] * int(sys.argv[2]))
    def action_end(self):
        self.exit(Keys.seen)

constants.ESCAPE_DELAY = 0.02
app = Program(driver_class=driver.choose())
seen = app.run()
if app.return_code:
    sys.exit(app.return_code)
print("SEEN" + json.dumps([type(app._driver).__name__, *seen]) + "END")
"""


class Run:
    """The program in a terminal of ours."""

    def __init__(self, fill="", times=0, *, has_stderr=True):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            if not has_stderr:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            argv = [sys.executable, "-c", _PROGRAM, fill, str(times)]
            os.execve(sys.executable, argv, {**os.environ, "TERM": "xterm-256color"})
        self.drawn = b""

    def until(self, text):
        deadline = time.monotonic() + _PATIENCE_S
        while text not in self.drawn:
            assert time.monotonic() < deadline, self.drawn[-500:]
            if select.select([self.fd], [], [], 0.1)[0]:
                self.drawn += os.read(self.fd, 4096)

    def seen(self):
        self.until(b"END")
        return json.loads(self.drawn.partition(b"SEEN")[2].partition(b"END")[0])

    def code(self):
        deadline = time.monotonic() + _PATIENCE_S
        while (told := os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return told.si_status

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.fixture
def run():
    made = []

    def start(*words, **more):
        made.append(Run(*words, **more))
        return made[-1]

    yield start
    for one in made:
        one.close()


# What is typed, and the keys that arrive. Each piece is read alone; a number: so many keys have arrived meanwhile.
_END, _BEGIN = b"\x1b[201~", b"\x1b[200~"
_TYPED = {
    "in order, whether they go at once or in turn": (
        [b"ab\x1b[200~pasted\x1b[201~c\x1b[Ad\xc3\xa9f"],
        ["a", "b", "<pasted>", "c", "up", "d", "é", "f"],
    ),
    # While nobody has anything in his queue, the work of one key is not done: none overtakes those that wait for it.
    "in order while one is worked on": ([b"sbc", 1, b"d", b"e"], ["s", "b", "c", "d", "e"]),
    "letters of a paste, each alone": ([b"a", _BEGIN, b"q", b"7", _END, b"b"], ["a", "<q7>", "b"]),
    "a paste that holds sequences": (
        [b"a\x1b[200~one\x1b[0m\rtwo \x1b[Ax\x1b\rx\r\x1b[201~b"],
        ["a", "<one[0m\rtwo [Ax\rx\r>", "b"],
    ),
    **{
        f"the end of a paste in two pieces, {length}": (
            [b"a\x1b[200~q" + _END[:length], _END[length:] + b"b"],
            ["a", "<q>", "b"],
        )
        for length in range(1, 6)
    },
    **{
        f"the beginning of a paste in two pieces, {length}": (
            [b"a" + _BEGIN[:length], _BEGIN[length:] + b"x\r", b"x\x1b[201~b"],
            ["a", "<x\rx>", "b"],
        )
        for length in range(3, 6)
    },
    "a lone Escape, which nothing follows": ([b"a\x1b", 2, b"b"], ["a", "escape", "b"]),
    "keys with Alt in one breath": (
        [b"w\x1b.y\x1b1z\x1b\ri\x1b:wq\r\x1b[\x1b]\x1b\x1ba\x1bO"],
        [
            *["w", "alt+full_stop", "y", "alt+1", "z", "alt+enter", "i", "alt+colon", "w", "q", "enter"],
            *["alt+left_square_bracket", "alt+right_square_bracket", "escape", "alt+a", "alt+shift+o"],
        ],
    ),
    "a split character": ([b"a\xe2\x82", 1, b"\xac"], ["a", "euro_sign"]),
    "an unknown sequence": ([b"a\x1b[12;7w", 1, b"b"], ["a", "b"]),
    "a sequence with a part too many": ([b"a\x1b[97;5:3u", 1, b"b"], ["a", "b"]),
    "a sequence beyond characters": ([b"a\x1b[1114112u", 1, b"b"], ["a", "b"]),
    "a size in no pixels": ([b"a\x1b[48;24;80;0;0t\x1b[<0;5;5M", 1, b"b"], ["a", "b"]),
}


def test_what_is_typed_arrives_whole_and_in_order(run):
    program = run()
    program.until(b"READY")

    count = 0
    for pieces, keys in _TYPED.values():
        for piece in pieces:
            if isinstance(piece, int):
                program.until(b"<%d>" % (count + piece))
            else:
                os.write(program.fd, piece)
                time.sleep(0.06)  # three times as long as we wait for what may follow Escape
        count += len(keys)
        program.until(b"<%d>" % count)
    os.write(program.fd, b"x")

    driver_name, *arrived = program.seen()
    assert "LoopDriver" == driver_name
    assert {name: keys for name, (_, keys) in _TYPED.items()} == {
        name: [arrived.pop(0) for _ in keys[: len(arrived)]] for name, (_, keys) in _TYPED.items()
    }
    assert [] == arrived


def test_rubbish_that_is_no_text_ends_nothing(run):
    program = run()
    program.until(b"READY")

    os.write(program.fd, b"\xff\xfeax")

    assert program.seen()[-1] == "a"


def test_terminal_is_drawn_on_though_errors_go_elsewhere(run):
    program = run(has_stderr=False)
    program.until(b"READY")
    os.write(program.fd, b"ax")

    assert program.seen() == ["LoopDriver", "a"]


def test_signal_ends_us_though_the_terminal_does_not_read(run):
    program = run("0123456789", 60_000)
    program.until(b"READY")

    os.kill(program.pid, signal.SIGTERM)

    assert program.code() == 128 + signal.SIGTERM


def test_terminal_that_reads_slowly_gets_every_byte_in_order_and_is_given_back_as_it_was(run):
    program = run("0123456789", 60_000)
    before = termios.tcgetattr(program.fd)
    program.until(b"READY")

    program.until(b"0123456789" * 60_000)
    os.write(program.fd, b"ax")

    assert program.seen() == ["LoopDriver", "a"]
    assert termios.tcgetattr(program.fd) == before
    assert b"\x1b[?1049l" in program.drawn
    assert not fcntl.fcntl(program.fd, fcntl.F_GETFL) & os.O_NONBLOCK


def test_without_a_terminal_textual_chooses(monkeypatch):
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "__stdin__", nothing)

        assert driver.choose() is None
