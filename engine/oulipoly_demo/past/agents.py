"""Give a demo world two agents, made by what a user's commands call: one that is ready, one whose failure teaches.

They are made by a process of its own, in the demo's environment: accounts, CLIs and programs are found there alone.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from oulipoly_demo import world as worlds
from oulipoly_demo.world import World
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.private_files import make_folder, open_private
from oulipoly_engine.process.script import EXEC, run_script

if TYPE_CHECKING:
    from oulipoly_engine.facade.engine import Engine

_NOTE = ".oulipoly-demo-agents"
_LONGEST_S = 60.0
_READY = "turtle-guide"
_FAILED = "turtle-poet"
_AGENTFILES = {
    _READY: """# syntax=openotters/agentfile:1
FROM scratch
NAME turtle-guide
MODEL demo-codex
LABEL description="Knows its way around the demo's project"
CONTEXT SOUL "what it is" <<SOUL
You show people around a small drawing project. Answer in two sentences.
SOUL
BIN files example.com/files "lists the files of a folder"
""",
    _FAILED: """# syntax=openotters/agentfile:1
FROM scratch
NAME turtle-poet
MODEL demo-sonnet
LABEL description="Writes haiku; its MODEL is one that the demo does not have"
CONTEXT SOUL "what it is" <<SOUL
You write a haiku about turtles.
SOUL
""",
}
_TOOL = '#!/bin/sh\nfor file in "${1:-.}"/*; do [ -e "$file" ] && echo "${file##*/}"; done; true\n'


def begin(world: World) -> Thread | None:
    """Have the agents of a world made beside what else is made of it; return what is to be joined; None: nothing.

    Two that begin at once do no harm: the second one's names are taken.
    """
    if (world.root / _NOTE).exists():
        return None
    making = Thread(target=_make, args=(world,), name="agents of the demo")
    making.start()
    return making


def _make(world: World) -> None:
    with suppress(OSError):  # a full disk, a world that somebody removes: the demo goes on without
        for name, text in _AGENTFILES.items():
            folder = _folder(world.home, name)
            make_folder(folder)
            _write(folder / "Agentfile", text)
        _write(_folder(world.home, _READY) / "files.sh", _TOOL)
        arguments = (world.python, "-m", "oulipoly_demo.past.agents")
        run_script(EXEC, worlds.environment_for(world), arguments=arguments, cwd=world.root, timeout_s=_LONGEST_S)
        _write(world.root / _NOTE, "")


def _write(path: Path, text: str) -> None:
    """Write a file that is its user's alone, whatever the umask, which is changed beside us."""
    with os.fdopen(open_private(path, os.O_WRONLY | os.O_TRUNC), "w", encoding="utf-8") as file:
        file.write(text)


def main() -> None:
    """Run both agents, and a job of the ready one, in the home that the environment names."""
    from oulipoly_engine.facade.engine import Engine  # noqa: PLC0415 - not for a world that has its agents

    engine = Engine()
    try:
        for name in (_FAILED, _READY):
            with suppress(RunnerError):  # the first one's failure is meant
                _run(engine, name)
        with suppress(RunnerError):
            project = _project(engine)
            job = engine.agents.run_job(_READY, "files", (str(project),), b"", {"demo": "yes"})
            engine.agents.await_job(job.job_id, timeout_s=10.0)
    finally:
        engine.close()


def _run(engine: Engine, name: str) -> None:
    from oulipoly_engine.core.agents.agents import Overrides  # noqa: PLC0415 - as above
    from oulipoly_engine.core.agents.mounts import Mount  # noqa: PLC0415 - as above
    from oulipoly_engine.facade.agents.agents import AgentWish  # noqa: PLC0415 - as above

    folder = _folder(engine.paths.home, name)
    overrides = Overrides()
    if name == _READY:
        mount = Mount(str(_project(engine)), "/project", "what it shows people around", is_read_only=True)
        overrides = Overrides(tools={"files": str(folder / "files.sh")}, mounts=(mount,))
    engine.agents.run(AgentWish(str(folder), name, overrides=overrides))


def _project(engine: Engine) -> Path:
    return engine.paths.home.parent / "project"


def _folder(home: Path, name: str) -> Path:
    return home / "agents" / name


if __name__ == "__main__":
    main()
