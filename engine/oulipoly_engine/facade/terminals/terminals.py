"""What is asked and ordered about terminals that live in hosts of their own.

Every method blocks and may be called from any thread; each opens and closes this thread's connection.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine import variables
from oulipoly_engine.facade.base.home import Home
from oulipoly_engine.facade.base.own_process import outer_prefixes
from oulipoly_engine.host.runtime_folder import HostFiles
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.process.liveness import is_alive
from oulipoly_engine.records import Record
from oulipoly_engine.service.interactive import terminals
from oulipoly_engine.service.interactive.terminals import orphan_text, signal_number, to_json
from oulipoly_engine.terminal.client.client import Client
from oulipoly_engine.terminal.host.runtime_folder import Survey, Terminal
from oulipoly_engine.terminal.protocol.messages import Exited

if TYPE_CHECKING:
    from oulipoly_engine.service.interactive.attach import AttachEnd

__all__ = ["Survey", "Terminal", "orphan_text", "signal_number", "to_json"]

_AGAIN_S = 0.02  # between two looks at whether a host is gone


class Killed(Record):
    """A terminal whose program got a signal."""

    terminal: Terminal
    exited: Exited | None  # None: it runs on


class Terminals:
    """The terminals of one user."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._lost: tuple[Terminal, ...] = ()  # found to be gone, and not told yet
        self._orphaned: tuple[Terminal, ...] = ()  # whose programs run on without a host

    def list(self) -> tuple[Terminal, ...]:
        """Return the living terminals, oldest first; not the one that we run in, which would show itself."""
        found = self.survey()
        self._lost += found.lost
        self._orphaned = found.orphaned
        return tuple(one for one in found.living if not is_own(one))

    def survey(self) -> Survey:
        """Return all that can be found, our own included; what killed hosts have left is tidied up, and told once."""
        return terminals.survey(self._home.paths, self._home.clock)

    def find(self, identity: str) -> Terminal:
        """Return the living terminal whose id begins so. Raises TerminalNotFound."""
        return terminals.find(self._home.paths, self._home.clock, identity)

    def look(self) -> Survey:
        """Return the living terminals, oldest first, and once those whose hosts were killed, which is to be told."""
        living = self.list()
        lost, self._lost = self._lost, ()
        return Survey(living, lost, self._orphaned)

    def has_any(self) -> bool:
        """Tell whether `look` has something to tell: a terminal lives, or the host of one was killed."""
        return bool(self.list() or self._lost or self._orphaned)

    @property
    def leave_key(self) -> str:
        """Return the key that leads out of a terminal, a name of `core.text.leave_key`."""
        return self._home.files.settings().attach_leave_key

    def socket(self, terminal: Terminal) -> Path:
        """Return where a terminal's host listens."""
        return HostFiles(self._home.paths.runtime, terminal.id).socket

    def outer_prefixes(self) -> tuple[str, ...]:
        """Return the keys that the tmux around the app takes for itself, in its own words."""
        return outer_prefixes(inherited_environment())

    def kill(self, identity: str, signal: int | None = None, *, orphaned: bool = False) -> Killed:
        """End a terminal's program: HUP, then KILL; or send it one signal. Raises RunnerError when it stays.

        orphaned: one whose host was killed, but whose program runs on, will do as well.
        """
        self._home.refuse_if_read_only("end a program")
        terminal = terminals.find(self._home.paths, self._home.clock, identity, orphaned=orphaned)
        return Killed(terminal, terminals.kill(self._home.paths, terminal, signal))

    def wait_for_hosts(self, of: Collection[Terminal], patience_s: float = 10.0) -> None:
        """Wait until the hosts of terminals that were ended have written down how, and are gone."""
        deadline = time.monotonic() + patience_s
        while any(is_alive(one.host_pid) for one in of) and time.monotonic() < deadline:
            time.sleep(_AGAIN_S)


def show(
    socket: Path, terminal: Terminal, key: str, write: Callable[[bytes], None], *, name: str, only_reads: bool = False
) -> AttachEnd:
    """Show a terminal on the one that this process sits at, until its program ends or the key is typed.

    key: a name of `core.text.leave_key`. write: takes what is to be drawn. name: whom the host hears of. only_reads:
    nothing that is typed gets to the program. Raises HostUnreachable, and Interrupted for a signal that ends us.
    """
    from oulipoly_engine.service.interactive import attach  # noqa: PLC0415 - 10 ms, only showing one needs it

    with Client(socket, name) as client:
        return attach.show(client, terminal, key, write, only_reads=only_reads)


def is_own(terminal: Terminal) -> bool:
    """Tell whether it is the terminal that we run in."""
    return inherited_environment().get(variables.TERMINAL) == terminal.id
