"""How live sessions stand: as their hosts say where they live, else as the records tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from oulipoly_engine.core.live.events import ClientsChanged
from oulipoly_engine.core.live.orders import AskClients, AskStatus
from oulipoly_engine.core.live.permissions import choose_policy, read_profile
from oulipoly_engine.core.live.sessions import LiveSession, QueuedMessage
from oulipoly_engine.core.sessions.facets import LiveStanding, choose_status
from oulipoly_engine.drivers.base import Capabilities
from oulipoly_engine.host.link import HostGone, HostUnreachable
from oulipoly_engine.paths import Paths
from oulipoly_engine.records import Record, asdict, replace
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.live.hosts import LiveClient, OrderRefused
from oulipoly_engine.service.live.protocol import Client
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_queue, live_requests, live_sessions

_PATIENCE_S = 5.0  # for a host that was stopped
_PAGE_PATIENCE_S = 1.0  # the same, while a page waits to be shown


class LiveStatus(Record):
    """How a session stands."""

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


def describe(
    store: Store, paths: Paths, sessions: Sequence[LiveSession], asker: Client | None
) -> tuple[LiveStatus, ...]:
    """Return how sessions stand. asker: who asks the hosts; None: none is asked, and the records alone tell."""
    ids = [one.session_id for one in sessions]
    with store.read():  # one view: a message that becomes a turn meanwhile would be in neither
        turns = live_sessions.open_turn_ids(store, ids)
        inputs = {
            turn_id: turn.input for turn_id in turns.values() if (turn := live_sessions.find_turn(store, turn_id))
        }
        asking = live_requests.asking_sessions(store)
        queues = live_queue.waiting_of(store, ids)
    living = {host.session_id for host in hosts.survey(paths)}
    ended = hosts.ended_meanwhile(store, sessions, living)
    if ended:
        unfinished = live_sessions.open_turn_ids(store, ended)
        turns = {key: turn for key, turn in turns.items() if key not in ended or key in unfinished}
    found = []
    for before in sessions:
        identity = before.session_id
        session = ended.get(identity, before)
        is_alive = identity in living
        asks, queue = identity in asking, queues.get(identity, ())
        turn_id = turns.get(identity)
        status = _judge(session, turn_id, queue, is_alive=is_alive, asks=asks)
        status = replace(status, turn_input=inputs.get(turn_id or ""))
        found.append(replace(status, **(_ask(paths, session, asker) if is_alive and asker else {})))
    return tuple(found)


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
        return msgspec.convert(client.order(AskClients(), patience_s=patience_s), ClientsChanged)
    except OrderRefused:  # a host of an earlier release
        return ClientsChanged()


def _judge(
    session: LiveSession, turn_id: str | None, queue: tuple[QueuedMessage, ...], *, is_alive: bool, asks: bool
) -> LiveStatus:
    standing = LiveStanding(
        session.session_id,
        is_work=session.opening.log,
        status=session.status,
        ended=session.ended,
        has_begun=session.generation > 0,
        has_turn=turn_id is not None,
        has_request=asks,
        has_message=bool(queue),
    )
    status = choose_status(standing, is_alive=is_alive)
    able = session.opening.capabilities
    return LiveStatus(
        session,
        status,
        busy=is_alive and turn_id is not None,
        turn_id=turn_id,
        pending_approval=is_alive and asks,
        queue=queue,
        model=session.opening.model,
        policy=choose_policy(session.runtime_kind, read_profile(session.opening.profile)).policy,
        capabilities={} if able is None else {name: name in able for name in asdict(Capabilities())},
    )
