"""The program that a terminal's host is: it takes an order on stdin, starts the child, answers, and holds on.

Run as a module by `service.interactive.terminals`. The only place where the host meets the store: whoever ordered the
terminal names a function of ours that records its end.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from oulipoly_engine import variables
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.host import launcher, runtime_folder
from oulipoly_engine.host.launcher import unescape_word
from oulipoly_engine.process.command import Command
from oulipoly_engine.process.liveness import start_ticks
from oulipoly_engine.process.pty import spawn
from oulipoly_engine.records import Record, field, msgspec, prepare
from oulipoly_engine.terminal.host.crash_buffer import CrashBuffer
from oulipoly_engine.terminal.host.handles import Rules, TerminalHandles
from oulipoly_engine.terminal.host.host import Host
from oulipoly_engine.terminal.host.runtime_folder import Terminal
from oulipoly_engine.terminal.protocol.messages import Exited

_OURS = "oulipoly_engine."


class Order(Record):
    """What a host is to do. Words and variables are `carried`: a system's bytes need not be text."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    runtime: str
    logs: str
    terminal: dict[str, Any]  # what is known of folder.Terminal beforehand
    rules: Rules
    finish: str = ""  # "package.module:function" of ours, called with `finish_with`, the Exited and the last output
    finish_with: dict[str, Any] = field(default_factory=dict)
    look: str = ""  # another one, called with `finish_with` and the pid; what it returns is added to that
    after: str = ""  # another one, called with `finish_with` when the end is recorded and told


class Answer(Record):
    """What came of it."""

    terminal: Terminal | None = None
    error: str = ""
    slug: str = ""


def main() -> None:
    """Take the order and be the host; never returns."""
    order = msgspec.json.decode(launcher.read_order(), type=prepare(Order))
    launcher.detach(lambda: _host(order))


def _host(order: Order) -> None:
    limits = order.rules.limits
    place = None
    try:
        place, lock = runtime_folder.claim(Path(order.runtime))
        listener = place.listen()
        env = {unescape_word(key): unescape_word(value) for key, value in order.env.items()} | {
            variables.TERMINAL: place.id
        }
        argv, cwd = tuple(map(unescape_word, order.argv)), Path(unescape_word(order.cwd))
        command = Command(argv, env, cwd, is_configured=order.terminal.get("account") is not None)
        child = spawn(command, columns=limits.columns, rows=limits.rows)
    except (RunnerError, OSError) as error:
        if place is not None:
            place.remove()
        text = error.message if isinstance(error, RunnerError) else f"cannot start a terminal: {error}"
        launcher.answer(msgspec.json.encode(Answer(error=text, slug=getattr(error, "slug", ""))), None)
        return
    crash_buffer = CrashBuffer()
    crash_buffer.size = limits.columns, limits.rows
    fixed = {
        "id": place.id,
        "pid": child.pid,
        "host_pid": os.getpid(),
        "began_ticks": start_ticks(child.pid),
    }
    terminal = msgspec.convert(order.terminal | fixed, prepare(Terminal))
    handles = TerminalHandles(place, terminal, child, listener, crash_buffer, order.rules)
    # A dead emulator's memory holds what was on the screen: no core file of it.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    log = Path(order.logs) / f"{place.id}.log"
    place.describe(terminal)
    launcher.answer(msgspec.json.encode(Answer(terminal)), log)
    Host(handles, child, _Recorder(order)).run()
    os.close(lock)
    launcher.drop_empty_log(log)


class _Recorder:
    """Calls the functions that the order names; imported only then."""

    def __init__(self, order: Order) -> None:
        self._finish, self._look, self._after = map(_import_later, (order.finish, order.look, order.after))
        self._known = dict(order.finish_with)
        self.looks = bool(order.look)

    def look(self, pid: int) -> str | None:
        """Learn what the running child leaves to be found, and return the session that it has open."""
        self._known |= self._look()(self._known, pid)
        session = self._known.get("open_session")
        return None if session is None else str(session)

    def end(self, exited: Exited, tail: bytes) -> None:
        """Record the end."""
        self._finish()(self._known, exited, tail)

    def follow_up(self) -> None:
        """Do what nobody waits for."""
        self._after()(self._known)


def _import_later(name: str) -> Callable[[], Callable[..., Any]]:
    """Return what imports a function of ours; without a name, one that does nothing."""
    if not name:
        return lambda: lambda *_: {}
    module, _, function = name.partition(":")
    if not module.startswith(_OURS):
        raise ValueError(f"{name!r} is not a function of ours")
    return lambda: getattr(import_module(module), function)


if __name__ == "__main__":
    main()
