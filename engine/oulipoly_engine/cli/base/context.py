"""What every command gets: the folders, the clock, the name we were called by, and the engine over them."""

from __future__ import annotations

import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from oulipoly_engine.clock import Clock, SystemClock
from oulipoly_engine.paths import Paths, from_environment, with_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oulipoly_engine.facade.base.home import FindAppFaults
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.terminals.terminals import Terminal


class TerminalResult(Protocol):
    """What came of a terminal that was shown."""

    @property
    def exit_code(self) -> int:
        """Return the program's exit code; 0: it runs on."""

    @property
    def last_lines(self) -> Sequence[str]:
        """Return what the program left on its screen."""

    @property
    def farewell(self) -> str:
        """Return what happened, in a sentence, when it was no plain end; else nothing."""


class Pane(Protocol):
    """A screen that can show a terminal; the app's face has one."""

    @property
    def lines_kept(self) -> int:
        """Return how many of the window's rows it keeps for itself."""

    def show(self, socket: Path, terminal: Terminal, key: str) -> TerminalResult:
        """Show a terminal until its program ends or the user leaves."""


class Context:
    """The surroundings of one command."""

    def __init__(
        self,
        program: str = "agents",
        paths: Paths | None = None,
        clock: Clock | None = None,
        models_dir: Path | None = None,
        agents_dir: Path | None = None,
        pane: Pane | None = None,
        find_app_faults: FindAppFaults | None = None,
        settings: Sequence[str] = (),
        extensions: Sequence[Path] = (),
        *,
        has_no_extensions: bool = False,
    ) -> None:
        self.program = program
        self.paths = with_options(paths or from_environment(), settings, extensions, has_none=has_no_extensions)
        self.clock = clock or SystemClock()
        self.models_dir, self.agents_dir = models_dir, agents_dir
        self.pane = pane  # None: a terminal takes the whole of ours
        self.find_app_faults = find_app_faults

    @property
    def command(self) -> str:
        """Return what to type in a shell for this program: its name, or its path where the shell would not find it."""
        import shlex  # noqa: PLC0415 - with the next: for a hint alone
        import shutil  # noqa: PLC0415 - see above

        started, found = Path(sys.argv[0]).absolute(), shutil.which(self.program)
        if started.name != self.program or not started.exists() or (found and started.samefile(found)):
            return self.program  # also where it was started by another file under this name
        return shlex.quote(str(started))

    @cached_property
    def engine(self) -> Engine:
        """Return the engine; what it has to say goes to stderr, and a broken configuration ends the command."""
        from oulipoly_engine.facade import diagnostics  # noqa: PLC0415 - with the next: some commands need no engine
        from oulipoly_engine.facade.engine import Engine, Surroundings  # noqa: PLC0415 - see above

        surroundings = Surroundings(
            paths=self.paths,
            clock=self.clock,
            models_dir=self.models_dir,
            agents_dir=self.agents_dir,
            checks_files=True,
            note=diagnostics.note,
            find_app_faults=self.find_app_faults,
        )
        return Engine(surroundings)

    def add_extensions(self, extensions: Sequence[Path], *, has_none: bool) -> None:
        """Have this start use extensions that a command names, or none; before the engine is asked for."""
        self.paths = with_options(self.paths, (), extensions, has_none=has_none)

    def explain(self, error: Exception) -> None:
        """Raise StoreDamaged where what looks like a mistake of ours comes from what lies in the state file."""
        if "engine" in self.__dict__:
            self.engine.state_file.explain(error)

    def with_models(self, models_dir: Path | None) -> Context:
        """Return the same surroundings with another folder of model files."""
        return Context(
            self.program, self.paths, self.clock, models_dir, self.agents_dir, self.pane, self.find_app_faults
        )
