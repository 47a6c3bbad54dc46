"""Claude Code by stream-JSON: one process, one session, many turns, each ended by a `result`. Pure.

Source: Claude Code 2.1.197, seen 2026-11. It prints nothing before the first input, names its session at each turn,
and asks by control requests. How many results come is not how many messages were sent: a message given while a tool
runs joins the turn, and claude begins turns of its own for what it has queued.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import NAMESPACE_OID, uuid5

from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import (
    CommandsChanged,
    Item,
    NativeIdChanged,
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
    TurnRetrying,
)
from oulipoly_engine.core.live.permissions import choose_policy
from oulipoly_engine.core.text.redact import redact_beginning
from oulipoly_engine.drivers.base import Capabilities, Driver, Opening, Resolution, ReviewTarget
from oulipoly_engine.drivers.claude import lines, requests, results
from oulipoly_engine.drivers.claude.turns import Turn, Turns
from oulipoly_engine.drivers.json_values import Json, count, listing, mapping, text_of, without_halves
from oulipoly_engine.records import replace

_PROTOCOL = (
    "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
    "--permission-prompt-tool", "stdio", "--include-partial-messages",
)  # fmt: skip
_SHOWN = 200  # characters of a line that is not a message

_Settle = Callable[[Mapping[str, Json], str], None]  # what claude answered, or its error


class ClaudeDriver(Driver):
    """Claude's side of one process."""

    kind = "claude"
    names_turns = True
    cuts_at_answers = True

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self.capabilities = Capabilities(
            resume=True, fork=True, fork_at_turn=True, steer=True, interrupt=True,
            command_approvals=True, file_change_approvals=True, user_input_requests=True,
            model_list=True, set_model=True, compaction=True, usage=True, rate_limits=True,
        )  # fmt: skip
        self._native_id = opening.resume if opening.resume and not opening.fork else ""
        self._native_id = self._native_id or ("" if opening.resume else opening.new_id)
        self._is_opened = False
        self._is_named = False  # claude has told its session's id
        self._model, self._policy = "", ""
        self._turns = Turns(self._say, opening.cwd, self._started)
        self._requests: dict[str, requests.ToolRequest] = {}
        self._allowed: set[str] = set()  # keys of the commands that a person has allowed for this session
        self._asked: dict[str, _Settle] = {}  # our own control requests
        self._deadlines: dict[str, float] = {}  # of those, from the first tick on
        self._count = 0  # of our requests and messages

    @classmethod
    def words(cls, opening: Opening) -> tuple[str, ...]:
        """Return the words that stand behind `claude`."""
        words = [*_PROTOCOL, "--permission-mode", choose_policy("claude", opening.profile).policy]
        if opening.profile == "full_access":
            words.append("--dangerously-skip-permissions")  # without it the mode is refused
        if not opening.resume:
            words += ["--session-id", opening.new_id]
        else:
            words += ["--resume", opening.resume]
            words += ["--fork-session"] if opening.fork else []
            words += ["--resume-session-at", opening.fork_at] if opening.fork and opening.fork_at else []
        words += ["--model", opening.model] if opening.model else []
        words += ["--effort", opening.effort] if opening.effort else []
        return (*words, *opening.args)

    # Orders ----------------------------------------------------------------------------------------------------------
    def begin(self) -> None:
        """Ask for models, commands and account, which costs no call."""
        self._ask({"subtype": "initialize", "hooks": None}, self._opened)

    def send(self, turn_id: str, text: str) -> None:
        """Begin a turn."""
        self._begin(Turn(self._fresh_uuid(turn_id), text))

    def compact(self, turn_id: str) -> None:
        """Have the past shortened."""
        self._begin(Turn(self._fresh_uuid(turn_id), "/compact", is_compaction=True))

    def review(self, turn_id: str, target: ReviewTarget) -> None:
        """Have claude's own commands do it."""
        if not self.capabilities.review:
            raise self._unable("review")
        self._begin(Turn(self._fresh_uuid(turn_id), _review_command(target)))

    def interrupt(self) -> None:
        """Have the running turn end; before its first sign claude would ignore it, so it waits for that."""
        turn = self._turns.current
        if turn is None:
            return
        turn.is_interrupted = True
        if turn.is_started:
            self._ask({"subtype": "interrupt"}, lambda _, error: self._report("interrupt", error))

    def steer(self, message_id: str, text: str) -> None:
        """Give the turn a message with the result of the tool that runs; while text streams claude would queue it."""
        refusal = self._turns.steer_refusal(has_request=bool(self._requests))
        if refusal:
            self._say(SteerSettled(message_id, "refused", refusal))
            return
        uuid = self._fresh_uuid(message_id)
        self._write(lines.user_line(text, uuid, priority="next"))
        self._say(SteerSettled(message_id, "accepted"))
        self._turns.items.add(Item(uuid, "user_message", "completed", text))

    def answer(self, native_id: str, resolution: Resolution) -> None:
        """Answer an open request."""
        asked = self._requests.pop(native_id, None)
        if asked is None:
            return
        response = requests.response_to(asked, resolution)
        if response["behavior"] == "deny":
            self._turns.declined.add(asked.tool_use_id)
        if resolution.decision == "approve_for_session" and asked.tool == "Bash":
            self._allowed.add(requests.command_key(asked))
        if response.get("interrupt") is True and self._turns.current is not None:
            self._turns.current.is_interrupted = True
        self._write(lines.control_answer(native_id, response))
        self._say(RequestResolved(native_id))

    def set_model(self, model: str, effort: str = "") -> None:
        """Have later turns done by another model; the effort is told to claude only as it starts."""

        def settle(_: Mapping[str, Json], error: str) -> None:
            self._report("set_model", error)
            if not error:
                self._settings(model=model)

        self._ask({"subtype": "set_model", "model": without_halves(model)}, settle)
        if effort and effort != self.opening.effort:
            self._say(Notice("claude takes an effort only at its start; it stays as it is", "warning", "effort"))

    def closing(self) -> None:
        """End a running turn first: claude kills its commands then, and leaves them alive at the end of stdin."""
        self.interrupt()

    def closed(self) -> None:
        """Take the end of stdout."""
        self._turns.items.end_all("interrupted")
        self._resolve_all()
        self._asked.clear()
        if not self._is_opened:
            self._is_opened = True
            self._say(SessionFailed(failures.CLOSED, "claude ended before it was ready"))

    def tick(self, now: float) -> float | None:
        """Settle what claude does not answer in time."""
        self._deadlines = {key: self._deadlines.get(key, now + self.opening.request_s) for key in self._asked}
        for key in [key for key, deadline in self._deadlines.items() if deadline <= now]:
            del self._deadlines[key]
            self._asked.pop(key)({}, "claude did not answer in time")
        return min((deadline - now for deadline in self._deadlines.values()), default=None)

    # What claude writes ----------------------------------------------------------------------------------------------
    def receive(self, line: bytes) -> None:
        """Take one line."""
        if not line.strip():
            return
        message = lines.decode(line)
        if message is None:
            shown = redact_beginning(line[: 4 * _SHOWN].decode("utf-8", "replace"), _SHOWN)
            self._say(Notice(f"claude wrote a line that is not a message: {shown}", "warning", "undecodable"))
            return
        match message.get("type"):
            case "control_response":
                self._take_response(mapping(message.get("response")))
            case "control_request":
                self._take_request(text_of(message.get("request_id")), mapping(message.get("request")))
            case "control_cancel_request":
                self._resolve(text_of(message.get("request_id")))
            case "system":
                self._take_system(message)
            case "stream_event":
                self._turns.take_stream(message)
            case "assistant":
                self._turns.take_assistant(message)
            case "user":
                self._turns.take_user(message)
            case "rate_limit_event":
                self._take_quota(mapping(message.get("rate_limit_info")))
            case "result":
                self._take_result(message)
            case other:
                self._say(Raw(str(other)[:_SHOWN]))

    def _opened(self, response: Mapping[str, Json], error: str) -> None:
        self._is_opened = True
        if error:
            self._say(SessionFailed(failures.HANDSHAKE_FAILED, f"claude refused to begin: {error}"))
            return
        account, commands = mapping(response.get("account")), results.commands_of(response.get("commands"))
        self.capabilities = replace(self.capabilities, review={"review", "code-review"} <= {*dict(commands)})
        self._policy = choose_policy("claude", self.opening.profile).policy
        self._say(
            SessionOpened(
                native_id=self._native_id,
                model=self.opening.model,
                account=text_of(account.get("email")) or text_of(account.get("subscriptionType")),
                models=results.models_of(response.get("models")),
                commands=commands,
                policy=self._policy,
            )
        )

    def _take_response(self, response: Mapping[str, Json]) -> None:
        settle = self._asked.pop(text_of(response.get("request_id")), None)
        if settle is None:
            return
        failed = response.get("subtype") == "error"
        error = (text_of(response.get("error")) or "claude gives no reason") if failed else ""
        settle(mapping(response.get("response")), error)

    def _take_request(self, request_id: str, request: Mapping[str, Json]) -> None:
        if not request_id or request_id in self._requests:
            return
        subtype = text_of(request.get("subtype"))
        if subtype == "can_use_tool":
            asked = requests.tool_request(request)
            if requests.command_key(asked) in self._allowed:
                # Its own rule covers a command in the session's folder alone: elsewhere claude asks each time.
                self._write(lines.control_answer(request_id, requests.response_to(asked, Resolution("approve"))))
                return
            self._requests[request_id] = asked
            prompt = requests.prompt_of(asked, self._turns.cwd)
            self._say(RequestOpened(request_id, requests.request_kind(asked), prompt))
            return
        note = f"claude asks for {subtype or 'something without a name'}, which cannot be answered here"
        self._write(lines.control_refusal(request_id, note))
        self._say(RequestOpened(request_id, "other", Prompt(subtype or "unknown", note=note)))
        self._say(RequestResolved(request_id))

    def _take_system(self, message: Mapping[str, Json]) -> None:
        subtype = text_of(message.get("subtype"))
        match subtype:
            case "init":
                self._take_init(message)
            case "status":
                self._take_status(message)
            case "compact_boundary":
                told = mapping(message.get("compact_metadata"))
                before, after = count(told.get("pre_tokens")), count(told.get("post_tokens"))
                self._turns.end_compaction("completed", f"{before} tokens before, {after} after")
            case "api_retry":
                attempt, most = count(message.get("attempt")), count(message.get("max_retries"))
                code = text_of(message.get("error")) or "unknown"
                self._say(TurnRetrying(f"attempt {attempt} of {most} after {code.replace('_', ' ')}", code))
            case _:
                self._say(Raw(f"system/{subtype[:_SHOWN]}"))

    def _take_init(self, message: Mapping[str, Json]) -> None:
        native_id = text_of(message.get("session_id"))
        is_first, self._is_named = not self._is_named, True
        self._turns.cwd = text_of(message.get("cwd")) or self._turns.cwd
        if native_id and native_id != self._native_id:
            if is_first and self.opening.resume and not self.opening.fork:
                text = f"claude opened session {native_id} instead of {self.opening.resume}"
                self._say(SessionFailed(failures.THREAD_MISMATCH, text))
                return
            self._native_id = native_id
            self._say(NativeIdChanged(native_id))
        self._settings(text_of(message.get("model")), text_of(message.get("permissionMode")))
        names = [name for name in listing(message.get("slash_commands")) if isinstance(name, str)]
        if not self._is_opened and names:
            self._say(CommandsChanged(tuple((name, "") for name in names)))
        self._turns.work()

    def _take_status(self, message: Mapping[str, Json]) -> None:
        status = message.get("status")
        self._settings(policy=text_of(message.get("permissionMode")))
        if status in ("requesting", "compacting"):
            self._turns.work()
        if status == "compacting":
            self._turns.start_compaction()
        outcome = text_of(message.get("compact_result"))
        if outcome and outcome != "success":
            failure = text_of(message.get("compact_error")) or f"the compaction ended with {outcome}"
            self._turns.work().failure = failure
            self._turns.end_compaction("failed", failure)

    def _take_quota(self, told: Mapping[str, Json]) -> None:
        quota = results.quota_of(told)
        if quota.is_rejected and quota.windows and self._turns.current is not None:
            self._turns.current.is_spent = True
        self._say(quota)

    def _take_result(self, message: Mapping[str, Json]) -> None:
        lost = results.lost_session(message)
        if lost:
            self._turns.items.end_all("failed")
            self._say(SessionFailed(failures.THREAD_LOST, lost))
        elif self._turns.current is None:
            self._turns.cost_of(message)
            self._say(Raw("result"))
        else:
            self._resolve_all()
            self._turns.end(message)

    # The turn --------------------------------------------------------------------------------------------------------
    def _begin(self, turn: Turn) -> None:
        self._turns.current = turn
        self._write(lines.user_line(turn.text, turn.uuid))

    def _started(self, turn: Turn) -> None:
        if turn.is_interrupted:  # asked for before claude's first sign
            self.interrupt()

    # Smaller things --------------------------------------------------------------------------------------------------
    def _settings(self, model: str = "", policy: str = "") -> None:
        model = "" if model == self._model else model
        policy = "" if policy == self._policy else policy
        self._model, self._policy = model or self._model, policy or self._policy
        if model or policy:
            self._say(SettingsChanged(model, policy))

    def _ask(self, request: Mapping[str, Json], settle: _Settle) -> None:
        self._count += 1
        request_id = f"req-{self._count}"
        self._asked[request_id] = settle
        self._write(lines.control_request(request_id, request))

    def _report(self, order: str, error: str) -> None:
        if error:
            self._say(OrderFailed(order, error))

    def _resolve(self, request_id: str) -> None:
        if self._requests.pop(request_id, None) is not None:
            self._say(RequestResolved(request_id))

    def _resolve_all(self) -> None:
        for request_id in tuple(self._requests):
            self._resolve(request_id)

    def _fresh_uuid(self, told: str) -> str:
        """Return an id that no process of this session has used, not even for the same turn."""
        self._count += 1
        return str(uuid5(NAMESPACE_OID, f"{self.opening.new_id} {told} {self._count}"))


def _review_command(target: ReviewTarget) -> str:
    """Return what has claude review; its `/review` takes a pull request alone, `/code-review` any words (2.1.197)."""
    match target.kind:
        case "uncommitted":
            return "/review"
        case "branch" if target.value.removeprefix("#").isdecimal():
            return f"/review {target.value}"
        case "branch":
            return f"/code-review what differs from the branch {target.value}"
        case "commit":
            return f"/code-review the commit {target.value}"
        case _:
            return f"/code-review {target.value}"
