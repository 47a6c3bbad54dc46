"""Any agent of the Agent Client Protocol, version 1: one process, one session of it. Pure.

Source: the protocol's pages; opencode 1.18.33, gemini 0.61.0, claude-agent-acp 0.49.0, codex-acp 2.6.0, seen 2026-11.
An agent can do what it advertises, where `{}` means yes; options are chosen by kind, for every agent has its own ids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import (
    CommandsChanged,
    Item,
    NameChanged,
    Notice,
    OrderFailed,
    Prompt,
    Raw,
    RequestOpened,
    RequestResolved,
    SessionFailed,
    SessionOpened,
    SettingsChanged,
    SteerSettled,
)
from oulipoly_engine.core.text.redact import redact_beginning
from oulipoly_engine.drivers.acp import questions
from oulipoly_engine.drivers.acp.failure_codes import describe
from oulipoly_engine.drivers.acp.handshake import Handshake
from oulipoly_engine.drivers.acp.questions import CANCELLED, Form, Permission
from oulipoly_engine.drivers.acp.settings import Order
from oulipoly_engine.drivers.acp.turns import Turn, Turns
from oulipoly_engine.drivers.base import Driver, Opening, Output, Resolution
from oulipoly_engine.drivers.json_values import Json, listing, mapping, text_of, without_halves
from oulipoly_engine.drivers.jsonrpc import (
    UNKNOWN_METHOD,
    Endpoint,
    Failure,
    Notification,
    ServerRequest,
    Undecodable,
)
from oulipoly_engine.records import replace

_CANCEL_S = 10.0  # gemini never ends a turn whose permission was open; a turn that ends does so within a second
_REQUEST_CANCELLED = -32800
_SHOWN = 200  # characters of a line that is not a message


class AcpDriver(Driver):
    """Our side of one process."""

    kind = "acp"
    takes_servers = True

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._endpoint = Endpoint(has_version=True, patience_s=opening.request_s)
        self._handshake = Handshake(opening, self._endpoint, self._say, self._opened)
        self._settings = self._handshake.settings
        self._turns = Turns(self._say, opening.cwd)
        self._commands: tuple[tuple[str, str], ...] = ()
        self._requests: dict[str, tuple[int | str, Permission | Form]] = {}  # open ones
        self._steers: list[str] = []  # messages for the turn that are not answered
        self._deadline: float | None = None  # of a turn that was cancelled

    @classmethod
    def words(cls, opening: Opening) -> tuple[str, ...]:
        """Return the words that make the program an agent, and the user's own."""
        return (*opening.start_words, *opening.args)

    @property
    def is_running(self) -> bool:
        """Return whether a turn runs."""
        return self._turns.current is not None

    def take(self) -> Output:
        """Return what has gathered since the last call."""
        self._write(self._endpoint.take())
        return super().take()

    def begin(self) -> None:
        """Say who we are."""
        self._handshake.begin()

    def _opened(self) -> None:
        can_choose = self._settings.can_set_model
        self.capabilities = replace(
            self._handshake.capabilities,
            compaction=self.capabilities.compaction or self._handshake.compacts,
            model_list=can_choose,
            set_model=can_choose,
        )
        self._say(
            SessionOpened(
                native_id=self._handshake.session_id,
                model=self._settings.model,
                version=self._handshake.version,
                models=self._settings.models(),
                commands=self._commands,
                policy=self._settings.mode,
            )
        )

    # Orders ----------------------------------------------------------------------------------------------------------
    def send(self, turn_id: str, text: str) -> None:
        """Begin a turn; the reply to its prompt ends it."""
        self._prompt(self._turns.begin(turn_id, text), text)

    def compact(self, turn_id: str) -> None:
        """Have the past shortened by the agent's own command, where it names one."""
        if not self.capabilities.compaction:
            raise self._unable("compact")
        self._prompt(self._turns.begin(turn_id, "/compact", is_compaction=True), "/compact")

    def interrupt(self) -> None:
        """Cancel the turn, and every open request of it: without an answer some agents never end it."""
        turn = self._turns.current
        if turn is None:
            return
        if not turn.is_cancelled:
            turn.is_cancelled = True
            self._endpoint.notify("session/cancel", {"sessionId": self._handshake.session_id})
        self._cancel_requests()

    def steer(self, message_id: str, text: str) -> None:
        """Give the running turn a message: without a time-out, for one that is taken later would be sent twice."""
        if not self.capabilities.steer:
            raise self._unable("steer")
        turn = self._turns.current
        if turn is None or turn.is_cancelled:
            self._say(SteerSettled(message_id, "refused", "no turn runs that takes a message"))
            return
        self._steers.append(message_id)

        def settle(result: Json, failure: Failure | None) -> None:
            if message_id not in self._steers:
                return  # settled at its turn's end
            self._steers.remove(message_id)
            outcome = text_of(mapping(result).get("outcome"))
            if failure is None and outcome in ("injected", "startedNewTurn"):
                self._say(SteerSettled(message_id, "accepted"))
                if self._turns.current is not None:
                    self._turns.items.add(Item(f"user/{message_id}", "user_message", "completed", text))
                return
            why = failure.message if failure is not None else outcome or "the agent did not take it"
            self._say(SteerSettled(message_id, "refused", why))

        params = {"sessionId": self._handshake.session_id, "prompt": _text_block(text)}
        self._endpoint.request("_session/steering", params, settle, None)

    def answer(self, native_id: str, resolution: Resolution) -> None:
        """Answer an open request."""
        request_id, asked = self._requests.pop(native_id, (None, None))
        if request_id is None or asked is None:
            return
        if isinstance(asked, Permission):
            if resolution.decision not in ("approve", "approve_for_session"):
                self._turns.declined.add(asked.tool_call_id)
            self._endpoint.answer(request_id, questions.permission_answer(asked, resolution))
        else:
            self._endpoint.answer(request_id, questions.form_answer(asked, resolution))
        self._say(RequestResolved(native_id))
        if resolution.decision == "cancel":
            self.interrupt()

    def set_model(self, model: str, effort: str = "") -> None:
        """Have later turns done by another model."""
        order = self._settings.model_order(without_halves(model))
        if order is None:
            raise self._unable("change the model")
        self._order("set_model", order)
        effort_order = self._settings.effort_order(without_halves(effort)) if effort else None
        if effort_order is not None:
            self._order("set_model", effort_order)

    def closing(self) -> None:
        """End a running turn first."""
        self.interrupt()

    def closed(self) -> None:
        """Take the end of stdout."""
        self._endpoint.close()
        self._turns.items.end_all("interrupted")
        for native_id in tuple(self._requests):
            self._resolve(native_id)

    def tick(self, now: float) -> float | None:
        """Let a turn go that did not end after it was cancelled."""
        wait, turn = self._endpoint.tick(now), self._turns.current
        if turn is None or not turn.is_cancelled:
            self._deadline = None
            return wait
        self._deadline = now + _CANCEL_S if self._deadline is None else self._deadline
        if now < self._deadline:
            left = self._deadline - now
            return left if wait is None else min(wait, left)
        text = f"{self._handshake.name} did not end its turn after it was cancelled, and has to be started anew"
        self._turn_over("interrupted", message=text)
        self._say(SessionFailed(failures.TIMED_OUT, text))
        return wait

    # The turn --------------------------------------------------------------------------------------------------------
    def _prompt(self, turn: Turn, text: str) -> None:
        def settle(result: Json, failure: Failure | None) -> None:
            if self._turns.current is turn and (failure is None or failure.kind != "closed"):
                self._prompt_answered(turn, mapping(result), failure)

        params = {"sessionId": self._handshake.session_id, "prompt": _text_block(text)}
        self._endpoint.request("session/prompt", params, settle, None)

    def _prompt_answered(self, turn: Turn, result: Mapping[str, Json], failure: Failure | None) -> None:
        if failure is not None:
            told = describe(failure)
            status = "interrupted" if turn.is_cancelled else "failed"
            self._turn_over(status, message=told.message, code=told.code)
            return
        match text_of(result.get("stopReason")):
            case "cancelled":
                self._turn_over("interrupted", result=result)
            case "refusal" | "max_tokens" | "max_turn_requests" as reason:
                text = f"the agent stopped: {reason.replace('_', ' ')}"
                self._turn_over("failed", message=text, code=reason, result=result)
            case reason:
                self._turn_over("completed", code="" if reason == "end_turn" else reason, result=result)

    def _turn_over(self, status: Any, **told: Any) -> None:  # noqa: ANN401 - as `Turns.end` takes them
        """End the turn, for whichever reason; open requests end with it."""
        self._cancel_requests()
        for message_id in self._steers:
            self._say(SteerSettled(message_id, "refused", "the turn had ended"))
        self._steers.clear()
        self._deadline = None
        self._turns.end(status, **told)

    # What the agent writes -------------------------------------------------------------------------------------------
    def receive(self, line: bytes) -> None:
        """Take one line."""
        match self._endpoint.receive(line):
            case ServerRequest() as request:
                self._take_request(request)
            case Notification() as notification:
                self._take_notification(notification)
            case Undecodable(why="empty-line"):
                pass
            case Undecodable(text=text):
                shown = redact_beginning(text, _SHOWN)
                self._say(Notice(f"the agent wrote a line that is not a message: {shown}", "warning", "undecodable"))

    def _take_notification(self, told: Notification) -> None:
        if told.method == "session/update":
            self._take_update(told.params)
        elif told.method == "$/cancel_request":
            self._take_back(told.params.get("requestId"))
        else:
            self._say(Raw(told.method[:_SHOWN]))

    def _take_update(self, params: Mapping[str, Json]) -> None:
        update = mapping(params.get("update"))
        kind = text_of(update.get("sessionUpdate"))
        if self._handshake.session_id and text_of(params.get("sessionId")) not in ("", self._handshake.session_id):
            self._say(Raw(f"another session's {kind}"[:_SHOWN]))
            return
        match kind:
            case "available_commands_update":
                self._take_commands(update)
            case "config_option_update":
                self._change_settings(update)
            case "current_mode_update":
                self._change_settings({"modes": update})
            case "session_info_update":
                if text_of(update.get("title")):
                    self._say(NameChanged(text_of(update.get("title"))))
            case "usage_update":
                self._turns.take_usage(update)
            case _ if self._turns.current is None:
                pass  # the past of a session that was loaded, or what comes after its turn
            case _:
                if not self._turns.take(update):
                    self._say(Raw(f"session/update {kind}"[:_SHOWN]))

    def _take_commands(self, update: Mapping[str, Json]) -> None:
        commands = [mapping(one) for one in listing(update.get("availableCommands"))]
        self._commands = tuple((text_of(c.get("name")), text_of(c.get("description"))) for c in commands)
        can_compact = self._handshake.compacts or any(name == "compact" for name, _ in self._commands)
        self.capabilities = replace(self.capabilities, compaction=can_compact)
        if self._handshake.is_open:
            self._say(CommandsChanged(self._commands))

    def _take_request(self, request: ServerRequest) -> None:
        native_id = msgspec.json.encode(request.id).decode()
        if request.method == "session/request_permission":
            self._take_permission(native_id, request)
            return
        form = questions.form_of(request.params) if request.method == "elicitation/create" else None
        if form is not None:
            self._requests[native_id] = (request.id, form)
            self._say(RequestOpened(native_id, "user_input", questions.form_prompt(form, request.params)))
            return
        method = request.method[:_SHOWN]
        note = f"the agent asks for {method}, which cannot be answered here"
        self._endpoint.refuse(request.id, UNKNOWN_METHOD, f"{method} is not supported")
        self._say(RequestOpened(native_id, "other", Prompt(method, note=note)), RequestResolved(native_id))

    def _take_permission(self, native_id: str, request: ServerRequest) -> None:
        turn, call = self._turns.current, mapping(request.params.get("toolCall"))
        if turn is None or turn.is_cancelled:
            self._endpoint.answer(request.id, CANCELLED)
            return
        item = self._turns.take_call(call, is_asked=True) or Item(text_of(call.get("toolCallId")), "tool")
        permission = questions.permission_of(request.params, item)
        chosen = questions.profile_option(permission, self.opening.profile)
        if chosen:
            self._endpoint.answer(request.id, {"outcome": {"outcome": "selected", "optionId": chosen}})
            return
        self._requests[native_id] = (request.id, permission)
        prompt = questions.permission_prompt(permission, call, item)
        self._say(RequestOpened(native_id, questions.request_kind(item), prompt))

    def _take_back(self, request_id: Json) -> None:
        """Let a request go that the agent has taken back."""
        native_id = next((own for own, (told, _) in self._requests.items() if told == request_id), None)
        if native_id is not None:
            self._endpoint.refuse(self._requests[native_id][0], _REQUEST_CANCELLED, "cancelled")
            self._resolve(native_id)

    # Smaller things --------------------------------------------------------------------------------------------------
    def _cancel_requests(self) -> None:
        for native_id, (request_id, asked) in tuple(self._requests.items()):
            answer: Json = CANCELLED if isinstance(asked, Permission) else {"action": "cancel"}
            self._endpoint.answer(request_id, answer)
            self._resolve(native_id)

    def _resolve(self, native_id: str) -> None:
        if self._requests.pop(native_id, None) is not None:
            self._say(RequestResolved(native_id))

    def _order(self, what: str, order: Order) -> None:
        method, params = order

        def settle(result: Json, failure: Failure | None) -> None:
            if failure is None:
                self._change(lambda: self._settings.apply(params, mapping(result)))
            elif failure.kind != "closed":
                self._say(OrderFailed(what, describe(failure).message))

        self._endpoint.request(method, {"sessionId": self._handshake.session_id, **params}, settle)

    def _change_settings(self, told: Mapping[str, Json]) -> None:
        self._change(lambda: self._settings.take(told))

    def _change(self, change: Callable[[], None]) -> None:
        model, mode = self._settings.model, self._settings.mode
        change()
        now = self._settings
        if self._handshake.is_open and (model, mode) != (now.model, now.mode):
            self._say(SettingsChanged(now.model if now.model != model else "", now.mode if now.mode != mode else ""))


def _text_block(text: str) -> list[Json]:
    return [{"type": "text", "text": without_halves(text)}]
