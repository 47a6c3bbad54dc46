"""What the pane of live sessions asks in threads."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.core.commands.slash.lines import Known
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from oulipoly_engine.core.live.events import Numbered
    from oulipoly_engine.core.live.sessions import LiveRequest
    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.facade.live.sessions import Begun, LiveClient, LiveStatus

WINDOW = 200  # events that are read when a session is opened, and each time more are scrolled to
_MOST_NAMES = 5_000  # of a folder


class Opened(Record, frozen=False, eq=False):
    """What a session is shown by."""

    status: LiveStatus
    events: tuple[Numbered, ...]
    requests: tuple[LiveRequest, ...]
    client: LiveClient | None  # None: no process of it lives
    own: Known = Known()  # prompt files, and commands of extensions
    runtimes: tuple[str, ...] = ()  # where it could go on


def open_session(engine: Engine, identity: str) -> Opened:
    """Read the end of a session and follow what comes, if a process of it lives."""
    live = engine.live
    client = None
    session_id = live.find(identity).session_id
    with suppress(RunnerError):
        client = live.connect(session_id)
    status = live.status(session_id)
    events = live.events(session_id, limit=WINDOW)
    requests = tuple(one for one in live.requests() if one.session_id == session_id)
    if client is not None:
        client.follow(events[-1].seq if events else 0)
    runtimes = tuple(runtime.id for runtime in engine.runtimes.catalogue().runtimes if runtime.is_enabled)
    own = engine.slash.read_own(Path(status.session.workspace))
    return Opened(status, events, requests, client, own, runtimes)


def resume_turn(engine: Engine, turn_id: str) -> None:
    """Have the agent go on with a turn whose process was lost. Raises RequestRefused where it cannot."""
    left = {one.runtime_id for one in engine.live.left_turns() if one.turn_id == turn_id}
    engine.live.resume_turn(turn_id, engine.runtimes.statuses(left))


def fork_to(engine: Engine, session_id: str, runtime: str, text: str) -> Begun:
    """Begin a session on another runtime with the past of one, and give it a message. text: empty: none."""
    begun = engine.live.fork(session_id, runtime=runtime)
    if text:
        engine.live.send(begun.session.session_id, text)
    return begun


def list_folder(workspace: str, folder: str) -> tuple[tuple[str, bool], ...]:
    """Return what a folder below the workspace holds, and what of it is a folder itself; nothing where it cannot."""
    try:
        with os.scandir(os.path.join(workspace, folder)) as found:  # noqa: PTH118 - as `os.scandir` takes it
            names: list[tuple[str, bool]] = []
            for one in found:
                if len(names) >= _MOST_NAMES:
                    break
                names.append((one.name, one.is_dir()))
            return tuple(names)
    except (OSError, ValueError):
        return ()
