"""One thread of the demo's `codex app-server`: its settings, and its turns in codex' words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from oulipoly_demo.base import ids, turn
from oulipoly_demo.base.codex_files import CodexConversation
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.base.failures import Failure
from oulipoly_demo.live import codex_models
from oulipoly_demo.live import codex_words as words
from oulipoly_demo.live.rpc import Refused, Reply, Server, text_of
from oulipoly_demo.live.turns import Call, Leave, Message, Running, Turns, output_of, plan_states
from oulipoly_demo.live.wire import Steps
from oulipoly_demo.quota.levels import Tokens

_SANDBOXES = {
    "danger-full-access": {"type": "dangerFullAccess"},
    "workspace-write": {"type": "workspaceWrite", "writableRoots": [], "networkAccess": False},
    "read-only": {"type": "readOnly", "networkAccess": False},
}
_CONTEXT_TOKENS = 258_400
_BEGIN_S = 0.01  # between the reply and turn/started; an interrupt that comes then is refused
_LEAVES = {"accept": Leave.ONCE, "acceptForSession": Leave.ALWAYS, "cancel": Leave.STOP}


class CodexTurn(Running):
    """The turn that runs."""

    def __init__(self, message: Message, identity: str, kind: str = "user") -> None:
        """kind: user, review, compact."""
        super().__init__(message)
        self.id = identity
        self.kind = kind
        self.started_id = ""  # as turn/started names it: another one in a review; empty before it
        self.diff = ""
        self.refusal = ""  # the status of a call that was not allowed


class Thread(Turns[CodexTurn, CodexConversation]):
    """One conversation that is loaded."""

    def __init__(
        self, server: Server, context: CliContext, conversation: CodexConversation, model: str, *, forked_from: str = ""
    ) -> None:
        """Wrap a conversation; it is this process's until it ends."""
        super().__init__(context, conversation, server.wire, model)
        self.id = conversation.session_id
        self.name: str | None = None
        self._server = server
        self._forked_from = forked_from or None
        self._loaded_ms = int(context.now() * 1000)  # items are stamped with it
        self._settings: dict[str, Any] = {
            "approvalPolicy": "on-request",
            "sandbox": _SANDBOXES["workspace-write"],
            "effort": None,
        }

    def describe(self) -> dict[str, Any]:
        """Return the thread as codex tells it."""
        first = next((past.text for past in self.conversation.turns if past.role == "user"), "")
        return {
            "id": self.id,
            "sessionId": self.id,
            "forkedFromId": self._forked_from,
            "preview": first[:100],
            "modelProvider": "demo",
            "model": self.model,
            "status": {"type": "idle" if self.running is None else "active"},
            "path": str(self.conversation.path),
            "cwd": str(self.context.cwd),
            "cliVersion": words.VERSION,
            "source": "vscode",
            "name": self.name,
            "turns": [],
        }

    def apply(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Take settings, which stay, and return the thread with those in force."""
        before = (self.model, dict(self._settings))
        self._settings |= {name: params[name] for name in ("approvalPolicy", "effort") if params.get(name)}
        if params.get("model"):
            self.model = turn.model_name("codex", str(params["model"]))
        sandbox = params.get("sandboxPolicy") or _SANDBOXES.get(str(params.get("sandbox")))
        if isinstance(sandbox, dict):
            self._settings["sandbox"] = sandbox
        place = {"cwd": str(self.context.cwd), "model": self.model, "approvalPolicy": self._settings["approvalPolicy"]}
        if before != (self.model, self._settings) and params.get("input") is not None:
            policies = {"effort": self._settings["effort"], "sandboxPolicy": self._settings["sandbox"]}
            self._notify("thread/settings/updated", {"threadSettings": place | policies})
        return {"thread": self.describe(), "modelProvider": "demo", **place, "sandbox": self._settings["sandbox"]}

    def rename(self, name: str) -> Reply:
        """Give it a name."""
        self.name = name
        return Reply({}, lambda: self._notify("thread/name/updated", {"threadName": name}))

    # Orders ----------------------------------------------------------------------------------------------------------
    def start_turn(self, text: str, params: Mapping[str, Any]) -> Reply:
        """Begin a turn; one that runs takes the text in."""
        message = Message(text, params.get("clientUserMessageId"))
        if self.running is not None:
            if self.running.kind != "user":
                kind = self.running.kind.capitalize()
                reason = f"failed to submit turn input: ActiveTurnNotSteerable {{ turn_kind: {kind} }}"
                raise Refused(reason, code=-32603)
            self.running.steers.append(message)
            return Reply({"turn": words.turn_of(self.running.id, "inProgress")})
        self.apply(params)
        self.conversation.begin(text, self.model, self.context.now())
        running = CodexTurn(message, self.conversation.turn_id)
        return Reply({"turn": words.turn_of(running.id, "inProgress")}, lambda: self.take(running))

    def steer(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Give the running turn a message."""
        running, expected = self.running, params.get("expectedTurnId")
        if running is None or not running.started_id:
            raise Refused("no active turn to steer")
        if running.kind != "user":
            reason = f"cannot steer a {running.kind} turn"
            info = {"activeTurnNotSteerable": {"turnKind": running.kind}}
            raise Refused(reason, data=words.error_of(reason, info))
        if expected != running.id:
            raise Refused(f"expected active turn id `{expected}` but found `{running.id}`")
        running.steers.append(Message(text_of(params.get("input")), params.get("clientUserMessageId")))
        return {"turnId": running.id}

    def interrupt_turn(self, turn_id: str) -> Reply:
        """End the running turn."""
        running = self.running
        if running is None or not running.started_id:
            raise Refused("no active turn to interrupt")
        if turn_id != running.started_id:
            raise Refused(f"expected active turn id {turn_id} but found {running.started_id}")
        return Reply({}, self.interrupt)

    def compact(self) -> Reply:
        """Forget the details of what was said."""
        self._refuse_if_busy()
        running = CodexTurn(Message(""), ids.timed_uuid(self.context.now()), "compact")
        return Reply({}, lambda: self.take(running))

    def review(self, target: Mapping[str, Any]) -> Reply:
        """Look at changes."""
        what = str(target.get("instructions") or "current changes")
        prompt = f"Review {what} and provide prioritized findings."
        self._refuse_if_busy()
        self.conversation.begin(prompt, self.model, self.context.now())
        running = CodexTurn(Message(prompt, what), self.conversation.turn_id, "review")
        message = words.user_message(running.id, what, None)
        result = {"turn": words.turn_of(running.id, "inProgress", items=[message]), "reviewThreadId": self.id}
        return Reply(result, lambda: self.take(running))

    def _refuse_if_busy(self) -> None:
        if self.running is not None:
            raise Refused("a turn is running")

    # The beginning and the end ---------------------------------------------------------------------------------------
    def _begin(self, running: CodexTurn) -> Steps:
        if running.kind == "review":
            yield from self._look_at(running.message.text, str(running.message.identity))
            return
        yield _BEGIN_S
        self._tell_start(running.id)
        if running.kind == "user":
            yield from self.play(running)
        else:
            yield from self._forget()

    def _forget(self) -> Steps:
        item = {"type": "contextCompaction", "id": ids.random_uuid()}
        self._tell_item("item/started", item)
        yield self.context.thinking_s
        summary = f"A demo's summary of {len(self.conversation.turns)} messages."
        self.conversation.append(self.context.now(), ("compacted", {"message": summary}))
        self._tell_item("item/completed", item)
        self._end("completed")

    def _look_at(self, prompt: str, what: str) -> Steps:
        self._tell_whole({"type": "enteredReviewMode", "id": ids.random_uuid(), "review": what})
        yield _BEGIN_S
        self._tell_start(ids.timed_uuid(self.context.now()))  # another id than the reply's, which never ends
        self._tell_whole(words.user_message(ids.random_uuid(), prompt, None))
        text = "No findings: the demo has read nothing."
        self._start("text")  # which is never completed
        yield self.context.thinking_s + self.context.pace_s
        self._tell_whole({"type": "exitedReviewMode", "id": ids.random_uuid(), "review": text})
        message = words.agent_message(ids.message_id(), text)
        self._tell_whole(message)
        self._tell_usage(turn.settle(self.context, self.conversation, prompt, text, self.model))
        self._end("completed", items=[message])

    def _take_in(self, message: Message, *, is_first: bool) -> None:
        if not is_first:
            self.conversation.add_prompt(message.text, self.context.now())
        self._tell_whole(words.user_message(ids.random_uuid(), message.text, message.identity))

    def _complete(self, text: str) -> None:
        self._end("completed", items=[words.agent_message(ids.message_id(), text)])

    def _fail(self, failure: Failure) -> Steps:
        info = words.FAILURES[failure.kind]
        if failure.retried:
            self._tell_retry()
            yield 0.0
        self._tell_error(failure.text, info, is_retried=False)
        self._end("failed", error=words.error_of(failure.text, info))

    def _stop(self) -> None:
        if self._turn.kind != "compact":
            self.conversation.interrupt(self.context.now())
        self._end("interrupted")

    def _end(self, status: str, *, error: Any = None, items: Any = ()) -> None:  # noqa: ANN401 - JSON
        running = self._turn
        self.running = None
        self._notify("thread/status/changed", {"status": {"type": "idle"}})
        self._notify("turn/completed", {"turn": words.turn_of(running.id, status, error, items)})
        if running.request is not None:  # only now: codex does it in this order
            self._notify("serverRequest/resolved", {"requestId": running.request})
        self.next()

    # Messages --------------------------------------------------------------------------------------------------------
    def _start(self, field: str) -> str:
        if field == "text":
            identity = ids.message_id()
            self._tell_item("item/started", words.agent_message(identity, ""))
        else:
            identity = f"rs_{ids.message_id()[4:]}"
            self._tell_item("item/started", words.reasoning(identity))
        return identity

    def _tell_piece(self, field: str, identity: str, piece: str) -> None:
        if field == "text":
            self._tell_delta("item/agentMessage/delta", identity, piece)
        else:
            self._tell_delta("item/reasoning/summaryTextDelta", identity, piece, summaryIndex=0)

    def _end_text(self, identity: str, text: str, tokens: Tokens) -> None:
        self._tell_item("item/completed", words.agent_message(identity, text))
        self._tell_usage(tokens)

    def _end_thought(self, identity: str, text: str) -> None:
        self._tell_item("item/completed", words.reasoning(identity, text))

    def _tell_usage(self, tokens: Tokens) -> None:
        total = self.conversation.total
        usage = {"total": _usage(total), "last": _usage(tokens), "modelContextWindow": _CONTEXT_TOKENS}
        self._notify("thread/tokenUsage/updated", {"turnId": self._turn.id, "tokenUsage": usage})
        self._server.notify("account/rateLimits/updated", {"rateLimits": codex_models.limits(self.context)})

    def _tell_plan(self, points: tuple[str, ...], done: int) -> None:
        plan = [{"step": point, "status": state} for point, state in plan_states(points, done, "inProgress")]
        self._notify("turn/plan/updated", {"turnId": self._turn.id, "explanation": None, "plan": plan})

    def _retry(self) -> None:
        self._start("text")
        self._tell_retry()

    def _drift(self) -> Steps:
        item = {"type": "hologram", "id": f"hg_{ids.message_id()[4:]}", "status": "glowing", "lumens": 7}
        self._tell_whole(item)
        self._notify("thread/hologram/updated", {"hologram": {"lumens": 7}})
        yield from self._request("item/hologram/requestApproval", {"itemId": item["id"]}, "waitingOnHologram")

    # Tools -----------------------------------------------------------------------------------------------------------
    def _needs_leave(self, call: Call) -> bool:
        approval = str(self._settings["approvalPolicy"])
        if approval == "never":
            return False
        return call.edit is None or approval == "untrusted" or self._settings["sandbox"].get("type") == "readOnly"

    def _start_call(self, call: Call) -> None:
        self._tell_item("item/started", self._item_of(call, "inProgress"))

    def _ask_leave(self, call: Call) -> Steps:
        method, params = "item/fileChange/requestApproval", {"itemId": call.identity, "reason": None, "grantRoot": None}
        if call.edit is None:
            method = "item/commandExecution/requestApproval"
            params = words.command_approval(call.identity, call.subject, str(self.context.cwd))
        result = yield from self._request(method, params, "waitingOnApproval")
        decision = result.get("decision") if isinstance(result, dict) else None
        self._turn.refusal = "declined" if decision in ("decline", "cancel") else "failed"
        return Leave.ALWAYS if isinstance(decision, dict) else _LEAVES.get(str(decision), Leave.NO)

    def _end_call(self, call: Call, *, is_done: bool) -> None:
        if call.edit is None:
            output = f"{output_of(call.subject)}\n"
            self._tell_delta("item/commandExecution/outputDelta", call.identity, output)
            self._write_down(call, output)
            self._tell_item("item/completed", self._item_of(call, "completed", output))
            return
        self._tell_item("item/completed", self._item_of(call, "completed" if is_done else "failed"))
        if is_done:
            self._turn.diff += call.edit.diff
            self._notify("turn/diff/updated", {"turnId": self._turn.id, "diff": self._turn.diff})

    def _refuse_call(self, call: Call) -> None:
        if call.edit is None:
            self._write_down(call, "exec command rejected by user")
        self._tell_item("item/completed", self._item_of(call, self._turn.refusal))

    def _question(self, text: str, choices: tuple[str, ...]) -> Steps:
        options = [{"label": choice, "description": ""} for choice in choices]
        question = {"id": "q1", "header": "Question", "question": text, "isOther": True, "isSecret": False}
        params = {"itemId": f"call_{ids.message_id()[4:]}", "questions": [question | {"options": options}]}
        yield from self._request("item/tool/requestUserInput", params | {"isBlocking": True}, "waitingOnUserInput")

    def _request(self, method: str, params: Mapping[str, Any], flag: str) -> Steps:
        """Ask the client and wait for its answer; returns the result, None for an error."""
        self._tell_active(flag)
        about = {"threadId": self.id, "turnId": self._turn.id, "startedAtMs": self._loaded_ms}
        identity = self._server.request(method, about | dict(params))
        result = yield from self.ask(identity)
        self._notify("serverRequest/resolved", {"requestId": identity})
        self._tell_active()
        return result

    def _write_down(self, call: Call, output: str) -> None:
        """Keep a command in the rollout."""
        used = {"name": "exec_command", "arguments": json.dumps({"cmd": call.subject}), "call_id": call.identity}
        result = {"type": "function_call_output", "call_id": call.identity, "output": output}
        self.conversation.append(
            self.context.now(), ("response_item", {"type": "function_call", **used}), ("response_item", result)
        )

    def _item_of(self, call: Call, status: str, output: str | None = None) -> dict[str, Any]:
        if call.edit is None:
            return words.command(call.identity, call.subject, str(self.context.cwd), status, output)
        change = {"path": call.subject, "kind": {"type": call.edit.kind}, "diff": call.edit.codex_diff}
        return {"type": "fileChange", "id": call.identity, "changes": [change], "status": status}

    # Parts -----------------------------------------------------------------------------------------------------------
    @property
    def _turn(self) -> CodexTurn:
        assert self.running is not None  # noqa: S101 - whatever is said is said in a turn
        return self.running

    def _notify(self, method: str, params: Mapping[str, Any]) -> None:
        self._server.notify(method, {"threadId": self.id, **params})

    def _tell_item(self, method: str, item: Mapping[str, Any]) -> None:
        stamp = "startedAtMs" if method == "item/started" else "completedAtMs"
        self._notify(method, {"turnId": self._turn.id, "item": dict(item), stamp: self._loaded_ms})

    def _tell_whole(self, item: Mapping[str, Any]) -> None:
        """Tell of an item that ends as it begins."""
        self._tell_item("item/started", item)
        self._tell_item("item/completed", item)

    def _tell_delta(self, method: str, identity: str, delta: str, **more: int) -> None:
        self._notify(method, {"turnId": self._turn.id, "itemId": identity, "delta": delta, **more})

    def _tell_error(self, message: str, info: Any, *, is_retried: bool) -> None:  # noqa: ANN401 - JSON
        error = words.error_of(message, info)
        self._notify("error", {"turnId": self._turn.id, "error": error, "willRetry": is_retried})

    def _tell_retry(self) -> None:
        """Tell that the connection was lost and is made again."""
        info = {"responseStreamDisconnected": {"httpStatusCode": None}}
        self._tell_error("Reconnecting... 1/1", info, is_retried=True)

    def _tell_active(self, *flags: str) -> None:
        """Tell that the thread works, and what it waits for."""
        self._notify("thread/status/changed", {"status": {"type": "active", "activeFlags": list(flags)}})

    def _tell_start(self, turn_id: str) -> None:
        self._turn.started_id = turn_id
        self._tell_active()
        self._notify("turn/started", {"turn": words.turn_of(turn_id, "inProgress")})


def _usage(tokens: Tokens) -> dict[str, int]:
    counts = {"inputTokens": tokens.input, "cachedInputTokens": 0, "outputTokens": tokens.output}
    return counts | {"totalTokens": tokens.input + tokens.output, "reasoningOutputTokens": 0}
