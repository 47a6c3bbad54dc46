"""What the app asks and orders about terminals: the facade's part for REPLs that live in hosts of their own.

Every method blocks and may be called from any thread; each opens and closes this thread's connection.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.balance.explain import chosen_text
from oulipoly_engine.process.command import Command, inherited_environment
from oulipoly_engine.process.signals import Guard
from oulipoly_engine.records import Record
from oulipoly_engine.service.interactive import terminals
from oulipoly_engine.terminal.host.runtime_folder import ITSELF, Place, Survey, Terminal

if TYPE_CHECKING:
    from oulipoly_engine.facade.home import Home
    from oulipoly_engine.facade.interactive import InteractiveRequest
    from oulipoly_engine.facade.pools import Pools

__all__ = ["OpenedTerminal", "Survey", "Terminal", "Terminals"]


class OpenedTerminal(Record):
    """A terminal that was begun, and what is to be told about the choice."""

    terminal: Terminal
    account: str
    said: str  # one sentence


class Terminals:
    """The terminals of one user."""

    def __init__(self, home: Home, pools: Pools) -> None:
        self._home = home
        self._pools = pools
        self._lost: tuple[Terminal, ...] = ()  # found to be gone, and not told yet
        self._orphaned: tuple[Terminal, ...] = ()  # whose programs run on without a host

    def list(self) -> tuple[Terminal, ...]:
        """Return the living terminals, oldest first; not the one that we run in, which would show itself."""
        found = terminals.survey(self._home.paths, self._home.clock)
        self._lost += found.lost
        self._orphaned = found.orphaned
        own = inherited_environment().get(ITSELF)
        return tuple(one for one in found.terminals if one.id != own)

    def look(self) -> Survey:
        """Return the living terminals, oldest first, and once those whose hosts were killed, which is to be told."""
        living = self.list()
        lost, self._lost = self._lost, ()
        return Survey(living, lost, self._orphaned)

    @property
    def leave_key(self) -> str:
        """Return the key that leads out of a terminal, a name of `core.text.leave_key`."""
        return self._home.files.settings().attach_leave_key

    def socket(self, terminal: Terminal) -> Path:
        """Return where a terminal's host listens."""
        return Place(self._home.paths.runtime, terminal.id).socket

    def outer_prefixes(self) -> tuple[str, ...]:
        """Return the keys that the tmux around the app takes for itself, in its own words."""
        from oulipoly_engine.process.tmux import prefixes  # noqa: PLC0415 - asked once, and not by most

        return prefixes(inherited_environment())

    def kill(self, identity: str) -> None:
        """End a terminal's program: HUP, then KILL. Raises RunnerError when it stays."""
        self._home.refuse_if_read_only("end a program")
        paths, clock = self._home.paths, self._home.clock
        terminals.kill(paths, terminals.find(paths, clock, identity), None)

    def begin(
        self, model: str, account: str | None, size: tuple[int, int], folder: Path | None = None
    ) -> OpenedTerminal:
        """Open a new session of a model on its best account, or on the one that is named. Raises RunnerError."""
        from oulipoly_engine.facade.interactive import InteractiveRequest  # noqa: PLC0415 - 40 ms, only to start one

        request = InteractiveRequest(folder or Path.cwd(), model, account or self._pools.pins.get(model))
        return self._begun(request, size)

    def fork(self, session: str, size: tuple[int, int]) -> OpenedTerminal:
        """Begin a new session with the past of another one. Raises RunnerError."""
        return self.resume(session, None, size, is_fork=True)

    def resume(
        self, session: str, account: str | None, size: tuple[int, int], *, is_fork: bool = False
    ) -> OpenedTerminal:
        """Go on with a session where it lies, or on another account. Raises RunnerError."""
        from oulipoly_engine.facade.interactive import InteractiveRequest, Wish  # noqa: PLC0415 - as in `begin`

        wish = Wish(session, to_account=account, is_fork=is_fork)
        return self._begun(InteractiveRequest(Path.cwd(), wish=wish), size)

    def run(self, argv: tuple[str, ...], size: tuple[int, int], folder: Path | None = None) -> OpenedTerminal:
        """Run any command in a terminal of its own. Raises RunnerError."""
        self._home.refuse_if_read_only("start a program")
        command = Command(argv, inherited_environment(), (folder or Path.cwd()).absolute())
        terminal = terminals.start(self._home.paths, terminals.Launch(command, *size))
        return OpenedTerminal(terminal, "", "")

    def _begun(self, request: InteractiveRequest, size: tuple[int, int]) -> OpenedTerminal:
        from oulipoly_engine.facade.interactive import Interactive  # noqa: PLC0415 - as in `begin`

        started = Interactive(self._home).detach(request, size, Guard())
        return OpenedTerminal(started.terminal, started.account, chosen_text(started.account, started.why))
