"""The program that the host of a live session is: it takes an order on stdin, starts the CLI, answers, and holds on.

Run as a module by `service.live.hosts`.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine.clock import Clock, SystemClock, to_text
from oulipoly_engine.core.accounts.clis.host_login import LoginOrder
from oulipoly_engine.core.boxes.box import Box
from oulipoly_engine.core.live.runtimes import hide_proxy
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.core.text.redact import redact_strictly
from oulipoly_engine.drivers.base import Opening
from oulipoly_engine.drivers.table import driver_of
from oulipoly_engine.errors import RunnerError, SpawnFailed
from oulipoly_engine.host import launcher, runtime_folder
from oulipoly_engine.host.launcher import unescape_word
from oulipoly_engine.process.command import Command
from oulipoly_engine.process.liveness import adopt_orphans, start_ticks
from oulipoly_engine.process.piped import PipedProcess
from oulipoly_engine.records import Record, msgspec, prepare
from oulipoly_engine.service.agents.tool_socket import ToolOrder, ToolSocket
from oulipoly_engine.service.extensions.session_hooks import ExtensionOrder, SessionHooks
from oulipoly_engine.service.live.host import Host, Limits
from oulipoly_engine.service.live.session_log import SessionLog
from oulipoly_engine.service.live.turn.turn_run import Process
from oulipoly_engine.service.live.turns import SessionTurns
from oulipoly_engine.service.live.wire.log import WireLog
from oulipoly_engine.service.worktrees.snapshot.keeper import FileKeeper
from oulipoly_engine.store.base.db import Store, open_store
from oulipoly_engine.store.live import live_sessions
from oulipoly_engine.store.runs import invocations

if TYPE_CHECKING:
    from oulipoly_engine.core.live.sessions import LiveSession
    from oulipoly_engine.service.agents.limit_watch import LimitWatch
    from oulipoly_engine.service.worktrees.base.place import Place


class LiveHost(Record):
    """What the runtime folder tells about the host of a live session."""

    id: str
    session_id: str
    host_pid: int
    pid: int  # the CLI's
    started_at: str  # RFC 3339, UTC
    began_ticks: int | None = None
    options: str = ""  # `launch.options_of`
    invocation: str = ""  # UUID of the CLI's process, which what that starts has in its environment

    @property
    def is_running(self) -> bool:
        """Return True: the host ends with its CLI."""
        return True


class HostOrder(Record):
    """What a host is to do. Words and variables are escaped: a system's bytes need not be text."""

    session_id: str
    host_id: str
    state_db: str
    folder: str  # of the sockets
    logs: str
    argv: tuple[str, ...]
    env: dict[str, str]
    kind: str
    opening: Opening
    limits: Limits
    invocation_row: int
    invocation_uuid: str
    account: str
    model_name: str
    named_in: str = ""  # the key and the file that name its program
    proxy: str = ""  # the runtime's, whose password a CLI may print
    wire_log: str = ""  # the file in which what the CLI says is kept; empty: it is not
    options: str = ""
    keeps_files: bool = False  # of the checkout, at the ends of turns
    log: str = ""  # the file of what the CLI says, for people; empty: it is not kept
    extensions: ExtensionOrder = ExtensionOrder()
    tools: ToolOrder | None = None  # of an agent that has capabilities
    box: Box | None = None  # what its CLI reaches; None: all that its user does
    login: LoginOrder | None = None  # that is kept here; None: the CLI logs in by itself


class HostAnswer(Record):
    """What came of it; neither: another host has the session."""

    host: LiveHost | None = None
    error: str = ""
    slug: str = ""


def main() -> None:
    """Take the order and be the host; never returns."""
    order = msgspec.json.decode(launcher.read_order(), type=prepare(HostOrder))
    launcher.detach(lambda: _host(order))


def _host(order: HostOrder) -> None:
    claimed = runtime_folder.claim_name(Path(order.folder), order.host_id)
    if claimed is None:
        launcher.answer(msgspec.json.encode(HostAnswer()), None)
        return
    place, lock = claimed
    store, clock = open_store(Path(order.state_db)), SystemClock()
    store.defer_checkpoints()
    invocations.note_owner(store, order.invocation_row, os.getpid())  # whoever started us may end
    adopt_orphans()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # what was said there is nobody's to read
    served = contextlib.ExitStack()  # as long as the CLI runs, and no longer: its tools and its proxy
    tools: ToolSocket | None = None
    try:
        if order.tools is not None:  # before the box that shows it
            tools = ToolSocket(order.tools)
            served.callback(tools.close)
        command = _make_command(order, clock, served)
        watch = None
        if command.box is not None:
            from oulipoly_engine.service.agents.limit_watch import LimitWatch  # noqa: PLC0415 - few stand in a box

            watch = served.enter_context(LimitWatch(command.box))
        process = PipedProcess(command)
        if watch is not None:
            watch.begin(process.pid)
        listener = place.listen()
        host = LiveHost(
            place.id,
            order.session_id,
            os.getpid(),
            process.pid,
            to_text(clock.now()),
            start_ticks(process.pid),
            order.options,
            order.invocation_uuid,
        )
        place.describe(host)
    except (RunnerError, OSError) as error:
        text = error.message if isinstance(error, RunnerError) else f"the session's host could not be started: {error}"
        slug = error.slug if isinstance(error, RunnerError) else SpawnFailed.slug
        outcome = Outcome(False, -1, clock.now(), "spawn_error", "spawn_error", text)
        invocations.end(store, order.invocation_row, outcome)
        served.close()
        place.remove()
        launcher.answer(msgspec.json.encode(HostAnswer(error=text, slug=slug)), None)
        return
    invocations.record_child(store, order.invocation_row, process.pid, host.began_ticks)
    log = Path(order.logs) / f"{place.id}.log"
    launcher.answer(msgspec.json.encode(HostAnswer(host)), log)
    gc.freeze()  # what is loaded stays: a whole collection would walk it for 6 ms, while a message waits
    try:
        _serve(order, store, process, listener, tools, watch)
    finally:
        process.stop()
        served.close()
        place.remove()
        store.close()
        os.close(lock)
    launcher.drop_empty_log(log)


def _make_command(order: HostOrder, clock: Clock, served: contextlib.ExitStack) -> Command:
    """Return what starts the CLI, whose proxy listens then, where it has one. Raises SystemRefused."""
    argv = tuple(map(unescape_word, order.argv))
    env = {unescape_word(key): unescape_word(value) for key, value in order.env.items()}
    box = order.box
    if box is not None and order.login is not None:
        from oulipoly_engine.service.agents.logins import fill_in, serve_box  # noqa: PLC0415 - few sessions are agents'

        path = Path(order.folder, f"{order.host_id}.proxy")
        box, url, token = served.enter_context(serve_box(box, path, order.login, clock))
        argv = tuple(fill_in(word, url, token) for word in argv)
        env = {name: fill_in(value, url, token) for name, value in env.items()}
    return Command(argv, env, Path(order.opening.cwd), named_in=order.named_in, box=box)


def _serve(
    order: HostOrder,
    store: Store,
    process: PipedProcess,
    listener: runtime_folder.Listener,
    tools: ToolSocket | None,
    watch: LimitWatch | None,
) -> None:
    clock = SystemClock()
    session = live_sessions.find(store, order.session_id)[0]
    live_sessions.begin_process(store, session, clock.now())
    driver = driver_of(order.kind)(order.opening)

    def clean(text: str) -> str:
        return redact_strictly(hide_proxy(text, order.proxy))

    hooks = SessionHooks(order.extensions, store, clock, session)
    files = FileKeeper(_find_place(store, session) if order.keeps_files else None, clock)
    mine = Process(order.invocation_row, order.invocation_uuid, order.account, order.model_name, os.getpid())
    host = Host(
        store,
        clock,
        process,
        driver,
        lambda tell: SessionTurns(
            store, session, driver, mine, clock, tell, order.limits.compaction, files, order.limits.retry, hooks
        ),
        listener,
        order.limits,
        order.invocation_row,
        clean,
        _open_wire_log(order.wire_log, clean),
        SessionLog(Path(order.log), clock, order.env, clean) if order.log else None,
        files,
        hooks,
        tools,
        watch,
    )
    try:
        host.run()
    finally:
        hooks.close()


def _find_place(store: Store, session: LiveSession) -> Place:
    from oulipoly_engine.service.worktrees.base.place import find_place  # noqa: PLC0415 - only in a repository

    return find_place(store, session.session_id, session.workspace)


def _open_wire_log(path: str, clean: Callable[[str], str]) -> WireLog | None:
    """Return the wire log, None where none is wanted or none can be written."""
    try:
        return WireLog(Path(path), clean) if path else None
    except OSError:
        return None


if __name__ == "__main__":
    main()
