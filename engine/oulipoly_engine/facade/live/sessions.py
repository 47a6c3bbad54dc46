"""Live sessions: begin one, talk to it, steer it, and see what it does.

Every method blocks and may be called from any thread, but for what `LiveClient` says of itself.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.events import Numbered
from oulipoly_engine.core.live.permissions import PROFILES
from oulipoly_engine.core.live.recovery import (
    BindingStatus,
    Blocked,
    LeftTurn,
    Plan,
    Recoverable,
    plan_recovery,
    resume_text,
)
from oulipoly_engine.core.live.requests import SessionIsOneshot
from oulipoly_engine.core.live.sessions import LiveSession, QueuedMessage, Turn, why_elsewhere
from oulipoly_engine.errors import AccountUnusable, RequestRefused, RunnerError, UsageInvalid
from oulipoly_engine.facade.home import find_only
from oulipoly_engine.facade.live import standing
from oulipoly_engine.facade.live.beginning import NewSession, choose_session
from oulipoly_engine.facade.live.requests import LiveRequests
from oulipoly_engine.facade.live.standing import LiveStatus
from oulipoly_engine.host.link import HostGone, HostUnreachable
from oulipoly_engine.process.signals import Guard
from oulipoly_engine.records import Record
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.live.hosts import LiveClient, OrderRefused
from oulipoly_engine.service.live.launch import LiveLauncher, options_of
from oulipoly_engine.service.live.protocol import NAME_LIMIT, SESSION_ENDS, Client
from oulipoly_engine.service.live.session_queue import change_queue
from oulipoly_engine.store.live import live_events, live_queue, live_sessions

if TYPE_CHECKING:
    from oulipoly_engine.core.live.catalogue import Catalogue
    from oulipoly_engine.core.live.runtime_status import AnyStatus
    from oulipoly_engine.core.live.runtimes import Runtime
    from oulipoly_engine.core.runs.markers import ParentRef
    from oulipoly_engine.service.live.session_host import LiveHost
    from oulipoly_engine.store.base.db import Store

__all__ = ["HostGone", "HostUnreachable", "LiveClient", "LiveSessions", "LiveStatus", "NewSession", "OrderRefused"]

_AGAIN_S = 0.02
_START_S = 30.0  # for the host of another process, which is coming or going
_TRIES = 3  # to give a message to hosts that end meanwhile
_TURN_END_S = 0.5  # between two looks at whether a session still lives while its turn is waited for


class Begun(Record):
    """A session that was begun."""

    session: LiveSession
    why: str  # it is this account's, or how a fork has its past
    turn_id: str | None = None
    losses: tuple[str, ...] = ()  # what of the past a fork does not have


class TurnResult(Record):
    """How a turn stands, or ended."""

    turn_id: str
    status: str  # queued, revoked, starting, running, completed, failed, interrupted, blocked, waiting_approval
    reply: str | None = None
    message: str = ""
    code: str = ""


class LiveSessions(LiveRequests):
    """The live sessions of one user."""

    @property
    def name(self) -> str:
        """Return who we are, as answers to requests and control of a session are recorded."""
        return self._client.name

    def acting_as(self, name: str, *, is_person: bool) -> LiveSessions:
        """Return the same in the name of a device of the server. is_person: what is sent takes control."""
        return LiveSessions(self._home, Client(name[:NAME_LIMIT], is_person))

    # Beginning -------------------------------------------------------------------------------------------------------
    def begin(self, wish: NewSession, guard: Guard | None = None) -> Begun:
        """Begin a session on the best account of its pool. Raises RunnerError."""
        self._home.refuse_if_read_only("begin a live session")
        if wish.profile not in PROFILES:
            raise UsageInvalid(f"there is no permission profile {wish.profile!r}: {', '.join(PROFILES)}")
        folder = wish.folder.absolute()
        if not folder.is_dir():
            raise UsageInvalid(f"there is no folder {folder}")
        with self._home.lend_store() as store:
            session, decision_json, why = choose_session(
                self._home, self.catalogue(), store, wish, folder.resolve(), guard or Guard()
            )
            live_sessions.insert(store, session)
            if wish.starts:
                self._start_new(store, session, decision_json, wish.parent)
            elif wish.prompt is not None:
                message = QueuedMessage(str(uuid.uuid4()), session.session_id, wish.prompt, "queued", self._home.now())
                live_queue.append(store, message)
                return Begun(session, why, message.message_id)
        turn_id = None
        if wish.prompt is not None:
            turn_id = self._send(session, {"text": wish.prompt}).turn_id
        return Begun(session, why, turn_id)

    def _start_new(
        self, store: Store, session: LiveSession, decision_json: str | None = None, parent: ParentRef | None = None
    ) -> None:
        """Start the first process of a session; where that fails the session goes: nobody has used it."""
        try:
            self._start(store, session, decision_json, parent)
        except RunnerError:
            live_sessions.drop_unused(store, session.session_id)
            raise

    def _start(
        self, store: Store, session: LiveSession, decision_json: str | None = None, parent: ParentRef | None = None
    ) -> LiveHost | None:
        catalogue = self.catalogue()
        runtime = catalogue.find(session.runtime_id)
        if runtime is None:
            raise AccountUnusable(
                f"the runtime {session.runtime_id!r} of this session is not configured any more: add it again, or fork "
                f"the session to another one with `agents session fork {session.session_id} --to RUNTIME`"
            )
        if why := why_elsewhere(session, runtime):
            raise AccountUnusable(
                f"{why}: correct that in config.toml, or fork the session with `agents session fork "
                f"{session.session_id}`"
            )
        if session.lifecycle == "oneshot" and session.generation:
            raise SessionIsOneshot("a one-shot session takes one message, and has had it; fork it to go on")
        if session.status == "fenced":
            raise RequestRefused(
                f"this session cannot go on: {session.status_reason}; "
                f"`agents session fork {session.session_id}` begins another one with what was said"
            )
        launcher = LiveLauncher(store, self._home.files.accounts(), self._home.paths, self._home.clock)
        cli = catalogue.clis.get(runtime.id)
        return launcher.start(session, runtime, cli, decision_json=decision_json, parent=parent)

    def catalogue(self) -> Catalogue:
        """Return the runtimes as they are configured."""
        from oulipoly_engine.facade.live.catalogue import catalogue_of  # noqa: PLC0415 - the first to ask pays

        return catalogue_of(self._home)

    # Finding ---------------------------------------------------------------------------------------------------------
    def find(self, identity: str) -> LiveSession:
        """Return the session whose id, or whose CLI's id, begins so. Raises RequestRefused."""
        with self._home.lend_store_to_read() as store:
            found = live_sessions.find(store, identity) if identity else ()
        none = f"there is no live session {identity!r}: `agents session list --live` lists them"
        return find_only(found, lambda one: one.session_id, identity, "live sessions", RequestRefused(none))

    def list_sessions(self, limit: int = 200, *, asks_hosts: bool = False) -> tuple[LiveStatus, ...]:
        """Return the live sessions, the one that changed last first. asks_hosts: as `status` tells each."""
        with self._home.lend_store_to_read() as store:
            found = live_sessions.list_sessions(store, limit)
            return standing.describe(store, self._home.paths, found, self._client if asks_hosts else None)

    def hosts(self) -> tuple[LiveHost, ...]:
        """Return the processes that hold live sessions now."""
        return hosts.survey(self._home.paths)

    def end_all(self, patience_s: float = 10.0) -> tuple[str, ...]:
        """End the processes of all live sessions by force if need be, and return their sessions."""
        ended = []
        for host in self.hosts():
            with suppress(HostUnreachable, HostGone):
                with hosts.connect(self._home.paths, host.session_id, self._client) as client:
                    client.order("cancel")
                ended.append(host.session_id)
        deadline = time.monotonic() + patience_s
        while self.hosts() and time.monotonic() < deadline:
            time.sleep(_AGAIN_S)
        return tuple(ended)

    def status(self, identity: str) -> LiveStatus:
        """Return how one session stands, as its host says where one lives."""
        with self._home.lend_store_to_read() as store:
            return standing.describe(store, self._home.paths, (self.find(identity),), self._client)[0]

    def clients(self, session_id: str) -> ev.ClientsChanged:
        """Return who has control of a session and who is attached; nobody where no process of it lives."""
        return standing.ask_clients(self._home.paths, session_id, self._client)

    def events(self, identity: str, before: int | None = None, limit: int = 200) -> tuple[Numbered, ...]:
        """Return the last events of a session before a number, oldest first; deltas are not kept."""
        with self._home.lend_store_to_read() as store:
            return live_events.before(store, self.find(identity).session_id, before, limit)

    def events_after(self, session_id: str, seq: int, limit: int = 1000) -> tuple[Numbered, ...]:
        """Return the events after a number, oldest first."""
        with self._home.lend_store_to_read() as store:
            return live_events.after(store, session_id, seq, limit)

    def last_number(self, identity: str) -> int:
        """Return the number of the last event of a session that is kept; 0: there is none."""
        return self._last_number(self.find(identity).session_id)

    def turns(self, identity: str) -> tuple[Turn, ...]:
        """Return the turns of a session, oldest first."""
        with self._home.lend_store_to_read() as store:
            return live_sessions.turns_of(store, self.find(identity).session_id)

    # Talking ---------------------------------------------------------------------------------------------------------
    def connect(self, identity: str, *, starts: bool = False) -> LiveClient:
        """Return a connection to a session's host. starts: one is started where none lives.

        Raises HostUnreachable where none lives, or RunnerError when none can be started.
        """
        session = self.find(identity)
        return self._connect(session) if starts else hosts.connect(self._home.paths, session.session_id, self._client)

    def _connect(self, session: LiveSession) -> LiveClient:
        """Return a connection to a session's host, which is started where none lives. Raises RunnerError."""
        deadline = time.monotonic() + _START_S
        while True:
            try:
                client = hosts.connect(self._home.paths, session.session_id, self._client)
            except HostUnreachable:
                self._home.refuse_if_read_only("start a live session")
            else:
                if not self._is_outdated(session, client):
                    return client
                _wait_for_end(client)
            with self._home.lend_store() as store:
                host = self._start(store, self.find(session.session_id))
            try:
                return hosts.reach(self._home.paths, session.session_id, self._client)
            except HostUnreachable as error:
                # The host of another process may just have ended; one of ours has said why.
                if host is not None or time.monotonic() > deadline:
                    raise RequestRefused(self._why_ended(session.session_id)) from error

    def _is_outdated(self, session: LiveSession, client: LiveClient) -> bool:
        """Have a host end whose runtime is configured otherwise now, unless a turn runs. Returns whether it ends."""
        host, runtime = hosts.describe(self._home.paths, session.session_id), self.catalogue().find(session.runtime_id)
        if host is None or runtime is None or not runtime.is_enabled or why_elsewhere(session, runtime):
            return False
        if host.options in ("", options_of(session, runtime)) or self._home.read_only:
            return False
        try:
            client.order("close", {"if_idle": True})
        except OrderRefused:
            return False
        except HostGone:
            return True
        return True

    def _why_ended(self, session_id: str) -> str:
        end = self._last_end(session_id)
        why = end.message if end is not None else "nobody knows why"
        return f"the session's process has ended: {why}"

    def _give(self, session: LiveSession, verb: str, data: Mapping[str, Any]) -> tuple[LiveClient, dict[str, Any]]:
        """Have a session's host, started where none lives, do something; the caller closes the connection."""
        while True:
            client = self._connect(session)
            try:
                return client, client.order(verb, data)
            except OrderRefused as error:
                if error.slug != SESSION_ENDS:
                    client.close()
                    raise
                _wait_for_end(client)  # the next host takes it
            except BaseException:
                client.close()
                raise

    def order(self, identity: str, verb: str, data: Mapping[str, Any] | None = None, *, starts: bool) -> dict[str, Any]:
        """Have a session's host do something. starts: one is started where none lives. Raises RunnerError."""
        self._home.refuse_if_read_only(f"{verb} a live session".replace("_", " "))
        try:
            if starts:
                client, told = self._give(self.find(identity), verb, data or {})
                client.close()
                return told
            with self.connect(identity) as client:
                return client.order(verb, data)
        except HostUnreachable as error:
            raise RequestRefused("this session has no process now: nothing runs in it") from error

    def send(self, identity: str, text: str, *, waits: bool = False, if_idle: bool = False) -> TurnResult:
        """Send a message: it begins a turn, or waits for the running one. waits: until its turn is over.

        if_idle: raises TurnInFlight where it would have to wait.
        """
        self._home.refuse_if_read_only("send a message")
        return self._send(self.find(identity), {"text": text, "if_idle": if_idle}, waits=waits)

    def start(self, identity: str) -> None:
        """Start the process of a session where none lives. Raises RunnerError."""
        self._connect(self.find(identity)).close()

    def _send(self, session: LiveSession, data: Mapping[str, Any], *, waits: bool = False) -> TurnResult:
        turn_id = str(uuid.uuid4())
        last = self._last_number(session.session_id)
        for left in reversed(range(_TRIES)):
            try:
                client, told = self._give(session, "send", {**data, "turn_id": turn_id})
                break
            except HostGone as error:  # it was ending when we came: did it take the message?
                with self._home.lend_store_to_read() as store:
                    taken = live_queue.find(store, turn_id)
                if taken is not None:
                    return self._result(session.session_id, turn_id)
                if not left:
                    raise RequestRefused(f"{self._why_ended(session.session_id)}; the message was not taken") from error
        with client:
            if not waits:
                return TurnResult(turn_id, str(told["status"]))
            client.follow(last, deltas=False)
            return self._wait(client, session.session_id, turn_id)

    def wait(self, identity: str, turn_id: str) -> TurnResult:
        """Wait for the end of a turn and return it."""
        session = self.find(identity)
        try:
            with hosts.connect(self._home.paths, session.session_id, self._client) as client:
                client.follow(0, deltas=False)
                return self._wait(client, session.session_id, turn_id)
        except HostUnreachable:
            return self._result(session.session_id, turn_id)

    def _wait(self, client: LiveClient, session_id: str, turn_id: str) -> TurnResult:
        try:
            while True:
                for numbered in client.wait(_TURN_END_S):
                    match numbered.event:
                        case ev.TurnEnded() if numbered.event.turn_id == turn_id:
                            return self._result(session_id, turn_id)
                        case ev.QueueChanged() if turn_id not in [one[0] for one in numbered.event.messages]:
                            result = self._result(session_id, turn_id)
                            if result.status == "revoked":
                                return result
        except HostGone:
            return self._result(session_id, turn_id)

    def _result(self, session_id: str, turn_id: str) -> TurnResult:
        with self._home.lend_store_to_read() as store:
            turn = live_sessions.find_turn(store, turn_id)
            message = live_queue.find(store, turn_id) if turn is None else None
        failed = self._last_end(session_id)
        if message is not None and message.state == "revoked":
            return TurnResult(turn_id, "revoked", None, message.note or "the message was taken back")
        if turn is None:
            return TurnResult(turn_id, "queued", None, "" if failed is None else failed.message)
        why = turn.message or (failed.message if failed is not None and turn.ended_at is None else "")
        return TurnResult(turn_id, turn.status, turn.reply or None, why, turn.code)

    def _last_end(self, session_id: str) -> ev.SessionFailed | ev.SessionClosed | None:
        """Return why the last process of a session has ended, if that is among the last things that it said."""
        with self._home.lend_store_to_read() as store:
            last = live_events.before(store, session_id, None, 20)
        ends = [one.event for one in last if isinstance(one.event, ev.SessionFailed | ev.SessionClosed)]
        return ends[-1] if ends else None

    def _last_number(self, session_id: str) -> int:
        with self._home.lend_store_to_read() as store:
            return live_events.last_number(store, session_id)

    def change_queue(self, identity: str, data: Mapping[str, Any]) -> tuple[QueuedMessage, ...]:
        """Edit, move or take back a waiting message (`act`: edit, move, remove), and return what waits."""
        session = self.find(identity)
        if data.get("act"):
            try:
                self.order(identity, "queue", data, starts=False)
            except RequestRefused as error:
                if not isinstance(error.__cause__, HostUnreachable):
                    raise
                with self._home.lend_store() as store:
                    change_queue(store, session.session_id, data)
        with self._home.lend_store_to_read() as store:
            return live_queue.waiting(store, session.session_id)

    def follow(self, identity: str, after: int = 0, *, deltas: bool = True) -> Iterator[Numbered]:
        """Yield the events after a number and all that come, until the session's process has ended."""
        session = self.find(identity)
        try:
            with hosts.connect(self._home.paths, session.session_id, self._client) as client:
                client.follow(after, deltas=deltas)
                client.post("clients", {"tell": True})
                while True:
                    for numbered in client.wait(3600.0):
                        after = numbered.seq
                        yield numbered
        except (HostUnreachable, HostGone):
            while page := self.events_after(session.session_id, after):
                yield from page
                after = page[-1].seq

    def fork(self, identity: str, *, at_turn: str = "", runtime: str = "", title: str = "") -> Begun:
        """Begin another session with the past of one, to a turn or to its end. Raises RunnerError."""
        from oulipoly_engine.service.live.forks import prepare_fork  # noqa: PLC0415 - only a fork needs it

        self._home.refuse_if_read_only("fork a live session")
        source = self.find(identity)
        with self._home.lend_store() as store:
            session, why, losses = prepare_fork(
                store, source, self.catalogue(), self._home.now(), at_turn, runtime, title
            )
            live_sessions.insert(store, session)
            self._start_new(store, session)
        return Begun(session, why, losses=losses)

    # Recovery --------------------------------------------------------------------------------------------------------
    def left_turns(self) -> tuple[LeftTurn, ...]:
        """Return the turns that were under way when their session's process ended."""
        return tuple(_describe_left(turn, session, None) for turn, session in self._left())

    def _left(self) -> list[tuple[Turn, LiveSession]]:
        living = {host.session_id for host in hosts.survey(self._home.paths)}
        with self._home.lend_store_to_read() as store:
            left = [turn for turn in live_sessions.open_turns(store) if turn.session_id not in living]
            found = {turn.session_id: live_sessions.find(store, turn.session_id) for turn in left}
        return [(turn, found[turn.session_id][0]) for turn in left if found[turn.session_id]]

    def recover(self, statuses: Mapping[str, AnyStatus]) -> tuple[Plan, ...]:
        """Return what can be done for each turn that was left. statuses: of the runtimes, by their ids."""
        left = self._left()
        find = self.catalogue().find if left else None
        return plan_recovery((_describe_left(turn, session, find) for turn, session in left), statuses)

    def resume_turn(self, turn_id: str, statuses: Mapping[str, AnyStatus]) -> TurnResult:
        """Have the agent go on with a turn that was left. Raises RequestRefused when it cannot."""
        plans = [plan for plan in self.recover(statuses) if turn_id and plan.turn.turn_id.startswith(turn_id)]
        if len(plans) != 1:
            with self._home.lend_store_to_read() as store:
                known = live_sessions.find_turn(store, turn_id)
            state = "" if known is None else f": it is {known.status}"
            raise RequestRefused(f"no turn {turn_id!r} was left{state}; `agents recover` lists those that were")
        plan = plans[0]
        if not isinstance(plan, Recoverable):
            steps = "; ".join(plan.resume_requirements) if isinstance(plan, Blocked) else ""
            raise RequestRefused(f"{plan.reason}: {steps}" if steps else plan.reason)
        with self._home.lend_store_to_read() as store:
            left = live_sessions.find_turn(store, plan.turn.turn_id)
        unsure = left.input if left is not None and left.status == "starting" else ""
        # The opening ends the one that was left.
        return self._send(self.find(plan.turn.session_id), {"text": resume_text(unsure), "kind": "recovery"})


def _wait_for_end(client: LiveClient) -> None:
    """Wait until a host that is ending has ended."""
    with client, suppress(HostGone):
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            client.wait(_TURN_END_S)


def _describe_left(turn: Turn, session: LiveSession, find: Callable[[str], Runtime | None] | None) -> LeftTurn:
    """Return a turn that was left. find: gives the runtime of an id, for whether it is still the session's."""
    status: BindingStatus = "starting" if turn.status == "starting" else "running"
    runtime = None if find is None else find(session.runtime_id)
    elsewhere = "" if runtime is None else why_elsewhere(session, runtime)
    return LeftTurn(turn.turn_id, session.session_id, session.runtime_id, status, elsewhere=elsewhere)
