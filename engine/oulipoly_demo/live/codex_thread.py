"""One thread of the demo's `codex app-server`: its settings, and the turn that runs in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from oulipoly_demo.base import answers, directives, failures, ids, streams, turn
from oulipoly_demo.base.codex_files import CodexConversation
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.base.directives import Directives
from oulipoly_demo.base.options import Style
from oulipoly_demo.live import codex_models
from oulipoly_demo.live import codex_words as words
from oulipoly_demo.live.codex_messages import Messages, RunningTurn, Sender
from oulipoly_demo.live.codex_steps import Cancelled, StepRunner
from oulipoly_demo.live.codex_words import Refused
from oulipoly_demo.live.wire import Steps
from oulipoly_demo.quota.levels import Tokens

_SANDBOXES = {
    "danger-full-access": {"type": "dangerFullAccess"},
    "workspace-write": {"type": "workspaceWrite", "writableRoots": [], "networkAccess": False},
    "read-only": {"type": "readOnly", "networkAccess": False},
}
_CONTEXT_TOKENS = 258_400
_BEGIN_S = 0.01  # between the reply and turn/started; an interrupt that comes then is refused
_BATCH = 200  # pieces of a flood between two looks at stdin
_BLOCK = 1 << 16
Reply = tuple[dict[str, Any], Callable[[], object]]


class Thread:
    """One conversation that is loaded."""

    def __init__(
        self, sender: Sender, context: CliContext, conversation: CodexConversation, model: str, *, forked_from: str = ""
    ) -> None:
        """Wrap a conversation; it is this process's until it ends."""
        self.conversation = conversation
        self.name: str | None = None
        self._messages = Messages(sender, conversation.session_id, int(context.now() * 1000))
        self._context = context
        self._forked_from = forked_from or None
        self._settings: dict[str, Any] = {
            "model": model,
            "approvalPolicy": "on-request",
            "sandbox": _SANDBOXES["workspace-write"],
            "effort": None,
        }
        self._steps = StepRunner(context, conversation, self._messages, self._settings)

    @property
    def id(self) -> str:
        """Return the thread's id."""
        return self.conversation.session_id

    def describe(self) -> dict[str, Any]:
        """Return the thread as codex tells it."""
        first = next((one.text for one in self.conversation.turns if one.role == "user"), "")
        return {
            "id": self.id,
            "sessionId": self.id,
            "forkedFromId": self._forked_from,
            "preview": first[:100],
            "modelProvider": "demo",
            "model": self._settings["model"],
            "status": {"type": "idle" if self._messages.running is None else "active"},
            "path": str(self.conversation.path),
            "cwd": str(self._context.cwd),
            "cliVersion": words.VERSION,
            "source": "vscode",
            "name": self.name,
            "turns": [],
        }

    def apply(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Take settings, which stay, and return the thread with those in force."""
        before = dict(self._settings)
        self._settings |= {name: params[name] for name in ("approvalPolicy", "effort") if params.get(name)}
        if params.get("model"):
            self._settings["model"] = turn.model_name("codex", str(params["model"]))
        sandbox = params.get("sandboxPolicy") or _SANDBOXES.get(str(params.get("sandbox")))
        if isinstance(sandbox, dict):
            self._settings["sandbox"] = sandbox
        if before != self._settings and params.get("input") is not None:
            self._messages.notify("thread/settings/updated", {"threadSettings": self._told_settings()})
        settings = {name: self._settings[name] for name in ("model", "approvalPolicy", "sandbox")}
        return {"thread": self.describe(), "cwd": str(self._context.cwd), "modelProvider": "demo", **settings}

    # Orders ----------------------------------------------------------------------------------------------------------
    def start_turn(self, text: str, params: Mapping[str, Any]) -> Reply | dict[str, Any]:
        """Begin a turn; one that runs takes the text in."""
        client_id = params.get("clientUserMessageId")
        if self._messages.running is not None:
            if self._messages.running.kind != "user":
                kind = self._messages.running.kind.capitalize()
                text = f"failed to submit turn input: ActiveTurnNotSteerable {{ turn_kind: {kind} }}"
                raise Refused(text, code=-32603)
            self._messages.running.steers.append((text, client_id))
            return {"turn": words.turn_of(self._messages.running.id, "inProgress")}
        self.apply(params)
        self.conversation.begin(text, self._settings["model"], self._context.now())
        running = self._new_turn(self.conversation.turn_id, "user")
        result = {"turn": words.turn_of(running.id, "inProgress")}
        return result, lambda: self._run(running, self._play(running, text, client_id))

    def steer(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Give the running turn a message."""
        running, expected = self._messages.running, params.get("expectedTurnId")
        if running is None or not running.started_id:
            raise Refused("no active turn to steer")
        if running.kind != "user":
            message = f"cannot steer a {running.kind} turn"
            info = {"activeTurnNotSteerable": {"turnKind": running.kind}}
            raise Refused(message, data=words.error_of(message, info))
        if expected != running.id:
            raise Refused(f"expected active turn id `{expected}` but found `{running.id}`")
        running.steers.append((words.input_of(params), params.get("clientUserMessageId")))
        return {"turnId": running.id}

    def interrupt(self, turn_id: str) -> Reply:
        """End the running turn."""
        running = self._messages.running
        if running is None or not running.started_id:
            raise Refused("no active turn to interrupt")
        if turn_id != running.started_id:
            raise Refused(f"expected active turn id {turn_id} but found {running.started_id}")
        return {}, self._stop

    def compact(self) -> Reply:
        """Forget the details of what was said."""
        self._refuse_if_busy()
        running = self._new_turn(ids.timed_uuid(self._context.now()), "compact")
        return {}, lambda: self._run(running, self._forget(running))

    def review(self, target: Mapping[str, Any]) -> Reply:
        """Look at changes."""
        what = str(target.get("instructions") or "current changes")
        prompt = f"Review {what} and provide prioritized findings."
        self._refuse_if_busy()
        self.conversation.begin(prompt, self._settings["model"], self._context.now())
        running = self._new_turn(self.conversation.turn_id, "review")
        message = words.user_message(running.id, what, None)
        result = {"turn": words.turn_of(running.id, "inProgress", items=[message]), "reviewThreadId": self.id}
        return result, lambda: self._run(running, self._look_at(running, prompt, what))

    # A turn of a person ----------------------------------------------------------------------------------------------
    def _play(self, running: RunningTurn, text: str, client_id: str | None) -> Steps:
        yield _BEGIN_S
        self._messages.tell_start(running.id)
        messages = [(text, client_id)]
        try:
            while messages:
                text, client_id = messages.pop(0)
                self._messages.tell_whole(words.user_message(ids.random_uuid(), text, client_id))
                asked = directives.parse(text, self._context.account)
                if (yield from self._refuse(asked)):
                    return
                for step in asked.steps:
                    yield from self._steps.do(step)
                whole = None if running.steers else (yield from self._answer(asked, running))
                for steer in running.steers:
                    self.conversation.add_prompt(steer[0], self._context.now())
                messages += running.steers
                running.steers = []
                if whole is not None:
                    self._charge(text, whole)
        except Cancelled:
            self.conversation.interrupt(self._context.now())
            self._end("interrupted")
            return
        self._end("completed", items=[words.agent_message(ids.message_id(), str(whole))])
        if asked.exit_code is not None:
            self._messages.sender.wire.leave(asked.exit_code)

    def _refuse(self, asked: Directives) -> Steps:
        """Fail as the vendor does, where it would; returns whether it did."""
        if asked.stderr is not None:
            streams.complain(asked.stderr)
        if self._context.drifts:
            yield from self._steps.drift()
        if asked.sleep_s:
            yield asked.sleep_s
        failure = turn.refusal(self._context, asked)
        if failure is None:
            return False
        info = words.FAILURES[failure.kind]
        if failure.retried:
            self._messages.tell_retry()
            yield 0.0
        self._messages.tell_error(failure.text, info, is_retried=False)
        self._fail(failure, info)
        return True

    def _fail(self, failure: failures.Failure, info: Any) -> None:  # noqa: ANN401 - JSON
        self.conversation.fail(failure, self._context.now())
        self._end("failed", error=words.error_of(failure.text, info))

    def _answer(self, asked: Directives, running: RunningTurn) -> Steps:
        """Say the answer; returns its text, or None where a message for the turn cut it off."""
        if self._context.thinking_s:
            yield self._context.thinking_s
        flood = next((int(step.amount) for step in asked.steps if step.kind == "flood"), 0)
        if flood:
            pieces: Iterable[str] = (f"{number} " for number in range(flood))
        elif asked.big_bytes:
            whole = answers.big(asked.big_bytes)
            pieces = (whole[start : start + _BLOCK] for start in range(0, len(whole), _BLOCK))
        else:
            pieces = answers.chunks(turn.compose(asked, self.conversation.turns, Style()))
        return (yield from self._stream(pieces, running, 0.0 if flood else self._context.pace_s))

    def _stream(self, pieces: Iterable[str], running: RunningTurn, pace_s: float) -> Steps:
        identity, said = ids.message_id(), []
        self._messages.tell_item("item/started", words.agent_message(identity, ""))
        for place, piece in enumerate(pieces):
            if pace_s or place % _BATCH == 0:
                yield pace_s
            if running.steers:
                return None  # the message is never completed: the real one does so as well
            said.append(piece)
            self._messages.tell_delta("item/agentMessage/delta", identity, piece)
        self._messages.tell_item("item/completed", words.agent_message(identity, "".join(said)))
        return "".join(said)

    def _charge(self, prompt: str, text: str) -> None:
        tokens = turn.settle(self._context, self.conversation, prompt, text, self._settings["model"])
        usage = {
            "total": _usage(self.conversation.total),
            "last": _usage(tokens),
            "modelContextWindow": _CONTEXT_TOKENS,
        }
        self._messages.notify("thread/tokenUsage/updated", {"turnId": self._messages.turn_id, "tokenUsage": usage})
        self._messages.sender.notify("account/rateLimits/updated", {"rateLimits": codex_models.limits(self._context)})

    # Turns of its own ------------------------------------------------------------------------------------------------
    def _forget(self, running: RunningTurn) -> Steps:
        yield _BEGIN_S
        self._messages.tell_start(running.id)
        item = {"type": "contextCompaction", "id": ids.random_uuid()}
        self._messages.tell_item("item/started", item)
        yield self._context.thinking_s
        summary = f"A demo's summary of {len(self.conversation.turns)} messages."
        self.conversation.append(self._context.now(), ("compacted", {"message": summary}))
        self._messages.tell_item("item/completed", item)
        self._end("completed")

    def _look_at(self, running: RunningTurn, prompt: str, what: str) -> Steps:
        entered = {"type": "enteredReviewMode", "id": ids.random_uuid(), "review": what}
        self._messages.tell_whole(entered)
        yield _BEGIN_S
        self._messages.tell_start(ids.timed_uuid(self._context.now()))  # another id than the reply's, which never ends
        self._messages.tell_whole(words.user_message(ids.random_uuid(), prompt, None))
        text = "No findings: the demo has read nothing."
        self._messages.tell_item("item/started", words.agent_message(ids.message_id(), ""))  # which is never completed
        yield self._context.thinking_s + self._context.pace_s
        left = {"type": "exitedReviewMode", "id": ids.random_uuid(), "review": text}
        self._messages.tell_whole(left)
        message = words.agent_message(ids.message_id(), text)
        self._messages.tell_whole(message)
        self._charge(prompt, text)
        self._end("completed", items=[message])

    # The beginning and the end ---------------------------------------------------------------------------------------
    def _new_turn(self, identity: str, kind: str) -> RunningTurn:
        self._messages.running = RunningTurn(identity, kind)
        return self._messages.running

    def _refuse_if_busy(self) -> None:
        if self._messages.running is not None:
            raise Refused("a turn is running")

    def _run(self, running: RunningTurn, steps: Steps) -> None:
        running.task = self._messages.sender.wire.start(steps)

    def _stop(self) -> None:
        running = self._messages.running
        if running is None or running.task is None:
            return
        self._messages.sender.wire.stop(running.task)
        if running.kind != "compact":
            self.conversation.interrupt(self._context.now())
        self._end("interrupted")

    def _end(self, status: str, *, error: Any = None, items: Iterable[dict[str, Any]] = ()) -> None:  # noqa: ANN401
        turn_id, self._messages.running = self._messages.turn_id, None
        self._messages.notify("thread/status/changed", {"status": {"type": "idle"}})
        self._messages.notify("turn/completed", {"turn": words.turn_of(turn_id, status, error, list(items))})
        self._messages.sender.withdraw(self.id)  # only now: codex does it in this order

    def _told_settings(self) -> dict[str, Any]:
        settings = self._settings
        told = {"cwd": str(self._context.cwd), "model": settings["model"], "effort": settings["effort"]}
        return told | {"approvalPolicy": settings["approvalPolicy"], "sandboxPolicy": settings["sandbox"]}


def _usage(tokens: Tokens) -> dict[str, int]:
    counts = {"inputTokens": tokens.input, "cachedInputTokens": 0, "outputTokens": tokens.output}
    return counts | {"totalTokens": tokens.input + tokens.output, "reasoningOutputTokens": 0}
