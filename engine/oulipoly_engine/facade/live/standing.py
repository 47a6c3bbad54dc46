"""How live sessions stand: as their hosts say where they live, else as the records tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.live.events import ClientsChanged
from oulipoly_engine.core.live.orders import AskClients, AskStatus
from oulipoly_engine.core.live.permissions import choose_policy, describe_policy, read_profile
from oulipoly_engine.core.live.sessions import LiveSession, QueuedMessage, Turn
from oulipoly_engine.core.sessions.facets import LiveStanding, SessionKind, choose_rest_status, choose_status
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.worktrees.work import describe_wait
from oulipoly_engine.drivers.base import Capabilities
from oulipoly_engine.host.link import HostGone, HostUnreachable
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record, asdict, prepare, replace
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.live.hosts import LiveClient, OrderRefused
from oulipoly_engine.service.live.protocol import Client
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_queue, live_requests, live_sessions
from oulipoly_engine.store.worktrees import worktrees

if TYPE_CHECKING:
    from oulipoly_engine.core.worktrees.worktrees import Worktree
    from oulipoly_engine.facade.base.home import Home

_PATIENCE_S = 5.0  # for a host that was stopped
_PAGE_PATIENCE_S = 1.0  # the same, while a page waits to be shown


class LiveStatus(Record):
    """A live session and how it stands: every list, page and JSON form of live sessions is made of these."""

    session: LiveSession
    status: str  # of `core.sessions.facets.STATUSES`
    busy: bool = False
    turn_id: str | None = None
    turn_input: str | None = None  # the message of that turn, without secrets
    pending_approval: bool = False
    queue: tuple[QueuedMessage, ...] = ()
    model: str = ""
    policy: str = ""
    capabilities: Mapping[str, bool] = {}
    usage: Mapping[str, Any] = {}
    clients: ClientsChanged = ClientsChanged()
    worktree: Worktree | None = None
    rest_status: str = ""  # as `core.sessions.facets.choose_rest_status` has it
    is_stale: bool = False  # its process has gone without a word, in the middle of a turn
    pid: int | None = None  # of its host
    waits_for: str = ""  # why it has not been started yet

    @property
    def word(self) -> str:
        """Return the status that lists show: of one that has ended, how."""
        if self.status == "closed" and self.session.ended:
            return self.session.ended
        return self.status

    @property
    def error(self) -> str:
        """Return what went wrong; empty: nothing."""
        lost = "its process was lost; the next message goes on with it" if self.is_stale else ""
        return self.session.status_reason or lost


def to_json(status: LiveStatus) -> dict[str, Any]:
    """Return what every face tells of a live session by the same keys; each adds those that it has of old."""
    session, tree = status.session, status.worktree
    return {
        "session_id": session.session_id,
        "kind": SessionKind.WORK if session.opening.log else SessionKind.LIVE,
        "native_id": session.native_id,
        "busy": status.busy,
        "turn_id": status.turn_id,
        "pending_approval": status.pending_approval,
        "is_stale": status.is_stale,
        "waits_for": status.waits_for,
        "runtime_id": session.runtime_id,
        "runtime_kind": session.runtime_kind,
        "account": session.account,
        "profile": session.opening.profile or None,
        "policy": status.policy or None,
        "isolation": session.opening.level,
        "workspace": session.workspace,
        "branch": None if tree is None else tree.branch,
        "base": None if tree is None else tree.base,
        "forked_from": session.forked_from,
        "lifecycle": session.lifecycle,
        "pid": status.pid,
        "exit_code": session.exit_code,
    }


def describe_lines(status: LiveStatus, program: str = "agents") -> list[str]:
    """Return how a session stands, and what of it waits for its user, for people."""
    session = status.session
    may_do = describe_policy(session.opening.profile, status.policy)
    how = ""
    if status.status == "closed" and session.ended not in ("", "closed"):
        how = f", {session.ended}"
    lines = [
        f"{session.session_id}  {plain(session.title) or '(no title)'}",
        f"status:   {status.status}{how}" + (f": {plain(session.status_reason)}" if session.status_reason else ""),
        f"runtime:  {session.runtime_id}" + (f", account {session.account}" if session.account else ""),
        f"model:    {plain(status.model) or 'as its CLI chooses'}",
        f"may do:   {plain(may_do)}, isolation {session.opening.level}",
        f"folder:   {plain(session.workspace)}",
    ]
    if status.turn_input:
        lines.append(f"turn:     {plain(status.turn_input)}")
    if status.status == "recoverable":
        lines.append(f"cut off:  `{program} turn resume {status.turn_id}` has the agent go on with that turn")
    if status.pending_approval:
        lines.append(f"it asks:  `{program} requests list` tells what")
    clients = status.clients
    if clients.controller:
        since = from_text(clients.since).astimezone()
        lines.append(f"control:  {plain(clients.controller)} since {since:%Y-%m-%d %H:%M}")
    if clients.attached:
        lines.append(f"attached: {len(clients.attached)}: {plain(', '.join(clients.attached))}")
    return [*lines, *(f"waits:    {waiting.message_id[:8]}  {plain(waiting.text)}" for waiting in status.queue)]


def describe(
    store: Store, home: Home, sessions: Sequence[LiveSession], asker: Client | None = None
) -> tuple[LiveStatus, ...]:
    """Return how sessions stand. asker: who asks the hosts; None: none is asked, and the records alone tell."""
    ids = [session.session_id for session in sessions]
    with store.read():  # one view: a message that becomes a turn meanwhile would be in neither
        turns = {turn.session_id: turn for turn in live_sessions.open_turns(store, ids)}
        asking = live_requests.asking_sessions(store)
        queues = live_queue.waiting_of(store, ids)
        trees = {tree.session_id: tree for tree in worktrees.list_worktrees(store)}
    living = {host.session_id: host.pid for host in hosts.survey(home.paths)}
    ended = hosts.ended_meanwhile(store, sessions, living)
    if ended:
        unfinished = live_sessions.open_turn_ids(store, ended)
        turns = {key: turn for key, turn in turns.items() if key not in ended or key in unfinished}
    statuses = []
    for before in sessions:
        identity = before.session_id
        status = _judge(
            ended.get(identity, before),
            turns.get(identity),
            queues.get(identity, ()),
            living.get(identity),
            asks=identity in asking,
        )
        status = replace(status, worktree=trees.get(identity))
        if status.rest_status == "queued":
            status = replace(status, waits_for=count_places(home, store))
        if status.pid is not None and asker is not None:
            status = replace(status, **_ask(home.paths, status.session, asker))
        statuses.append(status)
    return tuple(statuses)


def count_places(home: Home, store: Store) -> str:
    """Return why a session that works by itself has to wait for its start; empty: it need not."""
    most = home.files.settings().work_max_running
    if not most:
        return ""
    running = {host.session_id for host in hosts.survey(home.paths)}
    found = live_sessions.list_sessions(store, 1000)
    works = [session.session_id for session in found if session.session_id in running and session.opening.log]
    return describe_wait(works, most) if len(works) >= most else ""


def _ask(paths: Paths, session: LiveSession, asker: Client) -> Mapping[str, Any]:
    """Return what a host says; nothing where it is ending, or does not answer."""
    try:
        with hosts.connect(paths, session.session_id, asker) as client:
            told = client.order(AskStatus(), patience_s=_PATIENCE_S)
            return {**told, "clients": _ask_clients(client)}
    except (HostUnreachable, HostGone):
        return {}


def ask_clients(paths: Paths, session_id: str, asker: Client) -> ClientsChanged:
    """Return who has control of a session and who is attached, as its host says; nobody where none answers."""
    try:
        with hosts.connect(paths, session_id, asker) as client:
            return _ask_clients(client, _PAGE_PATIENCE_S)
    except (HostUnreachable, HostGone):
        return ClientsChanged()


def _ask_clients(client: LiveClient, patience_s: float = _PATIENCE_S) -> ClientsChanged:
    try:
        return msgspec.convert(client.order(AskClients(), patience_s=patience_s), prepare(ClientsChanged))
    except OrderRefused:  # a host of an earlier release
        return ClientsChanged()


def _judge(
    session: LiveSession, turn: Turn | None, queue: tuple[QueuedMessage, ...], pid: int | None, *, asks: bool
) -> LiveStatus:
    """Return how the records have a session. pid: of its host; None: none lives."""
    is_alive = pid is not None
    standing = LiveStanding(
        session.session_id,
        is_work=session.opening.log,
        status=session.status,
        ended=session.ended,
        has_begun=session.generation > 0,
        has_turn=turn is not None,
        has_request=asks,
        has_message=bool(queue),
        isolation=session.opening.isolation,
    )
    is_starting = turn is not None and turn.status == "starting"
    able = session.opening.capabilities
    return LiveStatus(
        session,
        choose_status(standing, is_alive=is_alive, is_starting=is_starting),
        busy=is_alive and turn is not None,
        turn_id=None if turn is None else turn.turn_id,
        turn_input=None if turn is None else turn.input,
        pending_approval=is_alive and asks,
        queue=queue,
        model=session.opening.model,
        policy=choose_policy(session.runtime_kind, read_profile(session.opening.profile)).policy,
        capabilities={} if able is None else {name: name in able for name in asdict(Capabilities())},
        rest_status=choose_rest_status(standing, is_alive=is_alive, is_starting=is_starting),
        is_stale=standing.has_turn and standing.has_begun and not is_alive,
        pid=pid,
    )
