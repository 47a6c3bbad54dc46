"""What is said before the first turn: initialize, whose login it is, the thread, the models. Pure.

Source: codex 0.169, seen 2026-11.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oulipoly_engine.core.live import failures
from oulipoly_engine.core.live.events import AnyEvent, Notice, SessionFailed, SessionOpened
from oulipoly_engine.core.live.models import ModelPages
from oulipoly_engine.core.live.runtime_status import read_account
from oulipoly_engine.drivers import json_values as fields
from oulipoly_engine.drivers.base import Opening
from oulipoly_engine.drivers.codex import policy, readings
from oulipoly_engine.drivers.json_values import Json
from oulipoly_engine.drivers.jsonrpc import Endpoint, Failure, Settle

CLIENT = {"name": "agent-runner", "title": "Agent Runner", "version": "1"}
_LONGEST_ID = 128  # characters (contract, D.5)
UNKEPT = "--ephemeral"  # as `codex exec` has it: no transcript is written; `app-server` takes it with the thread
_OPERATIONS = {"thread/start": "start a session", "thread/resume": "resume the session", "thread/fork": "fork it"}


class Start:
    """The beginning of a session. `thread_id` is empty until it is open; `is_over` when it is open or has failed."""

    def __init__(self, endpoint: Endpoint, opening: Opening, say: Callable[[AnyEvent], None]) -> None:
        """Prepare it; nothing is said before `begin`. say: takes what has happened."""
        self.thread_id = ""
        self.sandbox: dict[str, Any] = {}
        self.is_over = False
        self._endpoint = endpoint
        self._opening = opening
        self._say = say
        self._policy = policy.policy_of(opening)
        self._opened = SessionOpened("")
        self._version = ""
        self._account = ""
        self._thread: Json = {}
        self._models = ModelPages()

    def begin(self) -> None:
        """Say hello.

        The experimental part of the protocol is asked for: without it there is no way to end a command that outlives an
        interrupt (`thread/backgroundTerminals/clean`), and codex asks no questions in plan mode.
        """
        capabilities = {"experimentalApi": True}
        self._ask("initialize", {"clientInfo": CLIENT, "capabilities": capabilities}, self._take_hello)

    def _ask(self, method: str, params: dict[str, Any], settle: Settle) -> None:
        self._endpoint.request(method, params, settle, patience_s=self._opening.startup_s)

    def _take_hello(self, result: Json, failure: Failure | None) -> None:
        if failure is not None:
            self._fail("initialize", failure)
            return
        self._version = readings.decode_version(result)
        self._endpoint.notify("initialized")
        self._ask("account/read", {}, self._take_account)

    def _take_account(self, result: Json, failure: Failure | None) -> None:
        if failure is not None and failure.kind != "native":
            self._fail("account/read", failure)
            return
        if failure is not None:
            self._warn(f"codex does not tell whose login it uses: {failure.message}", "account_read_failed")
        self._account, needs_login = read_account(fields.mapping(result))
        if needs_login:
            self._end(failures.NEEDS_AUTH, "codex is not logged in")
            return
        if self._opening.is_probe:
            self._ask("model/list", {}, self._take_models)
        else:
            self._open_thread()

    def _open_thread(self) -> None:
        opening = self._opening
        params: dict[str, Any] = {
            "cwd": opening.cwd,
            "approvalPolicy": self._policy.policy,
            "sandbox": self._policy.sandbox,
        }
        if opening.model:
            params["model"] = opening.model
        if UNKEPT in opening.args and not opening.resume:
            params["ephemeral"] = True
        if not opening.resume:
            self._ask("thread/start", params, self._take_thread("thread/start"))
            return
        too_long = next((one for one in (opening.resume, opening.fork_at) if len(one) > _LONGEST_ID), "")
        if too_long:
            self._end(failures.THREAD_LOST, f"'{too_long[:40]}…' is not an id of codex: it is too long")
            return
        params |= {"threadId": opening.resume, "excludeTurns": True}
        if opening.fork and opening.fork_at:
            params["lastTurnId"] = opening.fork_at
        method = "thread/fork" if opening.fork else "thread/resume"
        self._ask(method, params, self._take_thread(method))

    def _take_thread(self, method: str) -> Settle:
        def settle(result: Json, failure: Failure | None) -> None:
            if failure is not None:
                self._fail(method, failure)
                return
            thread = fields.mapping(result, "thread")
            native_id = fields.text(thread, "id") or fields.text(result, "threadId", "id")
            problem = self._find_mismatch(native_id)
            if problem is not None:
                self._end(*problem)
                return
            self.thread_id, self._thread = native_id, result
            self.sandbox = policy.sandbox_of_turns(self._policy, fields.mapping(result, "sandbox"))
            self._check_policy(result)
            self._ask("model/list", {}, self._take_models)

        return settle

    def _find_mismatch(self, native_id: str) -> tuple[str, str] | None:
        asked, is_fork = self._opening.resume, self._opening.fork
        if not native_id:
            return failures.HANDSHAKE_FAILED, "codex opened a session and did not say which: its version may be too new"
        if asked and not is_fork and native_id != asked:
            return failures.THREAD_MISMATCH, f"codex opened session {native_id[:_LONGEST_ID]} instead of {asked}"
        if asked and is_fork and native_id == asked:
            return failures.THREAD_MISMATCH, f"codex continued session {asked} instead of forking it"
        return None

    def _check_policy(self, result: Json) -> None:
        told = policy.describe(result.get("approvalPolicy"), fields.mapping(result, "sandbox"))
        approval, kind = fields.text(result, "approvalPolicy"), fields.text(fields.mapping(result, "sandbox"), "type")
        is_other = approval not in ("", self._policy.policy) or kind not in ("", policy.sandbox_type(self._policy))
        if is_other:
            asked = f"{self._policy.policy}, {self._policy.sandbox}"
            self._warn(
                f"codex opened the session with the permissions `{told}`; `{asked}` is sent with every turn", "policy"
            )

    def _take_models(self, result: Json, failure: Failure | None) -> None:
        if failure is not None and failure.kind == "closed":
            self._fail("model/list", failure)
            return
        if failure is not None:
            self._warn(f"codex does not tell its models: {failure.message}", "model_list_failed")
            self._finish()
            return
        following = self._models.take(fields.mapping(result))
        if following is not None:
            self._ask("model/list", dict(following), self._take_models)
            return
        if self._models.problem:
            self._warn(self._models.problem, "model_list_failed")
        self._finish()

    def _finish(self) -> None:
        if self.is_over:
            return
        self.is_over = True
        thread = fields.mapping(self._thread, "thread")
        self._say(
            SessionOpened(
                native_id=self.thread_id,
                model=fields.text(self._thread, "model") or fields.text(thread, "model"),
                version=self._version or fields.text(thread, "cliVersion"),
                account=self._account,
                models=self._models.models,
                policy=policy.describe(self._thread.get("approvalPolicy"), fields.mapping(self._thread, "sandbox")),
            )
        )

    def _fail(self, method: str, failure: Failure) -> None:
        said = failure.message.lower()
        asked = self._opening.resume
        if failure.kind == "closed":
            self._end(failures.CLOSED, f"codex ended before it answered `{method}`")
        elif failure.kind == "timeout":
            self._end(failures.TIMED_OUT, f"codex did not answer `{method}` within {self._opening.startup_s:g} s")
        elif "already has an active writer" in said:
            self._end(
                failures.ACTIVE_WRITER,
                f"session {asked} is open in another process of codex: close it there, or stop codex's background "
                "service with `codex app-server daemon stop`, or fork the session",
            )
        elif method in _OPERATIONS and readings.is_thread_lost(failure):
            self._end(failures.THREAD_LOST, f"codex does not have session {asked} any more: {failure.message}")
        elif failure.code == readings.OVERLOADED:
            self._end(failures.OVERLOADED, f"codex is overloaded: try again in a while ({failure.message})")
        elif "unknown variant" in said or "unknown method" in said:
            self._end(
                failures.UNSUPPORTED_VERSION,
                f"codex {self._version} cannot {_OPERATIONS.get(method, method)}: update it",
            )
        else:
            self._end(failures.HANDSHAKE_FAILED, f"codex refused `{method}`: {failure.message}")

    def _end(self, reason: str, message: str) -> None:
        if not self.is_over:
            self.is_over = True
            self.thread_id = ""
            self._say(SessionFailed(reason, message))

    def _warn(self, text: str, code: str) -> None:
        self._say(Notice(text, level="warning", code=code))
