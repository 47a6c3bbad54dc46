"""A later Textual without the names that we use beside what it promises: the app works in the ordinary way."""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the app keeps Textual's own driver")

_PATIENCE_S = 60.0
# A Textual in which a name is called otherwise, everywhere: in all its code, classes and objects. All programs are
# forked, each into a terminal of its own, from one process that has imported it; what is ours is imported anew in each.
_PROGRAM = r"""
import gc, os, pty, socket, sys, types
import oulipoly_tui.driver.driver, oulipoly_tui.widgets.painting, textual.app, textual.command, textual.widgets
for module in [module for module in sys.modules if module.startswith("oulipoly_tui")]:
    del sys.modules[module]
asking = socket.socket(fileno=int(sys.argv[1]))
while name := asking.recv(100).decode():
    pid, terminal = pty.fork()
    if pid == 0:
        break
    socket.send_fds(asking, [b"%d" % pid], [terminal])
    os.close(terminal)
else:
    for _ in range(int(sys.argv[2])):
        os.wait()
    sys.exit()
asking.close()

other, found = name + "_as_it_is_now", []
def rename(code):
    inner = tuple(rename(each) if isinstance(each, types.CodeType) else each for each in code.co_consts)
    if name in code.co_names:
        found.append(code)
    elif all(map(lambda new, old: new is old, inner, code.co_consts)):
        return code
    return code.replace(co_consts=inner, co_names=tuple(other if each == name else each for each in code.co_names))

for thing in gc.get_objects():
    kind = thing if isinstance(thing, type | types.FunctionType) else type(thing)
    is_theirs = (getattr(kind, "__module__", None) or "").startswith("textual")
    if isinstance(thing, types.FunctionType) and is_theirs:
        changed = rename(thing.__code__)
        if changed is not thing.__code__:
            thing.__code__ = changed
    elif isinstance(thing, type) and is_theirs and name in thing.__dict__:
        setattr(thing, other, thing.__dict__[name])
        delattr(thing, name)
    elif is_theirs or isinstance(thing, types.ModuleType) and thing.__name__.startswith("textual"):
        fields = getattr(thing, "__dict__", {})
        if isinstance(fields, dict) and name in fields and not isinstance(fields[name], types.ModuleType):
            fields[other] = fields.pop(name)

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

    def __init__(self, pid, fd):
        self.pid, self.fd = pid, fd
        self.drawn = b""

    def until(self, text, name):
        deadline = time.monotonic() + _PATIENCE_S
        while text not in self.drawn:
            assert time.monotonic() < deadline, f"{name}: {self.drawn[-3000:].decode()}"
            if select.select([self.fd], [], [], 0.1)[0]:
                self.drawn += os.read(self.fd, 4096)

    def close(self):
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.close(self.fd)


@contextmanager
def starting():
    """Yield what starts the program with a Textual that has another name for something."""
    ours, theirs = socket.socketpair()
    words = [sys.executable, "-c", _PROGRAM, str(theirs.fileno()), str(len(_NAMES))]
    process = subprocess.Popen(words, env=os.environ | {"TERM": "xterm-256color"}, pass_fds=[theirs.fileno()])
    theirs.close()

    @contextmanager
    def start(name):
        ours.sendall(name.encode())
        pid, descriptors, _, _ = socket.recv_fds(ours, 20, 1)
        program = Run(int(pid), *descriptors)
        try:
            yield program
        finally:
            program.close()

    try:
        yield start
    finally:
        ours.close()
        process.wait(_PATIENCE_S)


def test_keys_and_pictures_come_though_textual_has_another_name_for_what_we_use():
    with starting() as start:
        for name in _NAMES:
            with start(name) as program:
                program.until(b"<0>", name)
                program.until(b"READY", name)
                for count, key in enumerate((b"a", b"b", b"\x1b[A"), 1):
                    os.write(program.fd, key)
                    program.until(b"<%d>" % count, name)
                os.write(program.fd, b"x")
                program.until(b"SEEN a b up in True END", name)
