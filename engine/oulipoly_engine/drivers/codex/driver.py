"""The driver of `codex app-server`. Pure.

Source: codex 0.169, seen 2026-11. Its rules: a turn ends with turn/completed alone, since the thread is idle before it;
interrupts and steers sent before turn/started are refused, so they wait for it; an interrupt does not end the command
that runs; what a turn overrides stays so, so each turn carries the whole policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import (
    AnyEvent,
    Notice,
    OrderFailed,
    Raw,
    RequestOpened,
    RequestResolved,
    SettingsChanged,
    TurnRetrying,
    Usage,
    UsageUpdated,
)
from oulipoly_engine.drivers import json_values as fields
from oulipoly_engine.drivers import jsonrpc
from oulipoly_engine.drivers.base import NAME_LIMIT, Capabilities, Driver, Opening, Resolution, ReviewTarget
from oulipoly_engine.drivers.codex import notifications, readings, requests
from oulipoly_engine.drivers.codex.policy import policy_of
from oulipoly_engine.drivers.codex.requests import OpenRequest
from oulipoly_engine.drivers.codex.start import UNKEPT, Start
from oulipoly_engine.drivers.codex.steers import Steers
from oulipoly_engine.drivers.codex.turn import Turn, TurnKind
from oulipoly_engine.drivers.json_values import Json
from oulipoly_engine.drivers.jsonrpc import Endpoint, Failure, Notification, ServerRequest, Settle, Undecodable

CAPABILITIES = Capabilities(
    resume=True,
    fork=True,
    fork_at_turn=True,
    steer=True,
    interrupt=True,
    command_approvals=True,
    file_change_approvals=True,
    user_input_requests=True,  # codex asks in plan mode alone
    model_list=True,
    set_model=True,
    review=True,
    compaction=True,
    rename=True,
    diff_updates=True,
    usage=True,
    rate_limits=True,
    auth_management=True,
    generated_schema_probe=True,
)
_ERROR_GRACE_S = 5.0  # between an error and the turn/completed that follows it
_INTERRUPT_PAUSE_S = 0.2
_MOST_INTERRUPTS = 25


class CodexDriver(Driver):
    """One session of codex."""

    kind: ClassVar[str] = "codex"
    names_turns: ClassVar[bool] = True
    says_steers_again: ClassVar[bool] = True

    def __init__(self, opening: Opening) -> None:
        """Prepare it; nothing is said before `begin`."""
        super().__init__(opening)
        self.capabilities = CAPABILITIES
        self._endpoint = Endpoint(has_version=False, patience_s=opening.request_s)
        self._start = Start(self._endpoint, opening, self._say)
        self._policy = policy_of(opening)
        self._model, self._effort = opening.model, opening.effort
        self._turn: Turn | None = None
        self._used: Usage | None = None if opening.resume else Usage(0, 0, 0)  # by the thread, as last told
        self._review_thread = ""
        self._requests: dict[str, OpenRequest] = {}
        self._steers = Steers(self._endpoint, self._say)
        self._wants_interrupt = False
        self._interrupts_sent = 0
        self._timers: dict[str, float | None] = {}  # name: when it is due; None until the next tick tells the time

    @classmethod
    def words(cls, opening: Opening) -> tuple[str, ...]:
        """Return the words that make codex serve its protocol on stdin and stdout."""
        return ("app-server", *(word for word in opening.args if word != UNKEPT))

    def begin(self) -> None:
        """Say hello; the rest of the beginning follows codex's answers."""
        self._start.begin()
        self._flush()

    # What codex says -------------------------------------------------------------------------------------------------
    def receive(self, line: bytes) -> None:
        """Take one line."""
        match self._endpoint.receive(line):
            case Notification(method, params):
                self._take_notification(method, params)
            case ServerRequest() as request:
                self._take_request(request)
            case Undecodable(why, _) if why != "empty-line":
                self._say(Notice("codex wrote a line that is not a message", level="warning", code=why))
        self._flush()

    def _take_notification(self, method: str, params: Mapping[str, Json]) -> None:
        thread_id = fields.text(params, "threadId")
        is_ours = thread_id in ("", self._start.thread_id, self._review_thread) or method in _SENT_FOR_ALL
        handler = _HANDLERS.get(method, CodexDriver._take_other)
        if not is_ours or not handler(self, method, params):
            self._say(Raw(method))

    def _take_other(self, method: str, params: Mapping[str, Json]) -> bool:
        events = notifications.project(method, params, self._turn)
        if events is None:
            return False
        self._say(*events)
        for event in events:
            if isinstance(event, UsageUpdated):
                self._used = event.usage
        if method.startswith("item/"):
            self._steers.accept(fields.text(fields.mapping(params, "item"), "clientId"))
        return True

    def _take_turn_started(self, _: str, params: Mapping[str, Json]) -> bool:
        native_id = fields.text(fields.mapping(params, "turn"), "id")
        if not native_id:
            return False
        if self._turn is None:
            self._turn = Turn("", "", self._used)  # codex has begun it by itself
        elif self._turn.kind != "review" and not self._turn.has(native_id):
            return False
        self._turn.take_start(native_id)
        self._say(*self._turn.start())
        self._send_waiting()
        return True

    def _take_turn_completed(self, _: str, params: Mapping[str, Json]) -> bool:
        native, turn = fields.mapping(params, "turn"), self._turn
        if turn is None or not turn.ends_with(fields.text(native, "id")):
            return False
        self._say(*turn.start())
        self._end_turn(turn.end(native))
        return True

    def _take_error(self, _: str, params: Mapping[str, Json]) -> bool:
        error = readings.decode_error(fields.mapping(params, "error") or params)
        turn = self._turn if fields.text(params, "turnId") else None
        if turn is None or not turn.has(fields.text(params, "turnId")):
            self._say(Notice(error.message, level="error", code=error.code))
        elif fields.is_set(params, "willRetry"):
            self._say(*turn.cut_messages(), TurnRetrying(error.message, error.code, turn_id=turn.own_id))
        else:
            turn.error = error
            self._timers["error"] = None
        return True

    def _take_resolved(self, _: str, params: Mapping[str, Json]) -> bool:
        identity = params.get("requestId")
        if not isinstance(identity, int | str):
            return False
        request = self._requests.get(requests.native_id_of(identity))
        if request is not None:
            self._close_request(request)
        return request is not None

    # Requests --------------------------------------------------------------------------------------------------------
    def _take_request(self, request: ServerRequest) -> None:
        turn = self._turn
        opened = requests.decode_request(request, {} if turn is None else turn.changes)
        native_id = requests.native_id_of(opened.id)
        own_id = "" if turn is None else turn.own_id
        self._requests[native_id] = opened
        self._say(RequestOpened(native_id, opened.kind, opened.prompt, turn_id=own_id))
        if opened.kind == "other":
            self._endpoint.refuse(opened.id, jsonrpc.UNKNOWN_METHOD, "this client cannot answer that")
            self._close_request(opened)

    def answer(self, native_id: str, resolution: Resolution) -> None:
        """Answer an open request; `cancel` interrupts the turn as well."""
        request = self._requests.get(native_id)
        if request is None:
            return
        self._endpoint.answer(request.id, requests.reply_to(request, resolution))
        self._close_request(request)
        if resolution.decision == "cancel":
            self.interrupt()
        self._flush()

    def _close_request(self, request: OpenRequest) -> None:
        native_id = requests.native_id_of(request.id)
        self._endpoint.forget(request.id)
        del self._requests[native_id]
        self._say(RequestResolved(native_id, turn_id="" if self._turn is None else self._turn.own_id))

    # Orders ----------------------------------------------------------------------------------------------------------
    def send(self, turn_id: str, text: str) -> None:
        """Begin a turn, with the whole policy: what an earlier turn overrode would stay otherwise."""
        params: dict[str, Any] = {
            "input": [{"type": "text", "text": text}],
            "cwd": self.opening.cwd,
            "approvalPolicy": self._policy.policy,
            "sandboxPolicy": self._start.sandbox,
            "clientUserMessageId": turn_id,
        }
        if self._model:
            params["model"] = self._model
        if self._effort:
            params["effort"] = self._effort
        self._order("turn/start", params, turn_id, "user")

    def compact(self, turn_id: str) -> None:
        """Have the past shortened; codex names the turn with turn/started alone."""
        self._order("thread/compact/start", {}, turn_id, "compact")

    def review(self, turn_id: str, target: ReviewTarget) -> None:
        """Have changes reviewed within this session; codex has no other place for it any more."""
        self._order("review/start", {"target": _review_target(target), "delivery": "inline"}, turn_id, "review")

    def _order(self, method: str, params: dict[str, Any], turn_id: str, kind: TurnKind) -> None:
        turn = Turn(turn_id, kind, self._used)
        if self._turn is not None or not self._start.thread_id:
            why = "a turn is running: wait for its end" if self._turn is not None else "the session is not open"
            self._say(*turn.fail(why, "busy" if self._turn is not None else failures.CLOSED))
            return
        self._turn, self._wants_interrupt, self._interrupts_sent = turn, False, 0
        self._timers.clear()
        self._endpoint.request(method, {"threadId": self._start.thread_id, **params}, self._take_order(turn))
        self._flush()

    def _take_order(self, turn: Turn) -> Settle:
        def settle(result: Json, failure: Failure | None) -> None:
            if self._turn is not turn:
                return
            native_id = fields.text(fields.mapping(result, "turn"), "id") or fields.text(result, "turnId")
            if failure is None:
                self._review_thread = fields.text(result, "reviewThreadId")
                if native_id:
                    turn.name(native_id)
            elif failure.kind == "native" or (failure.kind == "timeout" and not turn.has_started):
                self._end_turn(turn.refuse(failure.message, readings.code_of_refusal(failure)))

        return settle

    def steer(self, message_id: str, text: str) -> None:
        """Give the running turn a message: once, with the message's id, and never to another turn."""
        self._steers.add(message_id, text, self._turn)
        self._send_waiting()
        self._flush()

    def interrupt(self) -> None:
        """Have the running turn end, as soon as codex has begun it."""
        if self._turn is not None and not self._wants_interrupt:
            self._wants_interrupt = True
            self._send_waiting()
        self._flush()

    def rename(self, name: str) -> None:
        """Give the session a title."""
        if not 1 <= len(name) <= NAME_LIMIT:
            self._say(OrderFailed("rename", f"a name has 1 to {NAME_LIMIT} characters"))
            return
        self._request("thread/name/set", {"name": name}, self._report("rename"))

    def set_model(self, model: str, effort: str = "") -> None:
        """Have later turns done by another model: each turn names it."""
        self._model, self._effort = model or self._model, effort or ("" if model else self._effort)
        self._say(SettingsChanged(model=self._model))

    def _send_waiting(self) -> None:
        turn = self._turn
        if turn is None or not turn.has_started:
            return
        if self._wants_interrupt and not self._interrupts_sent:
            self._send_interrupt(turn)
        self._steers.send(self._start.thread_id, turn)

    def _send_interrupt(self, turn: Turn) -> None:
        """Ask for the end by the id of turn/started: a review is known by it here, and by another one elsewhere."""
        self._interrupts_sent += 1
        names = [name for name in (turn.started_id, turn.native_id) if name]
        name = names[(self._interrupts_sent - 1) % len(names)]
        self._request("turn/interrupt", {"turnId": name}, self._take_interrupt(turn))

    def _take_interrupt(self, turn: Turn) -> Settle:
        def settle(_: Json, failure: Failure | None) -> None:
            if failure is None or failure.kind == "closed" or self._turn is not turn:
                return
            if self._interrupts_sent >= _MOST_INTERRUPTS:
                self._wants_interrupt, self._interrupts_sent = False, 0
                self._say(OrderFailed("interrupt", failure.message))
            else:
                self._timers["interrupt"] = None  # the turn has only just begun: codex may not know it yet

        return settle

    # The end ---------------------------------------------------------------------------------------------------------
    def _end_turn(self, events: Iterable[AnyEvent]) -> None:
        """Close what belongs to the turn, then the turn: nobody else does."""
        for request in list(self._requests.values()):
            if request.thread_id in ("", self._start.thread_id, self._review_thread):
                self._close_request(request)
        self._say(*events)
        self._steers.refuse_all("the turn had ended")
        if self._wants_interrupt:
            # The command that ran lives on: codex ends it at this alone. It is experimental, so a refusal is no matter.
            self._request("thread/backgroundTerminals/clean", {}, lambda _result, _failure: None)
        self._turn, self._wants_interrupt = None, False
        self._timers.clear()

    def closed(self) -> None:
        """Take the end of stdout: what is open ends, the turn itself is the host's."""
        if self._turn is not None:
            self._say(*self._turn.close_items())
        for request in list(self._requests.values()):
            self._close_request(request)
        self._steers.refuse_all("codex ended before it said whether it took the message")
        self._turn = None
        self._endpoint.close()
        self._flush()

    def tick(self, now: float) -> float | None:
        """Do what is due: time-outs, an interrupt again, the end of a turn that only an error has told."""
        pauses = {"error": _ERROR_GRACE_S, "interrupt": _INTERRUPT_PAUSE_S}
        for name, due in list(self._timers.items()):
            when = self._timers[name] = now + pauses[name] if due is None else due
            if when <= now:
                del self._timers[name]
                self._take_timer(name)
        wait = self._endpoint.tick(now)
        self._flush()
        dues = [due - now for due in self._timers.values() if due is not None]
        return min([*dues, *([] if wait is None else [wait])], default=None)

    def _take_timer(self, name: str) -> None:
        turn = self._turn
        if turn is None:
            return
        if name == "interrupt":
            self._send_interrupt(turn)
        elif turn.error is not None:
            self._end_turn(turn.fail(turn.error.message, turn.error.code))

    def _report(self, order: str) -> Settle:
        def settle(_: Json, failure: Failure | None) -> None:
            if failure is not None and failure.kind != "closed":
                self._say(OrderFailed(order, failure.message))

        return settle

    def _request(self, method: str, params: dict[str, Any], settle: Settle) -> None:
        whole = {"threadId": self._start.thread_id, **params}
        self._endpoint.request(method, whole, settle)
        self._flush()

    def _flush(self) -> None:
        self._write(self._endpoint.take())


def _review_target(target: ReviewTarget) -> dict[str, str]:
    match target.kind:
        case "branch":
            return {"type": "baseBranch", "branch": target.value}
        case "commit":
            return {"type": "commit", "sha": target.value}
        case "custom":
            return {"type": "custom", "instructions": target.value}
    return {"type": "uncommittedChanges"}


_Handler = Callable[[CodexDriver, str, Mapping[str, Json]], bool]  # returns whether it made anything of the message
_SENT_FOR_ALL = ("serverRequest/resolved", "account/rateLimits/updated")  # whatever thread they name
_HANDLERS: Mapping[str, _Handler] = {
    "turn/started": CodexDriver._take_turn_started,
    "turn/completed": CodexDriver._take_turn_completed,
    "error": CodexDriver._take_error,
    "serverRequest/resolved": CodexDriver._take_resolved,
}
