"""What every command gets: the folders, the clock, the name we were called by, and the engine over them."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.clock import Clock, SystemClock
from oulipoly_engine.paths import Paths, from_environment

if TYPE_CHECKING:
    from oulipoly_engine.facade.engine import Engine


class Context:
    """The surroundings of one command."""

    def __init__(
        self,
        program: str = "agents",
        paths: Paths | None = None,
        clock: Clock | None = None,
        models_dir: Path | None = None,
        agents_dir: Path | None = None,
    ) -> None:
        self.program = program
        self.paths = paths or from_environment()
        self.clock = clock or SystemClock()
        self.models_dir, self.agents_dir = models_dir, agents_dir

    @cached_property
    def engine(self) -> Engine:
        """Return the engine; what it has to say goes to stderr, and a broken configuration ends the command."""
        from oulipoly_engine.cli import diagnostics  # noqa: PLC0415 - with the next: some commands need no engine
        from oulipoly_engine.facade.engine import Engine, Surroundings  # noqa: PLC0415 - see above

        surroundings = Surroundings(
            paths=self.paths,
            clock=self.clock,
            models_dir=self.models_dir,
            agents_dir=self.agents_dir,
            checks_files=True,
            note=diagnostics.note,
        )
        return Engine(surroundings)

    def with_models(self, models_dir: Path | None) -> Context:
        """Return the same surroundings with another folder of model files."""
        return Context(self.program, self.paths, self.clock, models_dir, self.agents_dir)
