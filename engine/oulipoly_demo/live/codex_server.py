"""`codex app-server`: JSON-RPC in lines without a version, many threads in one process.

Source: Codex 0.169, seen 2026-11; methods, errors and the order of messages are its own. Unlike the real one it asks
questions in every mode, not in plan mode alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from oulipoly_demo.base import codex_files, ids, streams, turn
from oulipoly_demo.base.codex_files import SessionOpen
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.live import codex_models, wire
from oulipoly_demo.live.codex_thread import Thread
from oulipoly_demo.live.codex_words import LONGEST_INPUT, VERSION, Refused, input_of
from oulipoly_demo.live.wire import Steps, Task, Wire

_LOGIN_S = 0.2
_NEWER = "9.0.0"
_EXPERIMENTAL = ("thread/settings/update", "thread/backgroundTerminals/clean", "collaborationMode/list")


class Server:
    """One process of it."""

    def __init__(self, context: CliContext, model: str | None) -> None:
        """model: what turns are answered by that name none."""
        self.context = context
        self.wire = Wire(self._take_line)
        self._model = turn.model_name("codex", model)
        self._client = ""  # empty before initialize
        self._is_experimental = False
        self._threads: dict[str, Thread] = {}
        self._asked: dict[int, tuple[str, Task]] = {}  # the thread's id
        self._next_id = 0
        self._logins: dict[str, Task] = {}

    def run(self) -> int:
        """Serve until stdin ends; returns the exit code."""
        try:
            return self.wire.run()
        finally:
            for thread in self._threads.values():
                thread.conversation.close()

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell something."""
        later = {"sinceVersion": _NEWER} if self.context.drifts else {}
        stamp = int(self.context.now() * 1000)
        wire.send({"method": method, "params": {**params, **later}, "emittedAtMs": stamp, **later})

    def ask(self, thread_id: str, task: Task, method: str, params: Mapping[str, Any]) -> None:
        """Ask the client; the task is woken with the result, or with None for an error."""
        identity, self._next_id = self._next_id, self._next_id + 1
        self._asked[identity] = (thread_id, task)
        wire.send({"method": method, "id": identity, "params": dict(params)})

    def withdraw(self, thread_id: str) -> None:
        """Take back what a thread has asked: its turn is over."""
        for identity in [one for one, (asking, _) in self._asked.items() if asking == thread_id]:
            del self._asked[identity]
            self.notify("serverRequest/resolved", {"threadId": thread_id, "requestId": identity})

    # Messages --------------------------------------------------------------------------------------------------------
    def _take_line(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError as error:
            streams.complain(f"ERROR codex_app_server_transport: Failed to deserialize JSONRPCMessage: {error}")
            return
        if not isinstance(message, dict) or not line.strip():
            streams.complain("ERROR codex_app_server_transport: Failed to deserialize JSONRPCMessage")
            return
        if "method" not in message:
            self._take_answer(message)
        elif "id" in message:
            self._take_request(message["id"], message["method"], message.get("params") or {})

    def _take_answer(self, message: Mapping[str, Any]) -> None:
        identity = message.get("id")
        if isinstance(identity, int) and identity in self._asked:
            thread_id, task = self._asked.pop(identity)
            self.notify("serverRequest/resolved", {"threadId": thread_id, "requestId": identity})
            self.wire.wake(task, message.get("result"))

    def _take_request(self, identity: int | str, method: str, params: dict[str, Any]) -> None:
        try:
            result, then = self._handler_of(method)(self, params), None
        except Refused as refused:
            error = {"code": refused.code, "message": str(refused)}
            wire.send({"error": error if refused.data is None else error | {"data": refused.data}, "id": identity})
            return
        if isinstance(result, tuple):
            result, then = result
        wire.send({"id": identity, "result": result})
        if then is not None:
            then()

    def _handler_of(self, method: str) -> _Handler:
        if not self._client and method != "initialize":
            raise Refused("Not initialized")
        handler = _HANDLERS.get(method)
        if handler is None:
            known = ", ".join(f"`{name}`" for name in _HANDLERS)
            raise Refused(f"Invalid request: unknown variant `{method}`, expected one of {known}")
        if method in _EXPERIMENTAL and not self._is_experimental:
            raise Refused(f"{method} requires experimentalApi capability")
        return handler

    # The process -----------------------------------------------------------------------------------------------------
    def _initialize(self, params: dict[str, Any]) -> Any:  # noqa: ANN401 - a result as JSON
        if self._client:
            raise Refused("Already initialized")
        name = str((params.get("clientInfo") or {}).get("name") or "")
        if not name:
            raise Refused("Invalid request: missing field `clientInfo`")
        self._client = name
        self._is_experimental = (params.get("capabilities") or {}).get("experimentalApi") is True
        version = _NEWER if self.context.drifts else VERSION
        hello = {"userAgent": f"{name}/{version} (demo) {name}", "codexHome": str(self.context.home)}
        return hello | {"platformFamily": "unix", "platformOs": "linux"}, lambda: self.notify(
            "remoteControl/status/changed", {"status": "disabled", "serverName": "demo", "installationId": "demo"}
        )

    def _read_account(self, _: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        account = {"type": "chatgpt", "email": f"{self.context.account}@demo.invalid", "planType": "pro"}
        return {"account": account if self._is_logged_in else None, "requiresOpenaiAuth": True}

    @property
    def _is_logged_in(self) -> bool:
        return not self._logout_mark.exists()

    @property
    def _logout_mark(self) -> Path:
        return self.context.home / "logged-out"

    def _log_in(self, params: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        login_id, kind = ids.random_uuid(), params.get("type")
        if kind == "apiKey":
            self._logout_mark.unlink(missing_ok=True)
            return {"type": "apiKey"}
        self._logins[login_id] = self.wire.start(self._finish_login(login_id))
        if kind == "chatgptDeviceCode":
            return {"loginId": login_id, "verificationUrl": "https://demo.invalid/device", "userCode": "DEMO-CODE"}
        return {"loginId": login_id, "authUrl": f"https://demo.invalid/login?state={login_id}"}

    def _finish_login(self, login_id: str) -> Steps:
        yield _LOGIN_S
        self._logout_mark.unlink(missing_ok=True)
        del self._logins[login_id]
        self.notify("account/login/completed", {"loginId": login_id, "success": True, "error": None})
        self.notify("account/updated", {"authMode": "chatgpt", "planType": "pro"})

    def _cancel_login(self, params: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        login_id = params.get("loginId")
        task = self._logins.pop(str(login_id), None)
        if task is None:
            return {"status": "notFound"}
        self.wire.stop(task)
        told = {"loginId": login_id, "success": False, "error": "Login was not completed"}
        return {"status": "canceled"}, lambda: self.notify("account/login/completed", told)

    def _log_out(self, _: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        self.context.home.mkdir(parents=True, exist_ok=True)
        self._logout_mark.touch()
        return {}

    def _read_limits(self, _: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        if not self._is_logged_in:
            raise Refused("codex account authentication required to read rate limits")
        return {"rateLimits": codex_models.limits(self.context)}

    def _list_models(self, params: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        return codex_models.page(params.get("cursor"), params.get("limit"))

    # Threads ---------------------------------------------------------------------------------------------------------
    def _start_thread(self, params: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        context = self._context_of(params)
        conversation = codex_files.start(context, source="vscode", now=context.now())
        return self._open(Thread(self, context, conversation, self._model), params)

    def _resume_thread(self, params: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        thread_id = _thread_id(params, "session")
        loaded = self._threads.get(thread_id)
        if loaded is not None:
            return loaded.apply(params)
        context = self._context_of(params)
        try:
            conversation = codex_files.resume(context, thread_id, source="vscode")
        except SessionOpen as error:
            raise Refused(str(error)) from error
        if conversation is None:
            raise Refused(f"no rollout found for thread id {thread_id}")
        result, then = self._open(Thread(self, context, conversation, self._model), params)

        def follow() -> None:
            then()
            self.notify("thread/goal/cleared", {"threadId": thread_id})

        return result, follow

    def _fork_thread(self, params: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        source_id, context = _thread_id(params, "thread"), self._context_of(params)
        try:
            conversation = codex_files.fork(
                context, source_id, last_turn_id=params.get("lastTurnId"), now=context.now()
            )
        except LookupError as error:
            raise Refused(str(error.args[0])) from error
        return self._open(Thread(self, context, conversation, self._model, forked_from=source_id), params)

    def _open(self, thread: Thread, params: dict[str, Any]) -> tuple[dict[str, Any], Callable[[], object]]:
        self._threads[thread.id] = thread
        result = thread.apply(params)
        return result, lambda: self.notify("thread/started", {"thread": thread.describe()})

    def _context_of(self, params: dict[str, Any]) -> CliContext:
        cwd = params.get("cwd")
        return self.context._replace(cwd=Path(cwd)) if isinstance(cwd, str) else self.context

    def _loaded(self, params: dict[str, Any]) -> Thread:
        thread_id = _thread_id(params, "thread")
        thread = self._threads.get(thread_id)
        if thread is None:
            raise Refused(f"thread not found: {thread_id}")
        return thread

    def _list_loaded(self, _: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        return {"data": list(self._threads), "nextCursor": None}

    def _list_turns(self, params: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        return {"data": codex_files.turn_states(self._loaded(params).conversation.path)[::-1], "nextCursor": None}

    # Turns -----------------------------------------------------------------------------------------------------------
    def _start_turn(self, params: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        if "input" not in params:
            raise Refused("Invalid request: missing field `input`")
        thread, text = self._loaded(params), input_of(params)
        if len(text) > LONGEST_INPUT:
            data = {"input_error_code": "input_too_large", "max_chars": LONGEST_INPUT, "actual_chars": len(text)}
            message = f"Input exceeds the maximum length of {LONGEST_INPUT} characters."
            raise Refused(message, code=-32602, data=data)
        return thread.start_turn(text, params)

    def _steer_turn(self, params: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        return self._loaded(params).steer(params)

    def _interrupt_turn(self, params: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        return self._loaded(params).interrupt(str(params.get("turnId")))

    def _compact(self, params: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        return self._loaded(params).compact()

    def _review(self, params: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        if params.get("delivery", "inline") != "inline":
            raise Refused(f"Invalid request: unknown variant `{params['delivery']}`, expected `inline`")
        return self._loaded(params).review(params.get("target") or {})

    def _name(self, params: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        thread, name = self._loaded(params), str(params.get("name"))
        thread.name = name
        return {}, lambda: self.notify("thread/name/updated", {"threadId": thread.id, "threadName": name})

    def _update_settings(self, params: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        self._loaded(params).apply(params)
        return {}

    def _clean(self, params: dict[str, Any]) -> Any:  # noqa: ANN401 - as above
        self._loaded(params)
        return {}


def _thread_id(params: Mapping[str, Any], what: str) -> str:
    thread_id = str(params.get("threadId"))
    if not ids.is_uuid(thread_id):
        raise Refused(f"invalid {what} id: invalid character: expected an optional prefix of `urn:uuid:`")
    return thread_id


_Handler = Callable[[Server, dict[str, Any]], Any]
_HANDLERS: Mapping[str, _Handler] = {
    "initialize": Server._initialize,
    "account/read": Server._read_account,
    "account/rateLimits/read": Server._read_limits,
    "account/login/start": Server._log_in,
    "account/login/cancel": Server._cancel_login,
    "account/logout": Server._log_out,
    "model/list": Server._list_models,
    "thread/start": Server._start_thread,
    "thread/resume": Server._resume_thread,
    "thread/fork": Server._fork_thread,
    "thread/loaded/list": Server._list_loaded,
    "thread/turns/list": Server._list_turns,
    "thread/name/set": Server._name,
    "thread/settings/update": Server._update_settings,
    "thread/compact/start": Server._compact,
    "thread/backgroundTerminals/clean": Server._clean,
    "turn/start": Server._start_turn,
    "turn/steer": Server._steer_turn,
    "turn/interrupt": Server._interrupt_turn,
    "review/start": Server._review,
}
