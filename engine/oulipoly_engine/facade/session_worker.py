"""The process that works for a session's host: it compacts the session, or writes its session file on. Run as a module.

The host lets no message through while it compacts; it waits for no file.
"""

from __future__ import annotations

import os
from pathlib import Path

from oulipoly_engine.facade.engine import Engine, Surroundings
from oulipoly_engine.host import launcher
from oulipoly_engine.paths import find_project, from_environment
from oulipoly_engine.records import replace


def main() -> None:
    """Take the task, the session's id and its folder, and do it; never returns."""
    task, session_id, folder = launcher.read_order().split(b"\0", 2)
    launcher.detach(lambda: _work(task.decode(), session_id.decode(), Path(os.fsdecode(folder))))


def _work(task: str, session_id: str, folder: Path) -> None:
    launcher.answer(b"begun", None)
    paths = from_environment()  # we are in no folder: the settings of the session's project hold
    engine = Engine(Surroundings(replace(paths, above=replace(paths.above, project=find_project(folder)))))
    match task:
        case "compact":
            engine.live.compact_when_due(session_id)
        case "write_file":
            engine.sessions.transcripts.finish_files()
    engine.close()


if __name__ == "__main__":
    main()
