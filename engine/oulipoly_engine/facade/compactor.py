"""The process that compacts a session for its host, which lets no message through meanwhile. Run as a module."""

from __future__ import annotations

import os
from pathlib import Path

from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.host import launcher
from oulipoly_engine.paths import find_project, from_environment
from oulipoly_engine.records import replace


def main() -> None:
    """Take the session's id and its folder, and compact it; never returns."""
    session_id, _, folder = launcher.read_order().partition(b"\0")
    launcher.detach(lambda: _compact(session_id.decode(), Path(os.fsdecode(folder))))


def _compact(session_id: str, folder: Path) -> None:
    launcher.answer(b"begun", None)
    paths = from_environment()  # we are in no folder: the settings of the session's project hold
    engine = Engine(Surroundings(replace(paths, above=replace(paths.above, project=find_project(folder)))))
    engine.live.compact_when_due(session_id)
    engine.close()


if __name__ == "__main__":
    main()
