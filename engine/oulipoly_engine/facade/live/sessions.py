"""Live sessions: begin one, talk to it, steer it, and see what it does.

Every method blocks and may be called from any thread, but for what `LiveClient` says of itself.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live import orders
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
from oulipoly_engine.core.live.runtime_status import AnyStatus
from oulipoly_engine.core.live.runtimes import Runtime
from oulipoly_engine.core.live.sessions import LiveRequest, LiveSession, QueuedMessage, Turn, why_elsewhere
from oulipoly_engine.errors import LiveSessionNotFound, RequestRefused, RunnerError, TurnNotFound, UsageInvalid
from oulipoly_engine.facade.live import standing
from oulipoly_engine.facade.live.beginning import NewSession, ask_never_asked, choose_session
from oulipoly_engine.facade.live.branch_summaries import BranchSummaries
from oulipoly_engine.facade.live.connections import refuse_fenced
from oulipoly_engine.facade.live.standing import LiveStatus
from oulipoly_engine.facade.live.turn_results import (
    Look,
    TurnResult,
    read_result,
    wait_for_opening,
    wait_for_turn,
)
from oulipoly_engine.host.link import HostGone, HostUnreachable
from oulipoly_engine.process.signals import Guard
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.live import hosts
from oulipoly_engine.service.live.forks import PREFACE_LOSSES, describe_preface, find_end, find_refusal, prepare_fork
from oulipoly_engine.service.live.hosts import LiveClient, OrderRefused
from oulipoly_engine.service.live.protocol import COMPACTED, NAME_LIMIT, SESSION_ENDS, Client
from oulipoly_engine.service.live.session_host import LiveHost
from oulipoly_engine.service.live.session_queue import change_queue
from oulipoly_engine.store.live import live_events, live_queue, live_requests, live_sessions, unsent_texts

__all__ = ["HostGone", "HostUnreachable", "LiveClient", "LiveSessions", "LiveStatus", "NewSession", "OrderRefused"]

_AGAIN_S = 0.02
_TRIES = 3  # to give a message to hosts that end meanwhile


class Begun(Record):
    """A session that was begun."""

    session: LiveSession
    why: str  # it is this account's, or how a fork has its past
    turn_id: str | None = None
    losses: tuple[str, ...] = ()  # what of the past a fork does not have


class LiveSessions(BranchSummaries):
    """The live sessions of one user."""

    @property
    def name(self) -> str:
        """Return who we are, as answers to requests and control of a session are recorded."""
        return self._client.name

    def acting_as(self, name: str, *, is_person: bool, is_run: bool = False) -> LiveSessions:
        """Return the same in the name of a device of the server.

        is_person: what is sent takes control. is_run: it comes of a run of ours, which may not do all.
        """
        return LiveSessions(self._home, Client(name[:NAME_LIMIT], is_person), is_run=is_run)

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
            prompt = wish.prompt
            if prompt is not None and not wish.starts:  # else its host asks
                prompt = self._home.extensions.take_input(prompt, session)
            live_sessions.insert(store, session)
            if wish.starts:
                self._start_new(store, session, decision_json, wish.parent, has_prompt=wish.prompt is not None)
            elif prompt is not None:
                message = QueuedMessage(str(uuid.uuid4()), session.session_id, prompt, "queued", self._home.now())
                live_queue.append(store, message)
                return Begun(session, why, message.message_id)
        turn_id = None
        if wish.prompt is not None:
            turn_id = self._send(session, orders.Send(wish.prompt)).turn_id
        return Begun(session, why, turn_id)

    def set_model(self, identity: str, model: str, effort: str = "", patience_s: float = 10.0) -> bool:
        """Have later turns done by another model, and return whether the CLI has said yes to it by now.

        patience_s: how long it may take to answer; some say nothing. Raises UsageInvalid for a model that the runtime
        does not have, RequestRefused where the CLI refuses it.
        """
        self._home.refuse_if_read_only("choose a model")
        session = self.find(identity)
        with self._home.lend_store() as store:
            ask_never_asked(self._home, store, session.runtime_id)
        after = self._last_number(session.session_id)
        self.order(identity, orders.SetModel(model, effort), starts=True)

        def is_taken(event: ev.AnyEvent) -> bool:
            return isinstance(event, ev.SettingsChanged) and bool(event.model)

        return self._hear(session, after, "set_model", repr(model), is_taken, patience_s)

    # Finding ---------------------------------------------------------------------------------------------------------
    def list_sessions(self, limit: int = 200) -> tuple[LiveStatus, ...]:
        """Return the live sessions as the records have them, the one that changed last first."""
        with self._home.lend_store_to_read() as store:
            return standing.describe(store, self._home, live_sessions.list_sessions(store, limit))

    def describe(self, session_ids: Sequence[str], *, asks_hosts: bool = True) -> Mapping[str, LiveStatus]:
        """Return how sessions stand as `status` tells each, by their ids. asks_hosts: False: as the records tell."""
        with self._home.lend_store_to_read() as store:
            sessions = live_sessions.read_sessions(store, session_ids)
            statuses = standing.describe(store, self._home, sessions, self._client if asks_hosts else None)
        return {status.session.session_id: status for status in statuses}

    def hosts(self) -> tuple[LiveHost, ...]:
        """Return the processes that hold live sessions now."""
        return hosts.survey(self._home.paths)

    def end_all(self, patience_s: float = 10.0) -> tuple[str, ...]:
        """End the processes of all live sessions by force if need be, and return their sessions."""
        ended = []
        for host in self.hosts():
            with suppress(HostUnreachable, HostGone):
                with hosts.connect(self._home.paths, host.session_id, self._client) as client:
                    client.order(orders.Cancel())
                ended.append(host.session_id)
        deadline = time.monotonic() + patience_s
        while self.hosts() and time.monotonic() < deadline:
            time.sleep(_AGAIN_S)
        return tuple(ended)

    def status(self, identity: str) -> LiveStatus:
        """Return how one session stands, as its host says where one lives."""
        with self._home.lend_store_to_read() as store:
            return standing.describe(store, self._home, (self.find(identity),), self._client)[0]

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
    def send(
        self,
        identity: str,
        text: str,
        *,
        waits: bool = False,
        if_idle: bool = False,
        look: Look | None = None,
        turn_id: str = "",
    ) -> TurnResult:
        """Send a message: it begins a turn, or waits for the running one.

        A session that is being opened is waited for: only then is it known whether it is lost, which each face says.
        waits: until its turn is over. if_idle: raises TurnInFlight where it would have to wait. look: as `wait` has it.
        turn_id: of the turn, a UUID; empty: a new one. Raises RequestRefused where the session is lost.
        """
        self._home.refuse_if_read_only("send a message")
        order = orders.Send(text, if_idle=if_idle, turn_id=turn_id)
        return self._send(self.find_or_adopt(identity), order, waits=waits, look=look)

    def start(self, identity: str) -> None:
        """Start the process of a session where none lives. Raises RunnerError."""
        self._connect(self.find_or_adopt(identity)).close()

    def _send(
        self,
        session: LiveSession,
        order: orders.Send,
        *,
        waits: bool = False,
        look: Look | None = None,
    ) -> TurnResult:
        turn_id = order.turn_id or str(uuid.uuid4())
        last = self._last_number(session.session_id)
        asked = self._pending(session.session_id) if waits else ()
        for left in reversed(range(_TRIES)):
            try:
                client, told = self._give(session, replace(order, turn_id=turn_id))
                break
            except HostGone as error:  # it was ending when we came: did it take the message?
                with self._home.lend_store_to_read() as store:
                    taken = live_queue.find(store, turn_id)
                if taken is not None:
                    return self._result(session, turn_id, last)
                if not left:
                    raise RequestRefused(f"{self._why_ended(session.session_id)}; the message was not taken") from error
        with client:
            if not waits and not told.get("is_opening"):
                return TurnResult(turn_id, str(told["status"]))
            client.follow(last, deltas=False)
            if not waits:
                return self._wait_for_opening(client, session, turn_id, last)
            return self._wait(client, session, turn_id, last, look, asked)

    @property
    def streams_responses(self) -> bool:
        """Return whether an answer is printed while it comes."""
        return self._home.files.settings().stream_responses

    def wait(
        self,
        identity: str,
        turn_id: str,
        look: Look | None = None,
        *,
        after: int = 0,
        deltas: bool = False,
        patience_s: float | None = None,
    ) -> TurnResult:
        """Wait for the end of a turn and return how it stands then.

        look: is given what happens meanwhile, and requests that are open; True ends the wait. after: what happened up
        to the event with this number is not told. deltas: texts are told as they come. patience_s: until the wait ends
        anyway; None: it does not. Raises RequestRefused where the session is lost, and the message with it.
        """
        session = self.find(identity)
        asked = self._pending(session.session_id) if after else ()
        try:
            with hosts.reach(self._home.paths, session.session_id, self._client) as client:
                client.follow(after, deltas=deltas)
                return self._wait(client, session, turn_id, after, look, asked, patience_s)
        except HostUnreachable:
            return self._wait_for_next(session, turn_id, look, after, patience_s)

    def _wait_for_next(
        self, session: LiveSession, turn_id: str, look: Look | None, after: int, patience_s: float | None
    ) -> TurnResult:
        """Return how a turn stands whose process has ended, or wait on where a compaction has another one take over."""
        result = self._result(session, turn_id, after)
        if result.status != "queued" or result.message != COMPACTED or self._home.read_only:
            return result
        hosts.wait_for_next(self._home.paths, session.session_id)
        self._connect(session).close()  # whoever has compacted it may be gone
        return self.wait(session.session_id, turn_id, look, after=after, patience_s=patience_s)

    def _pending(self, session_id: str) -> tuple[LiveRequest, ...]:
        with self._home.lend_store_to_read() as store:
            return live_requests.pending(store, session_id)

    def _wait(
        self,
        client: LiveClient,
        session: LiveSession,
        turn_id: str,
        after: int,
        look: Look | None,
        asked_before: tuple[LiveRequest, ...] = (),
        patience_s: float | None = None,
    ) -> TurnResult:
        """Wait as `wait` does. asked_before: requests that were open before the event of the number `after`."""
        try:
            with self._home.lend_store_to_read() as store:
                if wait_for_turn(client, store, turn_id, look, asked_before, patience_s):
                    return read_result(store, session.session_id, turn_id, is_alive=True)
                asked = live_requests.pending(store, session.session_id)
                result = read_result(store, session.session_id, turn_id, is_alive=True)
        except HostGone:
            if not hosts.wait_for_end(self._home.paths, session.session_id):  # it lives, and has left us alone
                return self.wait(session.session_id, turn_id, look, after=after, patience_s=patience_s)
            return self._wait_for_next(session, turn_id, look, after, patience_s)
        return replace(result, status="waiting_approval", request_id=asked[0].request_id) if asked else result

    def _wait_for_opening(self, client: LiveClient, session: LiveSession, turn_id: str, after: int) -> TurnResult:
        try:
            with self._home.lend_store_to_read() as store:
                wait_for_opening(client, store, turn_id)
                return read_result(store, session.session_id, turn_id, is_alive=True)
        except HostGone:
            return self._result(session, turn_id, after)

    def _result(self, session: LiveSession, turn_id: str, after: int = 0) -> TurnResult:
        """Return how a turn stands whose session's process has left us, once that has ended."""
        is_alive = not hosts.wait_for_end(self._home.paths, session.session_id)
        with self._home.lend_store_to_read() as store:
            result = read_result(store, session.session_id, turn_id, is_alive=is_alive, after=after)
        if result.status == "queued" and not is_alive:
            now = self.find(session.session_id)
            if now.status == "fenced":
                self._take_back(turn_id)
                refuse_fenced(now)
        return result

    def _take_back(self, message_id: str) -> None:
        """Take a message back that nobody will hear: whoever sent it is told so."""
        with self._home.lend_store() as store:
            live_queue.change(store, message_id, "revoke")

    def queue(self, identity: str) -> tuple[QueuedMessage, ...]:
        """Return the messages of a session that wait."""
        with self._home.lend_store_to_read() as store:
            return live_queue.waiting(store, self.find(identity).session_id)

    def change_queue(self, identity: str, order: orders.ChangeQueue) -> tuple[QueuedMessage, ...]:
        """Edit, move or take back a waiting message, and return what waits."""
        session = self.find(identity)
        self._home.refuse_if_read_only("change what waits in a live session")
        self.require_right(session.session_id)
        try:
            with hosts.reach(self._home.paths, session.session_id, self._client) as client:
                client.order(order)
        except OrderRefused as error:
            if error.slug != SESSION_ENDS:
                raise
            self._change_kept_queue(session, order)
        except HostUnreachable:
            self._change_kept_queue(session, order)
        except HostGone:  # it may have done it, and not have come to say so
            self._change_kept_queue(session, order, may_be_done=True)
        return self.queue(session.session_id)

    def _change_kept_queue(self, session: LiveSession, order: orders.ChangeQueue, *, may_be_done: bool = False) -> None:
        """Change the queue of a session without a process, once one that is ending has ended."""
        if not hosts.wait_for_end(self._home.paths, session.session_id):
            raise RequestRefused("the session's process does not answer: try it again")
        if order.act == "edit":
            order = replace(order, text=self._home.extensions.take_input(order.text, session))
        with self._home.lend_store() as store:
            message = live_queue.find(store, order.message_id)
            is_taken_back = order.act == "remove" and message is not None and message.state == "revoked"
            if not (may_be_done and is_taken_back):
                change_queue(store, session.session_id, order)

    def follow(self, identity: str, after: int = 0, *, deltas: bool = True) -> Iterator[Numbered]:
        """Yield the events after a number and all that come, until the session's process has ended."""
        session = self.find(identity)
        try:
            with hosts.connect(self._home.paths, session.session_id, self._client) as client:
                client.follow(after, deltas=deltas)
                client.post(orders.AskClients(tell=True))
                while True:
                    for numbered in client.wait(3600.0):
                        after = numbered.seq
                        yield numbered
        except (HostUnreachable, HostGone):
            while page := self.events_after(session.session_id, after):
                yield from page
                after = page[-1].seq

    def fork(
        self, identity: str, *, at_turn: str = "", runtime: str = "", title: str = "", folder: Path | None = None
    ) -> Begun:
        """Begin another session with the past of one, to a turn, an entry, or its end. Raises RunnerError.

        folder: where the fork of an imported session works; None: where that was. Others work where they were.
        """
        self._home.refuse_if_read_only("fork a live session")
        source = self._find_imported(identity, runtime, folder) or self.find_or_adopt(identity)
        self._home.extensions.guard_live("before_fork", source, entry=at_turn)
        with self._home.lend_store() as store:
            session, why, losses = prepare_fork(
                store, source, self.catalogue(), self._home.now(), at_turn, runtime, title
            )
            live_sessions.insert(store, session)
            self._start_new(store, session)
            refusal = ""
            if session.opening.fork_of:
                self._wait_for_opened(session.session_id)
                refusal = find_refusal(store, self.find(session.session_id))
            if refusal:
                self._start(store, self.find(session.session_id))
                why, losses = describe_preface(refusal), PREFACE_LOSSES
        return Begun(session, why, losses=losses)

    def _find_imported(self, identity: str, runtime: str, folder: Path | None) -> LiveSession | None:
        """Return the imported session that is meant, to be forked to a runtime; None: another one is meant."""
        target = self.catalogue().find(runtime) if runtime else None
        if target is None:
            return None
        try:
            self.find(identity)
        except LiveSessionNotFound:
            from oulipoly_engine.facade.live.recorded import find_imported  # noqa: PLC0415 - hardly any is

            with self._home.lend_store_to_read() as store:
                return find_imported(store, identity, target, folder, self._home.now())
        return None

    def find_leaf(self, identity: str) -> str | None:
        """Return the id of the entry that a session goes on behind; None: nothing of it is stored."""
        session = self.find(identity)
        with self._home.lend_store_to_read() as store:
            end = find_end(store, session)
        return None if end is None else end.entry_id

    # Recovery --------------------------------------------------------------------------------------------------------
    def left_turns(self) -> tuple[LeftTurn, ...]:
        """Return the turns that were under way when their session's process ended."""
        return tuple(_describe_left(turn, session, None) for turn, session in self._left())

    def _left(self) -> list[tuple[Turn, LiveSession]]:
        living = {host.session_id for host in hosts.survey(self._home.paths)}
        with self._home.lend_store_to_read() as store:
            left = [turn for turn in live_sessions.open_turns(store) if turn.session_id not in living]
            found = {turn.session_id: live_sessions.find(store, turn.session_id) for turn in left}
        pairs = [(turn, found[turn.session_id][0]) for turn in left if found[turn.session_id]]
        return [(turn, session) for turn, session in pairs if session.status != "fenced"]

    def recover(self, statuses: Mapping[str, AnyStatus]) -> tuple[Plan, ...]:
        """Return what can be done for each turn that was left. statuses: of the runtimes, by their ids."""
        left = self._left()
        find = self.catalogue().find if left else None
        return plan_recovery((_describe_left(turn, session, find) for turn, session in left), statuses)

    def resume_turn(self, turn_id: str, statuses: Mapping[str, AnyStatus]) -> TurnResult:
        """Have the agent go on with a turn that was left, and return how that has begun.

        Raises RequestRefused when it cannot; the turn stays as it is then.
        """
        plans = [plan for plan in self.recover(statuses) if turn_id and plan.turn.turn_id.startswith(turn_id)]
        if len(plans) != 1:
            with self._home.lend_store_to_read() as store:
                known = live_sessions.find_turn(store, turn_id)
            if known is not None:
                refuse_fenced(self.find(known.session_id))
            state = "" if known is None else f": it is {known.status}"
            raise TurnNotFound(f"no turn {turn_id!r} was left{state}; `agents recover` lists those that were")
        plan = plans[0]
        if not isinstance(plan, Recoverable):
            steps = "; ".join(plan.resume_requirements) if isinstance(plan, Blocked) else ""
            raise RequestRefused(f"{plan.reason}: {steps}" if steps else plan.reason)
        with self._home.lend_store_to_read() as store:
            left = live_sessions.find_turn(store, plan.turn.turn_id)
            is_unsure = left is not None and left.status == "starting"
            unsure = unsent_texts.read(store, left.turn_id, left.input) if left is not None and is_unsure else ""
        # The opening ends the one that was left.
        text = resume_text(unsure)
        session = self.find(plan.turn.session_id)
        order = orders.Send(text, kind="recovery", turn_id=self._put_first(session, text))
        try:
            result = self._send(session, order)
        except RunnerError:
            self._take_back(order.turn_id)
            raise
        if result.status == "queued" and not hosts.is_held(self._home.paths, plan.turn.session_id):
            self._take_back(result.turn_id)  # else it would come beside the next attempt
            why = result.message or "its session could not be opened"
            raise RequestRefused(
                f"the turn does not go on: {why}; `agents turn resume {plan.turn.turn_id}` tries again"
            )
        return result

    def _put_first(self, session: LiveSession, text: str) -> str:
        """Have a message that goes on with a turn wait before all others, so that a new host begins with it.

        Returns its id; that of an earlier attempt which was cut off, where such a message waits.
        """
        with self._home.lend_store() as store, store.write():
            for message in live_queue.waiting(store, session.session_id):
                if message.note == "recovery":
                    return message.message_id
            first = QueuedMessage(str(uuid.uuid4()), session.session_id, text, "queued", self._home.now(), "recovery")
            if not hosts.is_held(self._home.paths, session.session_id):  # else that one takes it
                live_queue.append(store, first, is_first=True)
        return first.message_id


def _describe_left(turn: Turn, session: LiveSession, find: Callable[[str], Runtime | None] | None) -> LeftTurn:
    """Return a turn that was left. find: gives the runtime of an id, for whether it is still the session's."""
    status: BindingStatus = "starting" if turn.status == "starting" else "running"
    runtime = None if find is None else find(session.runtime_id)
    elsewhere = "" if runtime is None else why_elsewhere(session, runtime)
    return LeftTurn(turn.turn_id, session.session_id, session.runtime_id, status, elsewhere=elsewhere, input=turn.input)
