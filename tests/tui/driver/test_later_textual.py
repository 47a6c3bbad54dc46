"""A later Textual without the names that we use beside what it promises: the app works in the ordinary way."""

import os
import pty
import select
import signal
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the app keeps Textual's own driver")

_PATIENCE_S = 60.0
# A Textual in which a name is called otherwise, everywhere: its sources are changed as they are imported.
_PROGRAM = r"""
import importlib.machinery, re, sys
name = sys.argv[1]
uses = re.compile(rf"(?<!textual)(?<!from )\._?\b{name}\b|(?<=def ){name}\b|(?<=class ){name}\b|(?<=^    ){name}\b"
                  rf"|(?<=import ){name}\b|(?<![\w.]){name}(?=\()", re.MULTILINE)
found = []
ordinary = importlib.machinery.SourceFileLoader.get_code
def get_code(loader, fullname):
    if fullname.startswith("textual"):
        source = loader.get_source(fullname)
        changed = uses.sub(lambda use: use[0] + "_as_it_is_now", source)
        if changed != source:
            found.append(fullname)
            return compile(changed, loader.path, "exec", dont_inherit=True)
    return ordinary(loader, fullname)
importlib.machinery.SourceFileLoader.get_code = get_code

from rich.segment import Segment
from textual.app import App
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget
from oulipoly_tui.driver import driver
from oulipoly_tui.widgets.painting import paint_at_once

class Keys(Widget, can_focus=True):
    seen = []
    def take_key(self, event):
        return event.key not in ("escape", "x") and self.note(event.key)
    def note(self, key):
        self.seen.append(key)
        if not paint_at_once(self, [Region(0, 0, *self.size)]):
            self.refresh()
        return True
    def render_line(self, y):
        return Strip([Segment((f"<{len(self.seen)}>" if y == 0 else "").ljust(self.size.width))])
    async def on_key(self, event):
        if event.key != "x":  # which is for the app
            event.stop()
            self.note(event.key)

class Program(App, inherit_bindings=False):
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = [("x", "end", "end")]
    def compose(self):
        yield Keys()
    def on_ready(self):
        self.query_one(Keys).focus()
        self.call_after_refresh(self.call_after_refresh, self._driver.write, "READY")
    def action_end(self):
        self.exit()

Program(driver_class=driver.choose()).run()
print("SEEN", *Keys.seen, "in", len(found) > 0, "END")
"""
_NAMES = (
    *("XTermParser", "_timeout_time", "_thread_id", "_context", "_message_queue", "_bindings", "_exit"),
    *("_debug", "_loop", "_key_thread", "run_input_thread", "process_message", "_auto_restart", "_must_signal_resume"),
    *("_dirty_widgets", "_batch_count", "_on_timer_update", "_set_dirty", "_sequence_to_key_events"),
)


class Run:
    """The program in a terminal of ours."""

    def __init__(self, name):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(sys.executable, [sys.executable, "-c", _PROGRAM, name], os.environ | {"TERM": "xterm-256color"})
        self.drawn = b""

    def until(self, text):
        deadline = time.monotonic() + _PATIENCE_S
        while text not in self.drawn:
            assert time.monotonic() < deadline, self.drawn[-3000:].decode()
            if select.select([self.fd], [], [], 0.1)[0]:
                self.drawn += os.read(self.fd, 4096)

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.fixture
def run():
    made = []

    def start(name):
        made.append(Run(name))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.mark.parametrize("name", _NAMES)
def test_keys_and_pictures_come_though_textual_has_another_name_for(run, name):
    program = run(name)
    program.until(b"<0>")
    program.until(b"READY")

    for count, key in enumerate((b"a", b"b", b"\x1b[A"), 1):
        os.write(program.fd, key)
        program.until(b"<%d>" % count)
    os.write(program.fd, b"x")

    program.until(b"SEEN a b up in True END")
