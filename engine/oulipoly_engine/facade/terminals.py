"""What the app asks and orders about terminals: the facade's part for REPLs that live in hosts of their own.

Every method blocks and may be called from any thread; each opens and closes this thread's connection.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.accounts import arguments
from oulipoly_engine.core.balance.explain import chosen_text
from oulipoly_engine.errors import AccountUnusable, RequestRefused
from oulipoly_engine.process.command import Command, inherited_environment
from oulipoly_engine.process.signals import Guard
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.interactive import terminals
from oulipoly_engine.terminal.host.runtime_folder import ITSELF, Place, Survey, Terminal

if TYPE_CHECKING:
    from oulipoly_engine.core.accounts.accounts import Model
    from oulipoly_engine.facade.home import Home
    from oulipoly_engine.facade.pools import Pools
    from oulipoly_engine.service.accounts.configuration import Configured
    from oulipoly_engine.service.interactive.interactive import Launcher
    from oulipoly_engine.service.runs.freshness import Freshness
    from oulipoly_engine.service.runs.invoke import Chosen
    from oulipoly_engine.service.runs.resume import Resumer
    from oulipoly_engine.store.base.db import Store

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

        def choose(launcher: Launcher, configured: Configured, _resumer: Callable[[], Resumer]) -> _Choice:
            pool = _narrowed(_model(configured, model), account or self._pools.pins.get(model))
            chosen = launcher.from_pool(pool, Guard())
            return _Choice(chosen, folder or Path.cwd(), _why(chosen))

        return self._open(choose, size)

    def fork(self, session: str, size: tuple[int, int]) -> OpenedTerminal:
        """Begin a new session with the past of another one. Raises RunnerError."""
        return self.resume(session, None, size, is_fork=True)

    def resume(
        self, session: str, account: str | None, size: tuple[int, int], *, is_fork: bool = False
    ) -> OpenedTerminal:
        """Go on with a session where it lies, or on another account. Raises RunnerError."""

        def choose(_launcher: Launcher, _configured: Configured, resumer: Callable[[], Resumer]) -> _Choice:
            from oulipoly_engine.service.runs.resume import Wish, chosen  # noqa: PLC0415 - only to resume

            sessions = resumer()
            settled = sessions.settle(Wish(session, to_account=account, is_fork=is_fork), Path.cwd())
            arguments.interactive(sessions.account(settled.session.account))
            return _Choice(chosen(sessions, settled), settled.working_directory, settled.reason)

        return self._open(choose, size)

    def run(self, argv: tuple[str, ...], size: tuple[int, int], folder: Path | None = None) -> OpenedTerminal:
        """Run any command in a terminal of its own. Raises RunnerError."""
        self._home.refuse_if_read_only("start a program")
        command = Command(argv, inherited_environment(), (folder or Path.cwd()).absolute())
        terminal = terminals.start(self._home.paths, terminals.Launch(command, *size))
        return OpenedTerminal(terminal, "", "")

    def _open(
        self, choose: Callable[[Launcher, Configured, Callable[[], Resumer]], _Choice], size: tuple[int, int]
    ) -> OpenedTerminal:
        self._home.refuse_if_read_only("start a REPL")
        from oulipoly_engine.service.interactive import detached  # noqa: PLC0415 - 40 ms, only to start one
        from oulipoly_engine.service.runs import orphans as lost  # noqa: PLC0415 - 40 ms, only to start one

        configured, store = self._home.configured(), self._home.store()
        try:
            lost.close_lost(store, self._home.clock)
            wiring = self._home.wiring
            fresh = wiring.freshness(store, configured.accounts, configured.scripts, listeners=self._home.listeners)
            launcher = wiring.launcher(store, configured.accounts, configured.settings, fresh, is_shown=True)
            choice = choose(launcher, configured, lambda: self._resumer(configured, store, fresh))
            terminal = detached.start(launcher, self._home.paths, choice.chosen, choice.folder, size)
        finally:
            store.close()
        return OpenedTerminal(terminal, choice.chosen.account, chosen_text(choice.chosen.account, choice.why))

    def _resumer(self, configured: Configured, store: Store, fresh: Freshness) -> Resumer:
        wiring = self._home.wiring
        locator = wiring.locator(configured.accounts, configured.scripts)
        mover = wiring.mover(store, locator, fresh.catch_up)
        models, settings = configured.models, configured.settings
        return wiring.resumer(store, configured.accounts, lambda: models, settings, mover, fresh, is_shown=True)


class _Choice(Record):
    chosen: Chosen
    folder: Path
    why: str


def _model(configured: Configured, name: str) -> Model:
    found = configured.models.get(name)
    if found is None:
        message = f"there is no usable model {name!r} any more: see the problems"
        raise RequestRefused(message)
    return found


def _narrowed(model: Model, account: str | None) -> Model:
    if account is None:
        return model
    members = tuple(member for member in model.members if member.account == account)
    if not members:
        message = f"the pool of {model.name!r} has no account {account!r}"
        raise AccountUnusable(message)
    return replace(model, members=members)


def _why(chosen: Chosen) -> str:
    reason = (chosen.decision or {}).get("reason")
    return str(reason) if reason else "it is the one that can be talked to"
