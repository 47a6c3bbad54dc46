"""`codex app-server`: JSON-RPC in lines without a version, many threads in one process.

Source: Codex 0.169, seen 2026-11; methods, errors and the order of messages are its own. Unlike the real one it asks
questions in every mode, not in plan mode alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from oulipoly_demo.base import codex_files, ids, turn
from oulipoly_demo.base.codex_files import SessionOpen
from oulipoly_demo.base.context import CliContext
from oulipoly_demo.live import codex_models, wire
from oulipoly_demo.live.codex_thread import Thread
from oulipoly_demo.live.codex_words import LONGEST_INPUT, VERSION
from oulipoly_demo.live.rpc import Refused, Reply, Server, text_of
from oulipoly_demo.live.wire import Steps, Task

_LOGIN_S = 0.2
_NEWER = "9.0.0"
_EXPERIMENTAL = ("thread/settings/update", "thread/backgroundTerminals/clean", "collaborationMode/list")


class CodexServer(Server):
    """One process of it."""

    def __init__(self, context: CliContext, model: str | None) -> None:
        """model: what turns are answered by that name none."""
        super().__init__(context)
        self._model = turn.model_name("codex", model)
        self._client = ""  # empty before initialize
        self._is_experimental = False
        self._threads: dict[str, Thread] = {}
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

    def serve(self, identity: Any, method: str, params: dict[str, Any]) -> Reply:  # noqa: ANN401 - JSON
        """Do what a request asks for. Raises Refused."""
        if not self._client and method != "initialize":
            raise Refused("Not initialized")
        if method in _EXPERIMENTAL and not self._is_experimental:
            raise Refused(f"{method} requires experimentalApi capability")
        if method == "thread/start":
            context = self._context_of(params)
            conversation = codex_files.start(context, source="vscode", now=context.now())
            return self._open(Thread(self, context, conversation, self._model), params)
        if method == "thread/resume":
            return self._resume_thread(params)
        if method == "thread/fork":
            return self._fork_thread(params)
        if method in _OF_THREADS:
            return _OF_THREADS[method](self._loaded(params), params)
        return self._serve_process(method, params)

    # The process -----------------------------------------------------------------------------------------------------
    def _serve_process(self, method: str, params: dict[str, Any]) -> Reply:
        match method:
            case "initialize":
                return self._initialize(params)
            case "account/read":
                account = {"type": "chatgpt", "email": f"{self.context.account}@demo.invalid", "planType": "pro"}
                return Reply({"account": account if self._is_logged_in else None, "requiresOpenaiAuth": True})
            case "account/rateLimits/read":
                if not self._is_logged_in:
                    raise Refused("codex account authentication required to read rate limits")
                return Reply({"rateLimits": codex_models.limits(self.context)})
            case "account/login/start":
                return self._log_in(params)
            case "account/login/cancel":
                return self._cancel_login(params)
            case "account/logout":
                self.context.home.mkdir(parents=True, exist_ok=True)
                self._logout_mark.touch()
                return Reply({})
            case "model/list":
                return Reply(codex_models.page(params.get("cursor"), params.get("limit")))
            case "thread/loaded/list":
                return Reply({"data": list(self._threads), "nextCursor": None})
            case _:
                raise Refused(f"Invalid request: unknown variant `{method}`, expected one of `initialize`, ...")

    def _initialize(self, params: dict[str, Any]) -> Reply:
        if self._client:
            raise Refused("Already initialized")
        name = str((params.get("clientInfo") or {}).get("name") or "")
        if not name:
            raise Refused("Invalid request: missing field `clientInfo`")
        self._client = name
        self._is_experimental = (params.get("capabilities") or {}).get("experimentalApi") is True
        version = _NEWER if self.context.drifts else VERSION
        hello = {"userAgent": f"{name}/{version} (demo) {name}", "codexHome": str(self.context.home)}
        status = {"status": "disabled", "serverName": "demo", "installationId": "demo"}
        return Reply(
            hello | {"platformFamily": "unix", "platformOs": "linux"},
            lambda: self.notify("remoteControl/status/changed", status),
        )

    @property
    def _is_logged_in(self) -> bool:
        return not self._logout_mark.exists()

    @property
    def _logout_mark(self) -> Path:
        return self.context.home / "logged-out"

    def _log_in(self, params: dict[str, Any]) -> Reply:
        login_id, kind = ids.random_uuid(), params.get("type")
        if kind == "apiKey":
            self._logout_mark.unlink(missing_ok=True)
            return Reply({"type": "apiKey"})
        self._logins[login_id] = self.wire.start(self._finish_login(login_id))
        if kind == "chatgptDeviceCode":
            device = {"verificationUrl": "https://demo.invalid/device", "userCode": "DEMO-CODE"}
            return Reply({"loginId": login_id, **device})
        return Reply({"loginId": login_id, "authUrl": f"https://demo.invalid/login?state={login_id}"})

    def _finish_login(self, login_id: str) -> Steps:
        yield _LOGIN_S
        self._logout_mark.unlink(missing_ok=True)
        del self._logins[login_id]
        self.notify("account/login/completed", {"loginId": login_id, "success": True, "error": None})
        self.notify("account/updated", {"authMode": "chatgpt", "planType": "pro"})

    def _cancel_login(self, params: dict[str, Any]) -> Reply:
        login_id = params.get("loginId")
        task = self._logins.pop(str(login_id), None)
        if task is None:
            return Reply({"status": "notFound"})
        self.wire.stop(task)
        outcome = {"loginId": login_id, "success": False, "error": "Login was not completed"}
        return Reply({"status": "canceled"}, lambda: self.notify("account/login/completed", outcome))

    # Threads ---------------------------------------------------------------------------------------------------------
    def _resume_thread(self, params: dict[str, Any]) -> Reply:
        thread_id = _thread_id(params, "session")
        loaded = self._threads.get(thread_id)
        if loaded is not None:
            return Reply(loaded.apply(params))
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

        return Reply(result, follow)

    def _fork_thread(self, params: dict[str, Any]) -> Reply:
        source_id, context = _thread_id(params, "thread"), self._context_of(params)
        try:
            conversation = codex_files.fork(
                context, source_id, last_turn_id=params.get("lastTurnId"), now=context.now()
            )
        except LookupError as error:
            raise Refused(str(error.args[0])) from error
        return self._open(Thread(self, context, conversation, self._model, forked_from=source_id), params)

    def _open(self, thread: Thread, params: dict[str, Any]) -> Reply:
        self._threads[thread.id] = thread
        result = thread.apply(params)
        return Reply(result, lambda: self.notify("thread/started", {"thread": thread.describe()}))

    def _context_of(self, params: dict[str, Any]) -> CliContext:
        cwd = params.get("cwd")
        return self.context._replace(cwd=Path(cwd)) if isinstance(cwd, str) else self.context

    def _loaded(self, params: dict[str, Any]) -> Thread:
        thread_id = _thread_id(params, "thread")
        thread = self._threads.get(thread_id)
        if thread is None:
            raise Refused(f"thread not found: {thread_id}")
        return thread


def _thread_id(params: Mapping[str, Any], what: str) -> str:
    thread_id = str(params.get("threadId"))
    if not ids.is_uuid(thread_id):
        raise Refused(f"invalid {what} id: invalid character: expected an optional prefix of `urn:uuid:`")
    return thread_id


def _start_turn(thread: Thread, params: dict[str, Any]) -> Reply:
    if "input" not in params:
        raise Refused("Invalid request: missing field `input`")
    text = text_of(params["input"])
    if len(text) > LONGEST_INPUT:
        data = {"input_error_code": "input_too_large", "max_chars": LONGEST_INPUT, "actual_chars": len(text)}
        raise Refused(f"Input exceeds the maximum length of {LONGEST_INPUT} characters.", code=-32602, data=data)
    return thread.start_turn(text, params)


def _review(thread: Thread, params: dict[str, Any]) -> Reply:
    if params.get("delivery", "inline") != "inline":
        raise Refused(f"Invalid request: unknown variant `{params['delivery']}`, expected `inline`")
    return thread.review(params.get("target") or {})


def _update_settings(thread: Thread, params: dict[str, Any]) -> Reply:
    thread.apply(params)
    return Reply({})


_OF_THREADS: Mapping[str, Callable[[Thread, dict[str, Any]], Reply]] = {
    "thread/turns/list": lambda thread, _: Reply(
        {"data": codex_files.turn_states(thread.conversation.path)[::-1], "nextCursor": None}
    ),
    "thread/name/set": lambda thread, params: thread.rename(str(params.get("name"))),
    "thread/settings/update": _update_settings,
    "thread/compact/start": lambda thread, _: thread.compact(),
    "thread/backgroundTerminals/clean": lambda _thread, _params: Reply({}),
    "turn/start": _start_turn,
    "turn/steer": lambda thread, params: Reply(thread.steer(params)),
    "turn/interrupt": lambda thread, params: thread.interrupt_turn(str(params.get("turnId"))),
    "review/start": _review,
}
