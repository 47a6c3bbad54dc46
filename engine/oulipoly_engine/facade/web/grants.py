"""What a person has allowed: put together from where each kind is kept, and withdrawn there. Every method blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from oulipoly_engine.clock import from_text
from oulipoly_engine.core.agents.capabilities import AGENT_PREFIX
from oulipoly_engine.core.live.orders import Close
from oulipoly_engine.core.live.permissions import OF_NEW_SESSIONS
from oulipoly_engine.core.live.requests import NoTurnRuns
from oulipoly_engine.core.web import grants
from oulipoly_engine.core.web.grants import Grant
from oulipoly_engine.errors import GrantNotFound, RequestRefused
from oulipoly_engine.facade.base.home import Home, find_only
from oulipoly_engine.facade.base.own_process import require_person
from oulipoly_engine.host.link import HostGone
from oulipoly_engine.records import replace
from oulipoly_engine.service.live import hosts
from oulipoly_engine.store.agents import agents
from oulipoly_engine.store.grants import grants as book
from oulipoly_engine.store.live import live_requests, live_sessions

if TYPE_CHECKING:
    from oulipoly_engine.facade.live.sessions import LiveSessions
    from oulipoly_engine.facade.web.access import WebAccess

_Withdraw = Callable[[], object]


class Grants:
    """What one user has allowed."""

    def __init__(self, home: Home, web: WebAccess, live: LiveSessions) -> None:
        self._home, self._web, self._live = home, web, live

    def list(self) -> tuple[Grant, ...]:
        """Return what holds now, oldest first."""
        return tuple(sorted((grant for grant, _ in self._collect()), key=lambda grant: grant.allowed_at))

    def revoke(self, identity: str) -> Grant:
        """Withdraw the grant whose id begins so, and return it. Raises GrantNotFound, IdAmbiguous."""
        self._home.refuse_if_read_only("revoke a grant")
        begun = [pair for pair in self._collect() if identity and pair[0].grant_id.startswith(identity)]
        exact = [pair for pair in begun if pair[0].grant_id == identity]
        none = GrantNotFound(f"nothing is allowed under {identity[:60]!r}: `agents grants list` lists what is")
        grant, withdraw = find_only(exact or begun, lambda pair: pair[0].grant_id, identity, "grants", none)
        withdraw()
        return replace(grant, revoked_at=self._home.now())

    def _collect(self) -> Iterator[tuple[Grant, _Withdraw]]:
        """Yield what holds now, each with what withdraws it."""
        for device in self._web.devices():
            yield grants.grant_of_device(device), partial(self._web.revoke, device.device_id)
        started = {host.session_id: from_text(host.started_at) for host in self._live.hosts()}
        with self._home.lend_store_to_read() as store:
            by_digest = book.list_all(store)
            approved = live_requests.approved_for_session(store, started)
            sessions = live_sessions.list_acting_unasked(store)
            names = {agent.agent_id: agent.name for agent in agents.list_agents(store)}
        for subject, digest, right, allowed_at in by_digest:
            if subject.startswith(AGENT_PREFIX):
                source_id = subject.removeprefix(AGENT_PREFIX)
                source = (source_id, names.get(source_id, source_id))
                link = grants.grant_of_link(source, (digest, names.get(digest, digest)), allowed_at)
                yield link, partial(self._withdraw, subject, digest, right)
                continue
            withdraw = partial(self._withdraw, subject, digest, right)
            yield grants.grant_by_digest(subject, digest, allowed_at, right), withdraw
        for request in approved:
            grant = grants.grant_of_approval(request)
            if grant.allowed_at >= started[request.session_id]:  # its CLI forgets with its process
                yield grant, partial(self._end_process, request.session_id)
        for session in sessions:
            yield grants.grant_of_profile(session), partial(self._take_profile, session.session_id)

    def _withdraw(self, subject: str, digest: str, right: str) -> None:
        if subject.startswith(grants.PUBLISHER_PREFIX):  # without it, anybody's signature is the first
            require_person("forget whose signature an image needs")
        if subject.startswith(AGENT_PREFIX):
            require_person("change which agents may prompt which")
        with self._home.lend_store() as store:
            book.withdraw(store, subject, digest, right)

    def _take_profile(self, session_id: str) -> None:
        """Have a session ask first from now on. Until that is written, it is listed and can be revoked again."""
        self._end_process(session_id)
        with self._home.lend_store() as store:
            changes = {"profile": OF_NEW_SESSIONS, "never_asks": False}
            live_sessions.change_opening(store, session_id, self._home.now(), **changes)
        self._end_process(session_id)  # one that a message has started meanwhile

    def _end_process(self, session_id: str) -> None:
        with suppress(NoTurnRuns, HostGone):
            self._live.order(session_id, Close(), starts=False)
        if not hosts.wait_for_end(self._home.paths, session_id):
            message = f"the process of session {session_id} does not end: `agents session cancel {session_id}` ends it"
            raise RequestRefused(message)
