"""The turns of one live session: the gate that lets one through at a time, the queue before it, and what people order.

Everything is written to the store before it is told to anybody. The driver says what happens; what is ordered goes
through the driver. Nothing here reads a descriptor or waits.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from oulipoly_engine.clock import Clock
from oulipoly_engine.core.commands.needs import Need
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live import failures, orders, requests, states
from oulipoly_engine.core.live.entries import begin_of_ids
from oulipoly_engine.core.live.retry import Policy
from oulipoly_engine.core.live.sessions import LiveSession, QueuedMessage, Turn, first_line
from oulipoly_engine.core.sessions import compaction
from oulipoly_engine.core.sessions.compaction import Reason, Rules
from oulipoly_engine.core.text.redact import redact
from oulipoly_engine.core.worktrees.event_secrets import EventCleaner, clean_record
from oulipoly_engine.drivers.base import (
    NAME_LIMIT,
    REVIEW_KINDS,
    STEER_LIMIT,
    Driver,
    NotSupported,
    Resolution,
    ReviewTarget,
)
from oulipoly_engine.errors import RequestRefused, UsageInvalid
from oulipoly_engine.records import replace
from oulipoly_engine.service.extensions.session_hooks import HookAnswer, SessionHooks
from oulipoly_engine.service.live.session_context import Context
from oulipoly_engine.service.live.session_events import SessionEvents, merge_deltas
from oulipoly_engine.service.live.session_queue import change_queue, check_text, describe_message
from oulipoly_engine.service.live.session_requests import SessionRequests
from oulipoly_engine.service.live.turn.given_messages import Echoes, SteeringMessages
from oulipoly_engine.service.live.turn.models import Models
from oulipoly_engine.service.live.turn.open_items import OpenItems
from oulipoly_engine.service.live.turn.retries import Retries
from oulipoly_engine.service.live.turn.session_record import SessionRecord
from oulipoly_engine.service.live.turn.turn_run import Process, TurnRun
from oulipoly_engine.service.worktrees.snapshot.keeper import FileKeeper
from oulipoly_engine.store.agents.work_of_session import note_work_of_session
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_queue, live_sessions, own_entries, unsent_texts
from oulipoly_engine.store.quota import quotas
from oulipoly_engine.store.sessions import notes

_RULES = Rules()
_NO_RETRY = Policy(attempts=0)
_NOT_SENT = "it was stopped before it was tried again"
_ONLY_SAYING = frozenset(("user_message", "agent_message", "reasoning", "plan"))  # kinds of items that change no file


class SessionTurns:
    """What one session does."""

    def __init__(
        self,
        store: Store,
        session: LiveSession,
        driver: Driver,
        process: Process,
        clock: Clock,
        tell: Callable[[ev.Numbered], None],
        rules: Rules = _RULES,
        files: FileKeeper | None = None,
        retry: Policy = _NO_RETRY,
        hooks: SessionHooks | None = None,
    ) -> None:
        """tell: is given each event once it is kept. files: keeps those of the checkout; None: nobody does."""
        self._hooks = hooks
        self._asked_hooks: set[str] = set()  # requests of the CLI that extensions have not answered
        self._retries = Retries(retry, clock.monotonic)
        self._files = files or FileKeeper(None, clock)
        self.needs_compaction = False  # messages wait for one that nobody has begun
        self._store, self._driver, self._clock = store, driver, clock
        self._record = SessionRecord(store, session, clock)
        self.policy = ""  # in force, in the CLI's own words, as it has told it last
        self.is_open = self.is_ending = False
        self.failure: ev.SessionFailed | None = None
        self.turn: Turn | None = None
        self._cleaner = EventCleaner()
        self._last_end: ev.TurnEnded | None = None
        self._timed_out = ""  # why the running turn is being interrupted
        self._echoes = Echoes()
        self._items = OpenItems()
        self.usage = ev.Usage()
        self._events = SessionEvents(store, session.session_id, clock, tell)
        self._say = self._events.say
        self._models = Models(store, self._record, driver, clock)
        self._context = Context(store, self._record, driver, rules, self._say)
        self._steering = SteeringMessages(self._say)
        self.requests = SessionRequests(store, session.session_id, driver, clock, self._say)
        self._run = TurnRun(store, self._record, process, clock)
        self._unwritten = bytearray()  # what the driver wants written, until it is kept what that is for
        self._told_queue = {one.message_id for one in live_queue.waiting(store, session.session_id)}

    @property
    def session(self) -> LiveSession:
        """Return the session as it is kept."""
        return self._record.session

    # What the CLI says ---------------------------------------------------------------------------------------------
    def take_over(self) -> None:
        """Settle what a host that died has left open; its turns end when the session is open again."""
        self.requests.take_over()
        self._forget_steers()
        live_queue.forget_unsent(self._store)
        self._events.tell()

    def take(self) -> bytes:
        """Do what the driver's events ask for and return what is to be written to the CLI, before `tell` is called."""
        events = self._take_events()
        if all(isinstance(event, ev.ItemDelta) for event in events) and not self._events.unkept:
            for event in merge_deltas(events):  # a flood: nothing of it is kept
                self._apply(event)
        else:
            with self._store.write():  # one transaction for all that came together
                self._keep(events)
        data = bytes(self._unwritten)
        self._unwritten.clear()
        return data

    def _take_events(self) -> Sequence[ev.AnyEvent]:
        """Return what the driver tells; what it wants written waits for `take`."""
        output = self._driver.take()
        self._unwritten += output.data
        return output.events

    def _keep(self, events: Sequence[ev.AnyEvent]) -> None:
        """Do what events ask for, and what follows from that, and write it down. Runs inside a write transaction."""
        while events:
            for event in merge_deltas(events):
                self._apply(event)
            self._run_next()
            events = self._take_events()
        self._events.keep()

    def tell(self) -> None:
        """Tell the clients what has happened, once the CLI has what it waits for."""
        self._events.tell()

    def _apply(self, told: ev.AnyEvent) -> None:
        if isinstance(told, ev.ItemEnded) and (rest := self._cleaner.take_rest(told.item.id)):
            self._say(self._note_item(ev.ItemDelta(told.item.id, rest, told.item.kind)))
        if self._echoes.has(told):
            if isinstance(told, ev.ItemEnded):
                self._steering.take_echo(redact(told.item.text))
            return
        event = self._cleaner.clean(told)
        match event:
            case None:
                return
            case ev.SessionOpened():
                if not self.is_open:
                    self._end_left_turns("its process ended before it did, and the session went on")
                self.is_open = True
                self._models.model = event.model or self._models.model
                self.policy = event.policy or self.policy
                able = sorted(name for name, can in msgspec.to_builtins(self._driver.capabilities).items() if can)
                self._record.change_opening(capabilities=tuple(able))
                self._know(event.native_id)
            case ev.NativeIdChanged():
                self._know(event.native_id)
            case ev.SessionFailed():
                if self.failure is not None:
                    return  # the first one is the cause
                if event.reason == failures.NEEDS_AUTH:
                    way_out = f"log in with `agents runtime login {self.session.runtime_id}`"
                    event = replace(event, message=f"{event.message}: {way_out}")
                self.failure = event
                is_lost = event.reason in (failures.THREAD_LOST, failures.THREAD_MISMATCH)
                is_lost = is_lost and not self._driver.opening.fork  # a fork can begin with a preface
                self._record.change(status="fenced" if is_lost else self.session.status, status_reason=event.message)
                if is_lost:
                    self._end_left_turns("its process ended before it did, and its session cannot be opened again")
            case ev.SettingsChanged():
                self._models.model = event.model or self._models.model
                self.policy = event.policy or self.policy
            case ev.OrderFailed(order="set_model") if self._models.is_chosen:
                self._models.take_back()
            case ev.OrderFailed(order=order) if self._ordered is not None and self._ordered.kind == order:
                self.turn = None
            case ev.NameChanged(name=name) if name == self.session.title:
                return  # the CLI says again what it was told
            case ev.NameChanged():
                self._record.change(title=event.name)
            case ev.TurnStarted():
                self._begin(event)
                return
            case ev.TurnEnded():
                self._end(event)
                return
            case ev.RequestOpened():
                self._retries.note(event)
                self._open_request(event)
                return
            case ev.RequestResolved():
                self._asked_hooks.discard(event.native_id)
                self.requests.take_back(event)
                return
            case ev.SteerSettled():
                self._retries.note(event)
                self._settle_steer(event)
                return
            case ev.UsageUpdated():
                self.usage = event.usage
            case _:
                pass
        self._say(self._note_item(event))

    def _end_left_turns(self, text: str) -> None:
        """End the turns that another process of the CLI has left: only now is it sure how the session goes on."""
        for turn in live_sessions.open_turns(self._store, [self.session.session_id]):
            now = self._clock.now()
            live_sessions.end_turn(self._store, turn.turn_id, "interrupted", now, message=text, code="process_lost")
            note_work_of_session(self._store, self.session.session_id, now)
            self._say(ev.TurnEnded("interrupted", text, "process_lost", turn_id=turn.turn_id))

    def _note_item(self, event: ev.AnyEvent) -> ev.AnyEvent:
        self._retries.note(event)
        self._items.take(event)
        if isinstance(event, ev.ItemStarted) and event.item.kind not in _ONLY_SAYING:
            self._files.note_work()
        turn_id = self.turn.turn_id if self.turn else ""
        return replace(event, turn_id=turn_id) if hasattr(event, "turn_id") else event

    def _know(self, native_id: str) -> None:
        if native_id and native_id == self.session.native_id and self.session.is_branching:
            # Its CLI gives new sessions the id of old ones: what is said from here on hangs on the leaf all the same.
            kept = tuple(branch for branch in self.session.opening.branches if branch.native_id != native_id)
            self._record.change_opening(branches=kept)
        if native_id and native_id != self.session.native_id:
            self._record.change(native_id=native_id)
            self._run.note_session(native_id)

    def _begin(self, event: ev.TurnStarted) -> None:
        turn = self.turn
        self._retries.due_at = None  # the CLI works after all
        if turn is None or self.is_compacting:  # the CLI works by itself: a compaction of its own, for example
            turn = self._new_turn(str(uuid.uuid4()), "other", "")
        elif turn == self._ordered:
            self._keep_turn(turn)
        live_sessions.begin_turn(self._store, turn.turn_id, event.native_turn_id)
        self._models.drop_superseded()
        if self.session.opening.preface and turn.kind in ("user", "recovery"):  # the CLI has it
            self._record.change_opening(preface="")
        self.turn = replace(turn, status="running", native_turn_id=event.native_turn_id)
        self._say(replace(event, turn_id=turn.turn_id, kind=turn.kind))

    def _end(self, event: ev.TurnEnded) -> None:
        turn = self.turn
        if turn is None or self.is_compacting or self.waits_to_retry:
            return  # late: its turn is over
        if turn == self._ordered:
            self._keep_turn(turn)
        self._drop_items()
        retrying = None if self._timed_out else self._retries.fail(event)
        if retrying is not None:
            self._wait_to_retry(turn, retrying)
            return
        self.requests.finish_all("cancelled", "its turn ended")
        reply = event.reply or self._items.reply
        if self._timed_out and event.status != "completed":
            event = replace(event, status="failed", message=self._timed_out, code="timed_out")
        self._timed_out = ""
        self._end_turn(turn, replace(event, turn_id=turn.turn_id, reply=reply))

    # A turn that waits to be tried again is `starting`: whoever finds its host killed gives it to the CLI again.
    @property
    def waits_to_retry(self) -> bool:
        """Return whether the turn has failed, and waits to be tried again."""
        return self._retries.due_at is not None

    def _wait_to_retry(self, turn: Turn, event: ev.TurnRetrying) -> None:
        self._echoes.forget()
        live_sessions.wait_turn(self._store, turn.turn_id, self._retries.text)
        self.turn = replace(turn, status="starting", native_turn_id=None)
        self._say(replace(event, turn_id=turn.turn_id))

    def retry_when_due(self, now: float) -> float | None:
        """Have the turn tried again whose time has come; `take` follows. Returns the seconds until that is due."""
        if self.is_ending:
            return None
        left = self._retries.seconds_left(now)
        if left != 0:
            return left
        self._retries.due_at = None
        self._echoes.expect()
        self._driver.send(str(uuid.uuid4()), self._retries.text)  # by another id: the CLI knows the turn's
        return None

    def _end_turn(self, turn: Turn, event: ev.TurnEnded) -> None:
        self._retries.begin("", may_retry=False)
        now = self._clock.now()
        live_sessions.end_turn(
            self._store,
            turn.turn_id,
            event.status,
            now,
            message=event.message,
            code=event.code,
            reply=event.reply,
            usage=None if event.usage is None else msgspec.to_builtins(event.usage),
        )
        note_work_of_session(self._store, self.session.session_id, now)
        if event.code == failures.USAGE_LIMIT and self.session.account:
            quotas.mark_exhausted(self._store, self.session.account, now)
        self._run.end(event)
        self.turn = None
        self._items.reply = ""
        self._last_end = event
        self._files.ask(turn.turn_id)
        self._echoes.forget()
        self._steering.end_turn(event.status)
        self._record.change()
        self._say(event)
        if turn.kind in ("user", "recovery"):
            is_overflow = event.status == "failed" and compaction.is_overflow(f"{event.code} {event.message}")
            if is_overflow or event.status == "completed":
                self._context.judge(self.usage, is_overflow=is_overflow)

    def _drop_items(self) -> None:
        for item in self._items.list():
            text = item.text + self._cleaner.take_rest(item.id)
            self._say(self._note_item(ev.ItemEnded(replace(item, text=text, status="interrupted"))))

    def give_up(self, by: str) -> None:
        """Settle what the CLI, which has ended, cannot settle any more: requests, and messages for the turn."""
        self.requests.finish_all("expired", by)
        self._forget_steers()

    @property
    def is_finished(self) -> bool:
        """Return whether this is a session of one turn, and that is over."""
        return self.session.lifecycle == "oneshot" and self._last_end is not None and self.turn is None

    @property
    def waits_for_others(self) -> bool:
        """Return whether the turn waits for an answer, a summary, a command that runs, or to be tried again."""
        return self.requests.are_open or self.is_compacting or self.waits_to_retry or self._items.runs_command

    def time_out(self, why: str) -> None:
        """Interrupt the running turn, which ends as one that took too long."""
        self._timed_out = why
        with contextlib.suppress(NotSupported):  # then the turn alone ends: its process may hear the next message
            if not self.waits_to_retry:
                self._driver.interrupt()
                return
        self._retries.due_at = None
        self._end(ev.TurnEnded("interrupted"))
        self._run_next()

    def _forget_steers(self) -> None:
        """Take back what was given to a turn and never confirmed: sent again, it might arrive twice."""
        for message in live_queue.forget_claimed(self._store, self.session.session_id):
            text = f"it is not known whether this message has reached its turn, so it is not sent again: {message.text}"
            self._steering.lose(message)
            self._say(ev.Notice(text, "warning", "steer_lost"))

    def _open_request(self, event: ev.RequestOpened) -> None:
        """Have extensions say no, or else a person asked."""
        turn_id = self.turn.turn_id if self.turn else ""
        is_approval = event.kind not in ("user_input", "other")
        if self._hooks is None or not is_approval or not self._hooks.asks("before_tool"):
            self.requests.open(event, turn_id)
            return

        def go_on(outcome: HookAnswer) -> None:
            is_withdrawn = event.native_id not in self._asked_hooks
            self._asked_hooks.discard(event.native_id)
            if is_withdrawn or turn_id != (self.turn.turn_id if self.turn else ""):
                return  # or its turn is over
            if outcome.error:
                message = str(outcome.error["message"])
                self._driver.answer(event.native_id, Resolution("deny", message))
                self.note(ev.Notice(message, "warning", "extension"))
                return
            with self._store.write():
                self.requests.open(event, turn_id)

        paths = "\n".join(change.path for change in event.prompt.changes)
        facts = {"title": event.prompt.title, "detail": event.prompt.command or paths}
        self._asked_hooks.add(event.native_id)
        self._hooks.ask("before_tool", facts, go_on)

    # Orders --------------------------------------------------------------------------------------------------------
    def order(self, order: orders.Order, by: str) -> dict[str, Any]:
        """Do what a person has ordered and return what is to be answered. Raises RunnerError."""
        match order:
            case orders.Send():
                answer = self._send(order)
            case orders.Steer():
                answer = self._steer(order)
            case orders.Interrupt():
                answer = self._interrupt()
            case orders.Compact():
                answer = self._compact()
            case orders.Review():
                answer = self._review(order)
            case orders.Rename():
                answer = self._rename(order)
            case orders.SetModel():
                self._models.choose(order)
                answer = {}
            case orders.Answer():
                answer = self._answer(order, by)
            case orders.TellMessage():
                answer = self._tell_unfinished()
            case orders.ChangeQueue():
                answer = self._change_queue(order)
            case _:
                raise UsageInvalid(f"there is no order {orders.verb_of(order)!r}")
        return answer

    def _send(self, order: orders.Send) -> dict[str, Any]:
        text = check_text(order.text)
        identity = order.turn_id or str(uuid.uuid4())
        note = "recovery" if order.kind == "recovery" else ""
        message = QueuedMessage(identity, self.session.session_id, text, "queued", self._clock.now(), note)
        with self._store.write():  # one transaction: its CLI waits for it
            # One that goes on with a turn may have waited since before we began; another may be given us again.
            if live_queue.find(self._store, identity) is None:
                self._refuse_where_busy(order)
                live_queue.append(self._store, message, is_first=bool(note))
            self._run_next()
            self._keep(self._take_events())  # most drivers begin the turn at once
        is_running = self.turn is not None and self.turn.turn_id == identity
        if not is_running:
            self._tell_queue()
        status = "starting" if is_running else "queued"
        return {"turn_id": identity, "status": status, "is_opening": not self.is_open}

    def _refuse_where_busy(self, order: orders.Send) -> None:
        if not order.if_idle and self.session.lifecycle != "oneshot":
            return
        is_busy = self.turn is not None or bool(live_queue.waiting(self._store, self.session.session_id))
        if is_busy and order.if_idle:
            raise requests.TurnInFlight("a turn is in flight: wait for its end, steer it, or queue the message")
        if self.session.lifecycle == "oneshot" and (is_busy or self._last_end is not None):
            raise requests.SessionIsOneshot("a one-shot session takes one message, and has had it")

    def _steer(self, order: orders.Steer) -> dict[str, Any]:
        text = check_text(order.text, STEER_LIMIT)
        turn = self.turn
        expected = order.turn_id
        if turn is not None and expected and expected != turn.turn_id:
            raise RequestRefused(f"the turn {expected} does not run any more; {turn.turn_id} does")
        if turn is None or self.waits_to_retry or not self._driver.capabilities.steer:
            why = Need.TURN if turn is None else f"{self.session.runtime_kind} takes no message in a turn"
            if self.waits_to_retry:
                why = "the turn waits to be tried again"
            sent = self._send(orders.Send(text))
            return sent | {"steered": False, "message": f"{why}: it goes as a turn of its own"}
        message = QueuedMessage(str(uuid.uuid4()), self.session.session_id, text, "queued", self._clock.now())
        live_queue.append(self._store, message, is_first=True)
        stored = live_queue.waiting(self._store, self.session.session_id)[0]  # without its secrets
        live_queue.change(self._store, message.message_id, "claim", turn_id=turn.turn_id)
        self._steering.begin(stored, turn.turn_id)
        self._echoes.expect()
        self._driver.steer(message.message_id, text)
        return {"turn_id": turn.turn_id, "message_id": message.message_id, "status": "steering", "steered": True}

    def _settle_steer(self, event: ev.SteerSettled) -> None:
        is_taken = event.outcome == "accepted"
        if not live_queue.change(self._store, event.message_id, "deliver" if is_taken else "give_back"):
            return  # it is settled, or taken back
        if is_taken:
            unsent_texts.drop(self._store, event.message_id)
        self._say(event)
        if is_taken and self._driver.says_steers_again:
            self._steering.accept(event.message_id)
        else:
            self._steering.settle(event.message_id, is_taken=is_taken)
        if not is_taken:
            self._echoes.expect_no_more()
            self._say(ev.Notice(f"the message waits for the end of the turn: {event.message}", "info", "steer_queued"))
            self._tell_queue()

    def _interrupt(self) -> dict[str, Any]:
        if self.turn is None:
            raise requests.NoTurnRuns(Need.TURN)
        if self.is_compacting:
            turn_id = self.turn.turn_id
            self.drop_compaction("it was interrupted")
            return {"turn_id": turn_id}
        if self.waits_to_retry:
            turn_id = self.turn.turn_id
            with self._store.write():
                self._end_turn(self.turn, ev.TurnEnded("interrupted", _NOT_SENT, turn_id=turn_id))
                self._run_next()
                self._keep(self._take_events())
            return {"turn_id": turn_id}
        self._driver.interrupt()
        return {"turn_id": self.turn.turn_id}

    def _compact(self) -> dict[str, Any]:
        self._must_be_idle("compact")
        return self._start("compact", "", self._driver.compact)

    # A compaction by a model is a turn that the CLI knows nothing of: it is kept once the summary is there.
    @property
    def is_compacting(self) -> bool:
        """Return whether a model makes a summary."""
        return self.turn is not None and self.turn.kind == "compact" and self.turn.status == "compacting"

    def begin_compaction(self, reason: Reason) -> dict[str, Any]:
        """Let no turn begin until the summary is there. Raises RequestRefused."""
        self._must_be_idle("compact")
        why: str = reason
        if reason == "automatic":
            if self.session.opening.compaction != "due":
                raise RequestRefused("no compaction is due")
            why = "overflow" if self._context.has_overflowed else why
        self.needs_compaction = False
        state = compaction.next_state(self.session.opening.compaction, "begin")
        turn = replace(self._describe_turn(str(uuid.uuid4()), "compact", ""), status=state)
        self.turn = turn
        text = f"a model sums up what was said before ({why}); messages wait for that"
        self._say(ev.Notice(text, "info", "compacting"))
        return {"turn_id": turn.turn_id}

    def note_compaction(self, order: orders.NoteCompaction) -> dict[str, Any]:
        """Tell how far it is."""
        if self.is_compacting:
            text = f"{order.done} of {order.total} parts are summed up"
            self._say(ev.Notice(text, "info", "compaction_progress"))
        return {}

    def drop_compaction(self, why: str, event: str = "abort", code: str = "compaction_aborted") -> None:
        """Go on as before, since there is no summary. event: of `compaction.STATES`."""
        if not (self.is_compacting or self.needs_compaction):
            return
        state = "compacting" if self.is_compacting else "due"
        self.needs_compaction = False
        self.turn = None
        self._say(ev.Notice(f"nothing was compacted: {why}", "warning", code))
        self._record.change_opening(compaction=compaction.next_state(state, event))
        with self._store.write():
            self._run_next()
            self._keep(self._take_events())

    def end_compaction(self, order: orders.EndCompaction) -> dict[str, Any]:
        """Keep the summary, with the turn that it is, or neither. Raises RequestRefused."""
        turn = self.turn
        if turn is None or not self.is_compacting:
            raise RequestRefused("nothing was compacted: it was interrupted, or the session's CLI has begun to work")
        if order.hides is None:
            self.drop_compaction(order.failure, "fail" if order.is_automatic else "abort", "compaction_failed")
            return {}
        item = ev.Item(f"compaction/{turn.turn_id}", "compaction", "completed", redact(order.summary))
        with self._store.write():
            live_sessions.insert_turn(self._store, replace(turn, status="starting"))
            live_sessions.begin_turn(self._store, turn.turn_id, "")
            self._say(ev.TurnStarted(turn_id=turn.turn_id, kind=turn.kind))
            self._say(ev.ItemEnded(item, turn.turn_id, order.hides))
            number = self._events.number
            self._end_turn(turn, ev.TurnEnded("completed", turn_id=turn.turn_id))
            self._record.change_opening(compaction=compaction.next_state("compacting", "complete"))
            self._events.keep()
        return {"turn_id": turn.turn_id, "entry_id": f"{begin_of_ids(self.session.session_id)}{number:010}"}

    def _review(self, order: orders.Review) -> dict[str, Any]:
        self._must_be_idle("review")
        kind = next((known for known in REVIEW_KINDS if known == order.kind), None)
        if kind is None:
            raise UsageInvalid(f"{order.kind!r} cannot be reviewed: {', '.join(REVIEW_KINDS)} can")
        target = ReviewTarget(kind, order.value)
        return self._start("review", target.value, lambda turn_id: self._driver.review(turn_id, target))

    def _rename(self, order: orders.Rename) -> dict[str, Any]:
        own = order.text.strip()
        name = check_text(own or notes.find_first_name(self._store, self.session.session_id), NAME_LIMIT)
        title = redact(name)
        self._record.change(title=title)
        self._name_listed(title if own else None)
        if self._driver.capabilities.rename and self.is_open:
            self._driver.rename(name)
        self._say(ev.NameChanged(title))
        return {}

    def _name_listed(self, name: str | None) -> None:
        """Give the name to the session among all sessions too: there is one."""
        chain_id = self._record.find_chain()
        if chain_id is not None:
            own_entries.rename(self._store, chain_id, name, self._clock.now())

    def _answer(self, order: orders.Answer, by: str) -> dict[str, Any]:
        answer = self.requests.answer(order, by)
        if answer["status"] == "cancelled" and self.turn is not None:
            self._driver.interrupt()
        return answer

    def _tell_unfinished(self) -> dict[str, Any]:
        """Tell what is written of the message that is not whole yet, and the number of the last event before it."""
        texts = [item.text for item in self._items.list() if item.kind == "agent_message"]
        return {"text": "\n".join(texts), "number": self._events.number}

    def _change_queue(self, order: orders.ChangeQueue) -> dict[str, Any]:
        change_queue(self._store, self.session.session_id, order)
        self._tell_queue()
        return {"queue": list(map(describe_message, live_queue.waiting(self._store, self.session.session_id)))}

    # The gate --------------------------------------------------------------------------------------------------------
    def _run_next(self) -> None:
        if self.turn is not None or not self.is_open or self.failure is not None or self.is_ending:
            return
        waiting = live_queue.waiting(self._store, self.session.session_id)
        is_due = self._context.rules.is_enabled and self.session.opening.compaction == "due"
        self.needs_compaction = bool(waiting) and is_due
        if not waiting or self.needs_compaction:
            return
        first = waiting[0]
        with self._store.write():  # the message becomes a turn, or neither happens
            if not live_queue.change(self._store, first.message_id, "begin", turn_id=first.message_id):
                return
            self._new_turn(first.message_id, _kind_of(first), first.text)
        if first.message_id in self._told_queue:
            self._tell_queue()
        self._tell_message(first)
        written = unsent_texts.read(self._store, first.message_id, first.text)
        self._retries.begin(self.session.opening.preface + written)
        self._driver.send(first.message_id, self._retries.text)

    def _tell_message(self, message: QueuedMessage) -> None:
        """Tell what a turn was given, at once: its CLI may die before it says that it has it."""
        is_ours = _kind_of(message) == "recovery"
        item = ev.Item(
            f"user/{message.message_id}",
            "user_message",
            "completed",
            message.text,
            native_kind=ev.RESUMES if is_ours else "",
        )
        self._say(ev.ItemStarted(item, message.message_id))
        self._say(ev.ItemEnded(item, message.message_id))
        self._echoes.expect()

    def _start(self, kind: str, text: str, begin: Callable[[str], None]) -> dict[str, Any]:
        turn_id = str(uuid.uuid4())
        begin(turn_id)  # what is written goes out with `take`
        self.turn = self._describe_turn(turn_id, kind, text)
        return {"turn_id": turn_id, "status": "starting"}

    @property
    def _ordered(self) -> Turn | None:
        """Return the turn that is not kept, because its CLI may refuse it: an order that is refused is no turn."""
        return None if self._run.is_kept else self.turn

    def _new_turn(self, turn_id: str, kind: str, text: str) -> Turn:
        turn = self.turn = self._describe_turn(turn_id, kind, text)
        self._keep_turn(turn)
        return turn

    def _describe_turn(self, turn_id: str, kind: str, text: str) -> Turn:
        policy = self.policy or self._driver.opening.profile
        return Turn(turn_id, self.session.session_id, kind, "starting", text, policy, self._clock.now())

    def _keep_turn(self, turn: Turn) -> None:
        with self._store.write():
            self._run.begin(turn)
            self._files.note_begin(self._store, turn.turn_id)
            if not self.session.title and turn.kind == "user":
                self._record.change(title=first_line(turn.input))
                self._say(ev.NameChanged(self.session.title))

    def _must_be_idle(self, what: str) -> None:
        if self.failure is not None or not self.is_open:
            raise requests.SessionOpening(f"the session is not open yet: {what} it once it is")
        if self.turn is not None:
            raise RequestRefused(Need.NO_TURN)

    def fail(self, event: ev.SessionFailed) -> None:
        """Take it that the session cannot be opened."""
        self.failure = clean_record(event)
        self._record.change(status_reason=self.failure.message)
        self._say(self.failure)

    # The end -------------------------------------------------------------------------------------------------------
    def close(self, event: ev.SessionClosed, *, ends_turn: bool) -> None:
        """Take the end of the CLI's process. ends_turn: a person wanted it; else the turn is left to be recovered."""
        event = clean_record(event)
        self._drop_items()
        self.give_up(event.message or "its CLI has ended")
        turn = None if self._ordered else self.turn
        if turn is not None and ends_turn:
            reply = self._items.reply
            self._end_turn(turn, ev.TurnEnded("interrupted", event.message, turn_id=turn.turn_id, reply=reply))
        else:
            self._run.drop(event.message)
        last, self.turn = self._last_end, None
        word = states.session_ended(
            event.reason,
            event.exit_code or 0,
            is_oneshot=self.session.lifecycle == "oneshot",
            turn_status="" if last is None else last.status,
            turn_code="" if last is None else last.code,
        )
        # A process that was told to end by a signal of ours has failed at nothing.
        code = 0 if self.is_finished and word == "closed" else event.exit_code
        self._record.change(ended=word, exit_code=code, closed_at=self._clock.now())
        left = live_sessions.open_turn_ids(self._store, [self.session.session_id])
        self._say(replace(event, left_turn=left.get(self.session.session_id, "")))
        self._events.tell()

    def status(self) -> dict[str, Any]:
        """Return how the session stands."""
        return {
            "status": "starting" if not self.is_open else "waiting_input" if self.turn is None else "running",
            "busy": self.turn is not None,
            "turn_id": self.turn.turn_id if self.turn else None,
            "turn_input": self.turn.input if self.turn else None,
            "pending_approval": self.requests.are_open,
            "model": self._models.model,
            "policy": self.policy,
            "capabilities": msgspec.to_builtins(self._driver.capabilities),
            "usage": msgspec.to_builtins(self.usage),
        }

    def snapshots(self) -> Iterable[ev.Numbered]:
        """Yield the items that are not whole, with their text so far, for a client that comes now."""
        turn_id = self.turn.turn_id if self.turn else ""
        for item in self._items.list():
            yield self.unkept(ev.ItemStarted(item, turn_id))

    def unkept(self, event: ev.AnyEvent) -> ev.Numbered:
        """Return an event for some clients alone, with the number of the last one before it that is kept."""
        return self._events.numbered(event)

    def note(self, event: ev.AnyEvent) -> None:
        """Take what has happened among the session's clients."""
        self._say(event)

    # What is kept and told -------------------------------------------------------------------------------------------
    def _tell_queue(self) -> None:
        waiting = live_queue.waiting(self._store, self.session.session_id)
        self._told_queue = {one.message_id for one in waiting}
        self._say(ev.QueueChanged(tuple((one.message_id, one.text, one.note) for one in waiting)))


def _kind_of(message: QueuedMessage) -> str:
    return "recovery" if message.note == "recovery" else "user"
