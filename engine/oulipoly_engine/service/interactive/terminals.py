"""Terminals that live in hosts of their own: start one, list them, reach one, end one."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from oulipoly_engine.clock import Clock, SystemClock, to_text
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.core.sessions.facets import IN_TERMINAL, STATUSES
from oulipoly_engine.core.text.redact import redact_argv
from oulipoly_engine.errors import RunnerError, SpawnFailed, TerminalNotFound
from oulipoly_engine.host import launcher
from oulipoly_engine.host.launcher import escape_word
from oulipoly_engine.host.runtime_folder import HostFiles
from oulipoly_engine.paths import Paths
from oulipoly_engine.process.command import Command, describe_running, watched
from oulipoly_engine.process.liveness import has_ended
from oulipoly_engine.records import Record, asdict, field, prepare, replace
from oulipoly_engine.service.interactive import endings
from oulipoly_engine.service.interactive.terminal_host import Answer, Order
from oulipoly_engine.service.runs import results
from oulipoly_engine.service.runs.orphans import GUARD_DROP
from oulipoly_engine.store.base.db import Store, open_store
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.terminal.client.client import Client, HostUnreachable
from oulipoly_engine.terminal.host.handles import Rules
from oulipoly_engine.terminal.host.process_groups import send_orphan
from oulipoly_engine.terminal.host.runtime_folder import Survey, Terminal
from oulipoly_engine.terminal.host.runtime_folder import survey as survey_folder
from oulipoly_engine.terminal.protocol.messages import EndReceipt, Exited, Kill
from oulipoly_engine.terminal.protocol.screen import ScreenLimits

_HOST = "oulipoly_engine.service.interactive.terminal_host"
_RECORD = f"{__name__}:record_end"
_LABEL = 200  # characters
_LONGEST_SIGNAL = 3  # digits
_HANGUP_S = 0.3  # from the death of a host to that of a program that minds it
_POLL_S = 0.01
# What tells a program of a terminal that it is not in any more.
_FOREIGN = (
    "TMUX",
    "TMUX_PANE",
    "STY",
    "COLUMNS",
    "LINES",
    "TERMCAP",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "WINDOWID",
)


class TerminalStays(RunnerError, slug="terminal-stays"):
    """A terminal's program did not end when it was told to."""


class Recorded(Record):
    """The invocation that a terminal serves; its row is begun by whoever starts it."""

    row_id: int
    uuid: str
    model: str
    account: str
    session_id: str | None = None
    capture_method: str = "none"


class Launch(Record):
    """A terminal to start."""

    command: Command
    columns: int = 80
    rows: int = 24
    recorded: Recorded | None = None
    label: str | None = None  # None: the command's arguments, redacted
    rules: Rules = field(default_factory=lambda: Rules(ScreenLimits()))
    finish: str = ""  # instead of `record_end`: see `terminal_host.Order`
    finish_with: Mapping[str, Any] = field(default_factory=dict)
    look: str = ""
    after: str = ""
    clock: Clock = field(default_factory=SystemClock)  # by which it begins


def terminal_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a program in one of our terminals: it names ours, and no other one."""
    kept = {key: value for key, value in env.items() if key not in _FOREIGN}
    return kept | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


def start(paths: Paths, launch: Launch) -> Terminal:
    """Start a host with its program and return the terminal; it runs on by itself.

    Raises SpawnFailed when the program cannot be started, RuntimeFolderUnsafe when the folder of sockets is no good.
    """
    recorded = launch.recorded
    rules = replace(launch.rules, limits=replace(launch.rules.limits, columns=launch.columns, rows=launch.rows))
    finish, payload = launch.finish, dict(launch.finish_with)
    if not finish and recorded is not None:
        finish = _RECORD
        payload = {
            "state_db": str(paths.state_db),
            "row": recorded.row_id,
            "session_id": recorded.session_id,
            "capture_method": recorded.capture_method,
        }
    env = terminal_environment(launch.command.env)
    order = Order(
        argv=tuple(map(escape_word, launch.command.argv)),
        env={escape_word(key): escape_word(value) for key, value in env.items()},
        cwd=escape_word(str(launch.command.cwd or Path.cwd())),
        runtime=str(paths.runtime),
        logs=str(paths.terminal_logs),
        terminal=_describe(launch),
        rules=rules,
        finish=finish,
        finish_with=payload,
        look=launch.look,
        after=launch.after,
    )
    with watched(launch.command.argv, launch.command.cwd) as tell:
        answer = msgspec.json.decode(launcher.launch(_HOST, msgspec.json.encode(order)), type=prepare(Answer))
        if answer.terminal is None:
            raise SpawnFailed(answer.error)
        tell(describe_running(answer.terminal.id))
    return answer.terminal


def record_end(payload: Mapping[str, Any], exited: Exited, tail: bytes) -> None:
    """Make the row of a terminal's invocation final; called in the host, at the program's end."""
    store = open_store(Path(payload["state_db"]))
    outcome = Outcome(
        success=exited.code == 0 and exited.stopped_for is None,
        exit_code=exited.code,
        finished_at=SystemClock().now(),
        terminal_reason=endings.terminal_reason(endings.Last(exited.code, exited.signal, tail, exited.stopped_for)),
        session_id=payload.get("session_id"),
        capture_method=payload.get("capture_method", "none"),
    )
    invocations.end(store, int(payload["row"]), outcome)
    store.close()


def survey(paths: Paths, clock: Clock) -> Survey:
    """List the living terminals, oldest first, and tidy up after hosts that were killed.

    What such a host could not record is recorded now: the end that nobody saw, and the result file.
    """
    found = _look(paths.runtime)
    uuids = [lost.invocation for lost in found.lost if lost.invocation is not None]
    if uuids and paths.state_db.exists():
        store = open_store(paths.state_db)
        try:
            for uuid in uuids:
                _close_lost(store, paths, clock, uuid)
        finally:
            store.close()
    return found


def _close_lost(store: Store, paths: Paths, clock: Clock, uuid: str) -> None:
    row = invocations.find(store, uuid)
    if row is None:
        return
    text = "the host of its terminal was killed"
    invocations.end(store, row.row_id, Outcome(False, -1, clock.now(), None, GUARD_DROP, text))
    results.write_late(store, paths.results, uuid)


def _look(runtime: Path) -> Survey:
    """Survey the folder; a program that takes its host's death for its own end has a moment for that."""
    found = survey_folder(runtime, _runs_on)
    deadline = time.monotonic() + _HANGUP_S
    while any(map(_runs_on, found.orphaned)) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    if all(map(_runs_on, found.orphaned)):
        return found
    again = survey_folder(runtime, _runs_on)
    return replace(again, lost=found.lost + again.lost, stale_sockets=found.stale_sockets + again.stale_sockets)


def _runs_on(terminal: Terminal) -> bool:
    return terminal.began_ticks is not None and not has_ended(terminal.pid, terminal.began_ticks)


def find(paths: Paths, clock: Clock, identity: str, *, orphaned: bool = False) -> Terminal:
    """Return the living terminal whose id begins so. Raises TerminalNotFound.

    orphaned: one whose host was killed but whose program runs on will do as well.
    """
    found = survey(paths, clock)
    candidates = (*found.living, *found.orphaned) if orphaned else found.living
    matching = [one for one in candidates if one.id.startswith(identity)] if identity else []
    if len(matching) == 1:
        return matching[0]
    if matching:
        names = ", ".join(one.id for one in matching)
        message = f"several terminals begin with {identity!r}: {names}; give more of the id"
    elif any(one.id.startswith(identity) for one in found.lost):
        message = f"the host of terminal {identity} was killed, and its program has ended"
    elif identity and (left := next((one for one in found.orphaned if one.id.startswith(identity)), None)):
        message = f"{orphan_text(left)}: `agents terminal kill {left.id}` ends it"
    else:
        message = f"there is no terminal {identity!r}: `agents terminal list` lists those that live"
    raise TerminalNotFound(message)


def orphan_text(terminal: Terminal) -> str:
    """Say that a program runs on without its host."""
    return f"the host of terminal {terminal.id} was killed, but its program runs on as process {terminal.pid}"


def connect(paths: Paths, terminal: Terminal, name: str) -> Client:
    """Return a connection to a terminal's host. Raises HostUnreachable."""
    return Client(HostFiles(paths.runtime, terminal.id).socket, name)


def kill(paths: Paths, terminal: Terminal, number: int | None, patience_s: float = 10.0) -> Exited | None:
    """Signal a terminal's program; without a number end it for good: HUP, then KILL.

    Returns how it ended; None when a signal of the caller's choice has not ended it within a second.
    Raises HostUnreachable, and TerminalStays when it cannot be ended.
    """
    try:
        client = connect(paths, terminal, "kill")
    except HostUnreachable:
        if not _runs_on(terminal):
            raise
        return _kill_orphan(terminal, number, patience_s)
    with client:
        client.send(Kill(number or 0))
        deadline = time.monotonic() + (patience_s if number is None else 1.0)
        while (left := deadline - time.monotonic()) > 0:
            for message in client.receive(left):
                if isinstance(message, Exited):
                    client.send(EndReceipt())
                    return message
    if number is not None:
        return None
    stays = f"the program of terminal {terminal.id} (process {terminal.pid}) does not end: its host cannot kill it"
    raise TerminalStays(stays)


def _kill_orphan(terminal: Terminal, number: int | None, patience_s: float) -> Exited | None:
    """Do what the host would have done; nobody is left who could learn the exit code."""
    ladder = ((signal.SIGHUP, 1.0), (signal.SIGKILL, patience_s)) if number is None else ((number, 1.0),)
    for one, within_s in ladder:
        send_orphan(terminal.pid, one)
        send_orphan(terminal.pid, signal.SIGCONT)
        deadline = time.monotonic() + within_s
        while _runs_on(terminal):
            if time.monotonic() >= deadline:
                break
            time.sleep(_POLL_S)
        else:
            return Exited(128 + one, int(one), int(one))
    if number is not None:
        return None
    stays = f"the program of terminal {terminal.id} (process {terminal.pid}) does not end, and its host is gone"
    raise TerminalStays(stays)


def to_json(terminal: Terminal) -> dict[str, object]:
    """Return a terminal as scripts get it."""
    document = asdict(terminal)
    del document["invocation_row"], document["began_ticks"]
    status = IN_TERMINAL.status if terminal.is_running else "closed"
    return document | {"state": STATUSES[status], "kind": IN_TERMINAL.kind, "status": status}


def _describe(launch: Launch) -> dict[str, Any]:
    recorded = launch.recorded
    words = redact_argv(launch.command.argv)
    label = launch.label if launch.label is not None else " ".join(words)
    described: dict[str, Any] = {
        "started_at": to_text(launch.clock.now()),
        "label": _plain(label),
        "cwd": _plain(str(launch.command.cwd or Path.cwd())),
    }
    if recorded is not None:
        described |= {
            "model": recorded.model,
            "account": recorded.account,
            "invocation": recorded.uuid,
            "invocation_row": recorded.row_id,
            "session_id": recorded.session_id,
        }
    return described


def _plain(text: str) -> str:
    """Return text for people: one line, no controls, not endless."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text)
    return shown if len(shown) <= _LABEL else shown[: _LABEL - 1] + "…"


def signal_number(word: str) -> int | None:
    """Return the number of a signal given as `TERM`, `SIGTERM` or `15`; None when there is no such."""
    if word.isdecimal():
        return int(word) if len(word) <= _LONGEST_SIGNAL and int(word) in set(signal.valid_signals()) else None
    found = getattr(signal, "SIG" + word.upper().removeprefix("SIG"), None)
    return int(found) if isinstance(found, signal.Signals) else None
