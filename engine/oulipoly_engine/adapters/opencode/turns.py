"""The opencode adapter in process: a pass as the other turn adapters give one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from oulipoly_engine.adapters.scripts.opencode import OpencodeFailed, Reading, cwd
from oulipoly_engine.adapters.scripts.turns import TurnsFailed
from oulipoly_engine.core.transcripts.turn_script import Told, parse_record
from oulipoly_engine.records import replace


class OpencodeEntries:
    """One pass over an account's database; take all of `turns()`, store them, then `keep()`."""

    def __init__(self, folder: Path, state_dir: Path, *, afresh: bool) -> None:
        self._reading = Reading(folder, state_dir, afresh)
        self.notes = self._reading.notes
        self.unread_files = 0  # a database that cannot be read is a failure

    @property
    def damaged_lines(self) -> int:
        """Return how many messages could not be read, or not all of them."""
        return self._reading.damaged

    def turns(self) -> Iterator[Told]:
        """Yield what has been added since the last kept pass, checked. Raises TurnsFailed."""
        try:
            for record in self._reading.turns():
                turn, error = parse_record(record, 0)
                yield turn, None if error is None else replace(error, file=str(record["source_file"]))
        except OpencodeFailed as failure:
            raise TurnsFailed(str(failure), failure.exit_code) from failure

    def keep(self) -> None:
        """Remember how far this pass came. Raises TurnsFailed."""
        try:
            self._reading.keep()
        except OpencodeFailed as failure:
            raise TurnsFailed(str(failure), failure.exit_code) from failure


def run_cwd(folder: Path, session_id: str) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of `opencode-cwd`. Never raises."""
    try:
        return 0, json.dumps(cwd(folder, session_id), separators=(",", ":")) + "\n", ""
    except OpencodeFailed as failure:
        return failure.exit_code, "", f"opencode-cwd: {failure}\n"
