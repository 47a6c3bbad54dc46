"""Where an agent's CLI reaches the tools of its capabilities: a socket of its session's host, outside the agent's box.

Each connection gets a process of `agents ext serve --agent`, which offers what the token that is shown there gives.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.boxes.box import Access, Box, Level, Mount
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.host.launcher import escape_word, unescape_word
from oulipoly_engine.process.command import Command
from oulipoly_engine.process.spawn import DEVNULL, Child, spawn
from oulipoly_engine.process.stop import TERM_LADDER, stop
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.agents import bridge

if TYPE_CHECKING:
    from oulipoly_engine.core.accounts.clis.cli import Cli
    from oulipoly_engine.core.live.sessions import LiveSession
    from oulipoly_engine.core.setup.mcp import Server

TOKEN_VARIABLE = "RUNNER_AGENT_TOKEN"  # noqa: S105 - the variable's name
_MOST = 8  # connections of one session at once
_BRIDGE = str(Path(bridge.__file__))


class ToolOrder(Record):
    """The socket of one session, and what is started for each connection. Words and variables are escaped."""

    path: str
    argv: tuple[str, ...]
    env: Mapping[str, str]


def socket_path(folder: Path, host_id: str) -> str:
    """Return the path of a session's socket. folder: of the sockets of all hosts."""
    return f"{folder}/{host_id}.tools"


def make_order(path: str, environment: Mapping[str, str]) -> ToolOrder:
    """Return an order for a socket. environment: ours, with the mark of the session's process."""
    words = (sys.executable, "-P", "-m", "oulipoly_tui", "ext", "serve", "--agent")
    env = {escape_word(name): escape_word(value) for name, value in environment.items() if name != TOKEN_VARIABLE}
    return ToolOrder(path, tuple(map(escape_word, words)), env)


def bridge_server(path: str, timeout_s: float) -> Server:
    """Return what an agent's CLI starts as its MCP server, in its box. timeout_s: of one call."""
    from oulipoly_engine.core.setup.mcp import Server  # noqa: PLC0415 - a host, which only listens, needs none of it

    words = (str(Path(sys.executable).resolve()), "-I", "-S", _BRIDGE, path)
    return Server("local", words, {TOKEN_VARIABLE: f"${{{TOKEN_VARIABLE}}}"}, timeout_ms=1000 * timeout_s)


def open_box(box: Box | None, path: str) -> Box | None:
    """Return an agent's box in which its CLI can start the bridge and reach the socket."""
    if box is None:
        return None
    shown = [Mount(place, Access.READ, is_optional=True) for place in (sys.base_prefix, _BRIDGE)]
    if box.level is Level.SEALED:  # in a guarded one sockets are reached by their paths
        shown.append(Mount(path, Access.WRITE))
    return replace(box, mounts=(*box.mounts, *shown))


class ToolSocket:
    """Listens for an agent's CLI as long as its session's host lives."""

    def __init__(self, order: ToolOrder) -> None:
        """Listen. Raises OSError."""
        self._order = order
        self._children: list[Child] = []
        with suppress(FileNotFoundError):
            os.unlink(order.path)  # noqa: PTH108 - of a host that was killed; this one holds the lock
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.setblocking(False)
        self.listener.bind(order.path)
        os.chmod(order.path, 0o600)  # noqa: PTH101 - the path is a text
        self.listener.listen()

    def accept(self) -> None:
        """Start what serves one connection; with too many, or where nothing can be started, it is closed."""
        connection, _ = self.listener.accept()
        self._children = [child for child in self._children if child.poll() is None]
        with connection, suppress(RunnerError):
            connection.setblocking(True)
            if len(self._children) < _MOST:
                end = connection.fileno()
                env = {unescape_word(name): unescape_word(value) for name, value in self._order.env.items()}
                command = Command(tuple(map(unescape_word, self._order.argv)), env, is_configured=False)
                self._children.append(spawn(command, stdin=end, stdout=end, stderr=DEVNULL))

    def close(self) -> None:
        """Listen no more, and end what serves."""
        self.listener.close()
        with suppress(FileNotFoundError):
            os.unlink(self._order.path)  # noqa: PTH108 - as above
        for child in self._children:
            if child.poll() is None:
                stop(child, TERM_LADDER)


def wants_tools(session: LiveSession, cli: Cli | None) -> bool:
    """Tell whether a session's CLI is to have tools: it was not begun with the words that hold it to none."""
    if cli is None or cli.live is None or cli.live.tools is None:
        return True
    forbidding = cli.live.tools(())
    return session.opening.own_args[: len(forbidding)] != forbidding
