"""What live sessions and others ask people: found and answered, and in whose name."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Mapping

from oulipoly_engine.core.live.requests import Decision
from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.core.web.devices import CONFIRMED_FOR
from oulipoly_engine.errors import RequestNotFound, RequestRefused
from oulipoly_engine.facade.base.agent_rights import require_right_to_session
from oulipoly_engine.facade.base.home import Home, find_only
from oulipoly_engine.host.link import HostGone, HostUnreachable
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.live.protocol import NAME_LIMIT, Client
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.grants import grants
from oulipoly_engine.store.live import live_requests
from oulipoly_engine.store.web import devices


class LiveRequests:
    """The requests to one user: the one inbox."""

    def __init__(self, home: Home, client: Client | None = None, *, is_run: bool = False) -> None:
        """client: in whose name everything is done; None: this process's. is_run: a run of ours asks by it."""
        self._home = home
        self._client = client or own_client(is_app=home.is_app)
        self._is_run = is_run

    def requests(self, *, all_states: bool = False, limit: int = 200) -> tuple[LiveRequest, ...]:
        """Return the requests that wait for an answer, oldest first; or the last ones, whatever became of them."""
        with self._home.lend_store_to_read() as store:
            self._home.write_along(store, lambda: hosts.expire_left(store, self._home.clock, self._home.paths), None)
            return live_requests.latest(store, limit) if all_states else live_requests.pending(store)

    def find_request(self, identity: str) -> LiveRequest:
        """Return the request whose id begins so. Raises RequestRefused."""
        with self._home.lend_store_to_read() as store:
            found = live_requests.find(store, identity) if identity else ()
        # Who gives the beginning of an id means one that waits.
        found = tuple(one for one in found if one.status == "pending") or found
        none = f"there is no request {identity!r}: `agents requests list` lists those that wait"
        return find_only(found, lambda one: one.request_id, identity, "requests", RequestNotFound(none))

    def require_right(self, session_id: str, *, answers: bool = False) -> None:
        """Refuse orders to a running agent's session to whom `require_right_to_session` does. Raises RequestRefused."""
        require_right_to_session(self._home, session_id, answers=answers, is_run=self._is_run)

    def answer(
        self,
        identity: str,
        decision: str,
        *,
        reason: str = "",
        answers: Mapping[str, tuple[str, ...]] | None = None,
        digest: str | None = None,
    ) -> str:
        """Answer a request once and return what became of it. Raises RequestRefused.

        digest: of what was read of it, as its JSON form tells it: an answer to anything else is refused.
        """
        from oulipoly_engine.core.live import requests  # noqa: PLC0415 - only an answer needs them
        from oulipoly_engine.core.live.orders import Answer  # noqa: PLC0415 - the same

        self._home.refuse_if_read_only("answer a request")
        request = self.find_request(identity)
        self.require_right(request.session_id, answers=True)
        word = requests.parse_decision(decision)
        if word is not None:
            requests.check(request, word, answers or {}, digest)
            if request.origin != "live":
                if reason and not request.hears_reasons:
                    raise RequestRefused(f"{request.asker_name} hears yes or no, and no reason")
                if reason:
                    answers = {"reason": (reason,)}
                return self._settle(request, word, answers or {})
        order = Answer(request.request_id, decision, reason, answers or {})
        try:
            with hosts.connect(self._home.paths, request.session_id, self._client) as client:
                return str(client.order(order)["status"])
        except (HostUnreachable, HostGone) as error:
            with self._home.lend_store() as store:
                hosts.expire_left(store, self._home.clock, self._home.paths)
            message = f"the request {request.request_id} is stale: its session's process has ended"
            raise requests.RequestStale(message) from error

    def _settle(self, request: LiveRequest, decision: Decision, answers: Mapping[str, tuple[str, ...]]) -> str:
        """Answer what no host waits for: the asker reads the answer in the store. Raises RequestStale."""
        from oulipoly_engine.core.live import requests  # noqa: PLC0415 - as above

        status = requests.STATUS[decision]
        with self._home.lend_store() as store, store.write():
            hosts.expire_left(store, self._home.clock, self._home.paths)
            is_first = live_requests.settle(
                store,
                request.request_id,
                status,
                self._home.now(),
                decision=decision,
                answered_by=self._client.name,
                answers=answers,
            )
            if is_first and decision == "approve":
                self._grant(store, request)
        if not is_first:
            requests.check(self.find_request(request.request_id), decision, answers)
        return status

    def _grant(self, store: Store, request: LiveRequest) -> None:
        """Note what an approval allows, in the transaction of the answer."""
        if request.origin == "worktree":
            grants.allow(store, request.asker, request.native_id, self._home.now())
        elif request.origin == "extension":
            digest, *rights = request.native_id.split()
            grants.drop_older(store, request.asker, digest)
            grants.allow(store, request.asker, digest, self._home.now(), rights)
        elif request.origin == "device":
            devices.confirm(store, request.asker, self._home.now() + CONFIRMED_FOR)


def own_client(*, is_app: bool) -> Client:
    """Return who this process is: its user, and for the app its terminal."""
    try:
        name = f"{getpass.getuser()}@{socket.gethostname()}"
    except (OSError, KeyError):
        name = "a user"
    if not is_app:
        return Client(name[:NAME_LIMIT])
    try:
        place = f"app on {os.ttyname(0).removeprefix('/dev/')}"
    except OSError:
        place = f"app, process {os.getpid()}"
    return Client(f"{name[: NAME_LIMIT - len(place) - 3]} ({place})", is_person=True)
