"""What is ordered of new terminals: a session of a model, one that goes on, or any program, in a host of its own.

Every method blocks and may be called from any thread; each closes this thread's connection.
"""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine.core.balance.explain import explain_choice
from oulipoly_engine.core.runs.markers import without_channel
from oulipoly_engine.facade.base.home import Home
from oulipoly_engine.facade.quota.pools import Pools
from oulipoly_engine.facade.runs.interactive import Interactive, InteractiveRequest, ResumeRequest
from oulipoly_engine.facade.terminals.terminals import Terminal
from oulipoly_engine.process.command import Command, inherited_environment
from oulipoly_engine.process.signals import Guard
from oulipoly_engine.records import Record
from oulipoly_engine.service.interactive import terminals


class OpenedTerminal(Record):
    """A terminal that was begun, and what is to be told about the choice."""

    terminal: Terminal
    account: str
    said: str  # one sentence


class NewTerminals:
    """Begins terminals."""

    def __init__(self, home: Home, pools: Pools) -> None:
        self._home = home
        self._pools = pools

    def begin(
        self, model: str, account: str | None, size: tuple[int, int], folder: Path | None = None
    ) -> OpenedTerminal:
        """Open a new session of a model on its best account, or on the one that is named. Raises RunnerError."""
        request = InteractiveRequest(folder or Path.cwd(), model, account or self._pools.pins.get(model))
        return self._begin(request, size)

    def fork(self, session: str, size: tuple[int, int]) -> OpenedTerminal:
        """Begin a new session with the past of another one. Raises RunnerError."""
        return self.resume(session, None, size, is_fork=True)

    def resume(
        self, session: str, account: str | None, size: tuple[int, int], *, is_fork: bool = False
    ) -> OpenedTerminal:
        """Go on with a session where it lies, or on another account. Raises RunnerError."""
        wish = ResumeRequest(session, to_account=account, is_fork=is_fork)
        return self._begin(InteractiveRequest(Path.cwd(), wish=wish), size)

    def run(self, argv: tuple[str, ...], size: tuple[int, int], folder: Path | None = None) -> OpenedTerminal:
        """Run any command in a terminal of its own. Raises RunnerError."""
        self._home.refuse_if_read_only("start a program")
        command = Command(argv, without_channel(inherited_environment()), (folder or Path.cwd()).absolute())
        terminal = terminals.start(self._home.paths, terminals.Launch(command, *size, clock=self._home.clock))
        return OpenedTerminal(terminal, "", "")

    def _begin(self, request: InteractiveRequest, size: tuple[int, int]) -> OpenedTerminal:
        started = Interactive(self._home).detach(request, size, Guard())
        return OpenedTerminal(started.terminal, started.account, explain_choice(started.account, started.why))
