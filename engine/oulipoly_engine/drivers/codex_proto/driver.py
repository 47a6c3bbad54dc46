"""One `codex proto` process: submissions `{"id", "op"}` to it, events `{"id", "msg"}` from it. Pure (contract B5).

The id of a run is our turn's id, and an event of another run is left out. It resumes nothing: what was said before
comes to the next process as a preface. Codex dropped this protocol at about 0.40 (openai/codex, pull request 4520).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import (
    Notice,
    Raw,
    RequestOpened,
    RequestResolved,
    SessionFailed,
    SessionOpened,
    TurnEnd,
)
from oulipoly_engine.core.text.lines import decode_json
from oulipoly_engine.core.text.redact import redact_beginning
from oulipoly_engine.drivers.base import Capabilities, Driver, Opening, Resolution
from oulipoly_engine.drivers.codex.policy import policy_of
from oulipoly_engine.drivers.codex_proto.turn import ProtoTurn, file_changes, patch_prompt
from oulipoly_engine.drivers.json_values import Json, mapping, text_of, without_halves

_HANDSHAKE_S = 2.0  # contract B5: then it goes on regardless
_LAST_S = 2.0  # after an error, for the end of the run: mostly it comes at once
_SHOWN = 200
_CAN = Capabilities(interrupt=True, file_change_approvals=True, usage=True)


class CodexProtoDriver(Driver):
    """Our side of one process."""

    kind = "codex-proto"
    resumes = False

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self.capabilities = _CAN
        self._policy = policy_of(opening)
        self._turn: ProtoTurn | None = None
        self._requests: set[str] = set()  # calls that wait for an answer
        self._is_open = False
        self._deadline: float | None = None  # of the handshake, or of a run that has failed
        self._is_due = True  # the deadline is to be set with the next tick

    @classmethod
    def words(cls, opening: Opening) -> tuple[str, ...]:
        """Return the overrides, the user's own arguments, and `proto`; the folder is the process's own, never `-C`."""
        policy = policy_of(opening)
        settings = {
            "model": opening.model,
            "model_reasoning_effort": opening.effort,
            "approval_policy": policy.policy,
            "sandbox_mode": policy.sandbox,
        }
        pairs = (("-c", f"{key}={_quote(value)}") for key, value in settings.items() if value)
        return (*(word for pair in pairs for word in pair), *opening.args, "proto")

    def begin(self) -> None:
        """Say once how the session is to be."""
        if self.opening.resume:
            text = "a session of codex proto ends with its process, and cannot be resumed or forked"
            self._say(SessionFailed(failures.THREAD_LOST, text))
            return
        settings = {"approval_policy": self._policy.policy, "sandbox_mode": self._policy.sandbox}
        named = {"model": self.opening.model} if self.opening.model else {}
        self._submit(self.opening.new_id, "configure_session", **named, **settings, cwd=self.opening.cwd)

    # Orders ----------------------------------------------------------------------------------------------------------
    def send(self, turn_id: str, text: str) -> None:
        """Begin a turn."""
        self._turn = ProtoTurn(turn_id, text, self._say)
        self._submit(turn_id, "user_input", items=[{"type": "text", "text": without_halves(text)}])

    def interrupt(self) -> None:
        """End the turn: what codex says of it later is left out."""
        if self._turn is not None:
            self._submit(self._turn.turn_id, "interrupt")
            self._end("interrupted")

    def answer(self, native_id: str, resolution: Resolution) -> None:
        """Answer an open request."""
        if native_id not in self._requests:
            return
        self._requests.remove(native_id)
        match resolution.decision:
            case "approve":
                self._submit(native_id, "approval_decision", decision="approve", scope="once")
            case "approve_for_session":
                self._submit(native_id, "approval_decision", decision="approve", scope="session")
            case _:
                self._submit(native_id, "approval_decision", decision="deny")
        self._say(RequestResolved(native_id))

    def closed(self) -> None:
        """Take the end of stdout."""
        if self._turn is not None:
            self._turn.items.end_all("interrupted")
        self._resolve_all()

    def tick(self, now: float) -> float | None:
        """Go on without a handshake, and end a run that has failed and says no more."""
        has_failed = self._turn is not None and bool(self._turn.error)
        if self._is_open and not has_failed:
            return None
        if self._is_due or self._deadline is None:
            self._is_due = False
            self._deadline = now + (_LAST_S if self._is_open else _HANDSHAKE_S)
        if now < self._deadline:
            return self._deadline - now
        self._is_due = True
        if not self._is_open:
            self._open({})
        else:
            self._end("failed")
        return None

    # What codex writes -----------------------------------------------------------------------------------------------
    def receive(self, line: bytes) -> None:
        """Take one line; one that is not an event is left to the log."""
        try:
            event = mapping(decode_json(line))
        except ValueError:
            event = {}
        message = mapping(event.get("msg"))
        kind = text_of(message.get("type"))
        if not kind:
            if line.strip() and not self._is_open:  # it is up, and has its own words for that
                self._open({})
            return
        turn = self._turn if self._turn is not None and text_of(event.get("id")) == self._turn.turn_id else None
        match kind:
            case "session_configured":
                self._open(message)
            case "error" if turn is None:
                shown = redact_beginning(text_of(message.get("message")), 4 * _SHOWN)
                self._say(Notice(shown or "codex tells of an error", "error"))
            case _ if turn is None:
                self._say(Raw(kind[:_SHOWN]))
            case "apply_patch_approval_request":
                self._ask(message)
            case "task_complete":
                turn.last = text_of(message.get("last_agent_message"))
                self._end("failed" if turn.error else "completed")
            case _:
                self._is_due = True
                if not turn.take(kind, message):
                    self._say(Raw(kind[:_SHOWN]))

    def _open(self, told: Mapping[str, Json]) -> None:
        native_id, model = text_of(told.get("session_id")), text_of(told.get("model"))
        if self._is_open and not told:
            return
        self._is_open = self._is_due = True
        policy = ", ".join((self._policy.policy, self._policy.sandbox))
        self._say(SessionOpened(native_id or self.opening.new_id, model or self.opening.model, policy=policy))

    def _ask(self, message: Mapping[str, Json]) -> None:
        call_id = text_of(message.get("call_id"))
        if not call_id:
            self._say(Raw("apply_patch_approval_request"))
            return
        self._requests.add(call_id)
        prompt = patch_prompt(file_changes(message.get("changes")), text_of(message.get("justification")))
        self._say(RequestOpened(call_id, "file_change_approval", prompt))

    def _end(self, status: TurnEnd) -> None:
        turn, self._turn = self._turn, None
        self._resolve_all()
        if turn is not None:
            turn.end(status)

    def _resolve_all(self) -> None:
        for call_id in sorted(self._requests):
            self._say(RequestResolved(call_id))
        self._requests.clear()

    def _submit(self, identity: str, kind: str, **fields: Json) -> None:
        self._write(msgspec.json.encode({"id": identity, "op": {"type": kind, **fields}}) + b"\n")


def _quote(value: str) -> str:
    """Return a value as an override takes it: JSON where it has blanks or quotes."""
    value = without_halves(value)
    if any(letter.isspace() or letter in "\"'" for letter in value):
        return msgspec.json.encode(value).decode()
    return value
