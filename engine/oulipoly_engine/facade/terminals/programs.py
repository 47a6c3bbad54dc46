"""Programs of the user's own choice that no terminal of ours shows: unseen, or on the whole screen."""

from __future__ import annotations

from pathlib import Path

from oulipoly_engine import stopping
from oulipoly_engine.facade.base.home import Part
from oulipoly_engine.process.command import inherited_environment
from oulipoly_engine.process.script import EXEC, run_script
from oulipoly_engine.process.user_programs import show_program
from oulipoly_engine.records import Record

_LONGEST_S = 3600.0
_MOST_BYTES = 1 << 20


class Ended(Record):
    """How a program ended, and what it printed."""

    output: str
    outcome: str  # "ended with 0", "timed out after 3600 s"
    failed: bool


class Programs(Part):
    """Runs programs."""

    def run(self, argv: tuple[str, ...], folder: Path | None = None) -> Ended:
        """Run a program to its end with nothing to read. It is stopped with the work of its thread.

        Raises RequestRefused in read-only mode, Stopped.
        """
        self._home.refuse_if_read_only("start a program")
        result = run_script(
            EXEC,
            inherited_environment(),
            timeout_s=_LONGEST_S,
            arguments=argv,
            cwd=folder,
            output_limit=_MOST_BYTES,
        )
        stopping.check()
        output = (result.stdout + result.stderr).decode("utf-8", "replace")
        return Ended(output, result.outcome, not result.succeeded)

    def run_on_screen(self, argv: tuple[str, ...], folder: Path | None = None) -> str | None:
        """Run a program on our terminal until it ends and enter is pressed; return what is wrong where there is none.

        Raises RequestRefused in read-only mode.
        """
        self._home.refuse_if_read_only("start a program")
        return show_program(argv, folder)
