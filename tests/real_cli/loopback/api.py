"""A model API on 127.0.0.1: enough of four vendors' protocols for the real claude, codex, opencode and gemini.

Every account answers "NAME heard: PROMPT" until a test gives it another plan. An account is known by its credential:
`sk-ant-oat01-NAME` (claude's login), `sk-ant-api03-NAME` (a key), the header `chatgpt-account-id: NAME` (codex), or a
key that is the name alone (opencode, gemini).
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from loopback import wire, wire_chat, wire_gemini
from loopback.wire import Call, ToolCall

from oulipoly_engine.records import Record, replace

PATIENCE_S = 30.0
_CREDENTIAL = re.compile(r"^(?:Bearer )?(?:sk-ant-oat01-|sk-ant-api03-)?(.*)$")


_RESETS_AT_S = 4_070_908_800  # 2099-01-01
_USAGE = {  # what accounts have used, each the same
    "/api/oauth/usage": {"seven_day": {"utilization": 12, "resets_at": "2099-01-01T00:00:00Z"}, "five_hour": None},
    "/backend-api/wham/usage": {
        "rate_limit": {
            "primary_window": {"used_percent": 12, "reset_at": _RESETS_AT_S, "limit_window_seconds": 604_800},
            "secondary_window": None,
        }
    },
}


class Plan(Record):
    """What an account's next calls get."""

    refusal: str | None = None  # "login", "burst", "spent", "credit" or "server"; None answers
    delay_s: float = 0.0  # before the first byte of whatever is answered; real APIs take a second
    holds_back: bool = False  # begin the answer, then say nothing until the client leaves
    turns: tuple[str, ...] = ()  # what it says in place of an echo, by how often the prompt has "You answered:"
    tool_command: str | None = None  # a shell command that the CLI is asked to run before the answer
    tool: ToolCall | None = None  # another tool that it is asked to use before the answer


class ModelApi:
    """The server, the plans of its accounts, and a log of what it was asked."""

    def __init__(self) -> None:
        self.plans: dict[str, Plan] = {}
        self.refreshes = True  # whether codex may renew its login
        self._calls: list[Call] = []
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._faults: list[BaseException] = []
        self._server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"api": self}))
        self._server.faults = self._faults
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> ModelApi:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()  # joins the threads of open requests
        assert self._faults == [], "the model API itself failed"

    @property
    def calls(self) -> tuple[Call, ...]:
        with self._changed:
            return tuple(self._calls)

    def asked(self) -> list[str]:
        """List the accounts that were asked, each turn of repeated asking once."""
        names = [call.account for call in self.calls]
        return [name for place, name in enumerate(names) if place == 0 or names[place - 1] != name]

    def wait_for_call(self, account: str) -> None:
        """Return once an account has been asked."""
        with self._changed:
            found = self._changed.wait_for(lambda: any(call.account == account for call in self._calls), PATIENCE_S)
        assert found, f"{account} was never asked; asked were {self.asked()}"

    def take(self, call: Call) -> Plan:
        """Note a call and return its account's plan."""
        with self._changed:
            self._calls.append(call)
            self._changed.notify_all()
        return self.plans.get(call.account, Plan())

    def pause(self, seconds: float) -> None:
        """Return after a while, or at the end of the test."""
        self._closing.wait(seconds)

    def hold_back(self, is_gone) -> None:
        """Return when the client has left, or the test has ended."""
        while not is_gone() and not self._closing.wait(0.05):
            pass


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 64

    def handle_error(self, request, client_address) -> None:
        """Keep our own mistakes for the end of the test; a client may leave in the middle, as stopped CLIs do."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            self.faults.append(error)


class _Handler(BaseHTTPRequestHandler):
    api: ModelApi
    timeout = PATIENCE_S

    def log_message(self, *_arguments) -> None:
        pass

    def do_HEAD(self) -> None:
        self._send(200, {})

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path.endswith("/accounts/check"):  # codex wants it before it shows its screen
            account = self.headers.get("chatgpt-account-id", "")
            route = {"account_routing_override": "NO_CONSTRAINT", "workspace_backend_origin": "https://127.0.0.1"}
            self._send(200, {"account_ordering": [account], "accounts": [{"id": account, **route}]})
            return
        if path in _USAGE:
            self._send(200, _USAGE[path])
            return
        self._send(200 if path.endswith("/models") else 404, {"object": "list", "data": [], "models": []})

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(content or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("/v1/messages"):
            self._answer(wire.anthropic_call, wire.anthropic_refusal, wire.anthropic_events, body)
        elif path.endswith("/v1/responses"):
            self._answer(wire.responses_call, wire.responses_refusal, wire.responses_events, body)
        elif path.endswith("/chat/completions"):
            self._answer(wire_chat.call_of, wire_chat.refusal_of, wire_chat.events_of, body)
        elif path.endswith("GenerateContent") or path.endswith(":generateContent"):
            events_of = wire_gemini.events_of if "alt=sse" in self.path else wire_gemini.whole_of
            self._answer(wire_gemini.call_of, wire_gemini.refusal_of, events_of, body)
        elif path.endswith(("/count_tokens", ":countTokens")):
            self._send(200, {"input_tokens": len(content) // 4, "totalTokens": len(content) // 4})
        elif path.endswith("/oauth/token"):
            self._refresh(body)
        else:
            self._send(404, {"error": {"message": f"nothing at {path}"}})

    def _refresh(self, body: dict) -> None:
        if self.api.refreshes:
            token = body.get("refresh_token")
            self._send(200, {"id_token": token, "access_token": token, "refresh_token": token})
        else:
            message = "Your refresh token has already been used to generate a new access token."
            self._send(401, {"error": {"message": message, "code": "refresh_token_reused"}})

    def _answer(self, call_of, refusal_of, events_of, body: dict) -> None:
        limits = {"most_tokens": body.get("max_tokens"), "temperature": body.get("temperature")}
        call = replace(call_of(self._account(), body), **limits)
        plan = self.api.take(call)
        self.api.pause(plan.delay_s)
        if plan.refusal is not None:
            refusal = refusal_of(plan.refusal)
            self._send(refusal.status, refusal.body, refusal.headers)
            return
        wanted = plan.tool
        if plan.tool_command is not None:
            wanted = ToolCall("", {"command": plan.tool_command})
        if call.tool_result is not None or not call.tools:  # calls without tools are for titles and such
            wanted = None
        said = f"heard: {call.prompt}" if call.tool_result is None else f"ran: {call.tool_result}"
        turn = call.prompt.count("\nYou answered:\n")
        text = plan.turns[turn] if turn < len(plan.turns) else f"{call.account} {said}"
        events = list(events_of(text, wanted, body))
        if len(events) == 1:  # asked for as a whole
            self._send(200, events[0])
            return
        with contextlib.suppress(ConnectionError):
            self._stream(events, holds_back=plan.holds_back and bool(call.tools))

    def _account(self) -> str:
        names = ("chatgpt-account-id", "x-api-key", "x-goog-api-key", "authorization")
        credential = next((self.headers[name] for name in names if self.headers.get(name)), "")
        return _CREDENTIAL.match(credential)[1]

    def _send(self, status: int, body: dict, headers: dict[str, str] | None = None) -> None:
        content = b"" if self.command == "HEAD" else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            "content-type": "application/json",
            "content-length": len(content),
            **(headers or {}),
        }.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, events: list[dict], *, holds_back: bool) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for place, event in enumerate(events):
            if holds_back and place == len(events) // 2:
                self.wfile.flush()
                self.api.hold_back(self._is_gone)
                return
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())

    def _is_gone(self) -> bool:
        self.connection.settimeout(0.05)
        try:
            return self.connection.recv(1) == b""
        except TimeoutError:
            return False
        except OSError:
            return True
