"""The server: how soon it answers with 50 sessions, what a hundred listeners cost, how fast the past is told again."""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from measure import isolated
from report import Limit, Result
from world import World

from rows.live import opened_session
from rows.terminals import private_mib, processor_s

_POST_P95_MS, _PAGE_MS, _REPLAY_S, _MEMORY_MIB, _IDLE_PERCENT = 200.0, 300.0, 1.0, 120.0, 20.0
_SESSIONS, _CLIENTS, _EVENTS, _IDLE_S = 50, 100, 10_000, 10.0


class _Rest:
    """A client with a device's token."""

    def __init__(self, url: str, code: str) -> None:
        self.place = urlsplit(url)
        self.headers = {"content-type": "application/json"}
        self._connection = HTTPConnection(str(self.place.hostname), self.place.port, timeout=30)
        self.headers["authorization"] = f"Bearer {self.ask('POST', '/pair', {'code': code})['token']}"

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
        """Return the answer."""
        self._connection.request(method, path, None if body is None else json.dumps(body), self.headers)
        answer = self._connection.getresponse()
        data = answer.read()
        return json.loads(data) if answer.headers["content-type"] == "application/json" else data

    def listen(self, path: str) -> socket.socket:
        """Return a connection on which events come."""
        listener = socket.create_connection((str(self.place.hostname), self.place.port))
        lines = [f"GET {path} HTTP/1.1", f"host: {self.place.netloc}", "accept: text/event-stream"]
        listener.sendall("\r\n".join((*lines, f"authorization: {self.headers['authorization']}", "", "")).encode())
        return listener


@contextmanager
def _served(world: World, state: str) -> Iterator[tuple[_Rest, Any, str, int]]:
    """Yield a client, the engine, a live session, and the server's process number."""
    with opened_session(world, state) as (engine, session):
        command = [sys.executable, "-m", "oulipoly_tui", "serve", "--json", "--port", "0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, env=dict(os.environ))
        try:
            assert server.stdout is not None  # noqa: S101 - a pipe
            told = json.loads(server.stdout.readline())
            yield _Rest(told["url"], told["code"]), engine, session, server.pid
        finally:
            server.terminate()
            server.wait(10)


def post_message(world: World) -> Result:
    """Measure a POST of a message while 50 sessions are known, 95 %."""

    def work() -> dict[str, float]:
        with _served(world, "serve-post") as (rest, engine, session, pid):
            _add_sessions(engine, session)
            taken, pages = [], []
            for _ in range(world.rounds(100)):
                while rest.ask("GET", f"/sessions/{session}")["busy"]:
                    pass
                began = time.monotonic()
                rest.ask("POST", f"/sessions/{session}/messages", {"content": "hello"})
                taken.append((time.monotonic() - began) * 1000)
                began = time.monotonic()
                rest.ask("GET", "/sessions")
                pages.append((time.monotonic() - began) * 1000)
            mib = private_mib(pid)
        return {"p95": statistics.quantiles(taken, n=100)[94], "list_median": statistics.median(pages), "mib": mib}

    found = isolated(work)
    return Result("POST of a message, 95 %", found["p95"], "ms", Limit(_POST_P95_MS), facts=found)


def listeners(world: World) -> Result:
    """Measure what a hundred listeners cost to whom nothing happens, and what the server holds then."""

    def work() -> dict[str, float]:
        with _served(world, "serve-idle") as (rest, _engine, session, pid), ExitStack() as stack:
            for number in range(_CLIENTS):
                path = "/events" if number % 2 else f"/sessions/{session}/events"
                stack.callback(rest.listen(path).close)
            time.sleep(1.0)
            before = processor_s(pid)
            time.sleep(_IDLE_S)
            share = 100 * (processor_s(pid) - before) / _IDLE_S
            return {"percent": share, "mib": private_mib(pid)}

    found = isolated(work)
    facts = {"mib": found["mib"], "limit_mib": _MEMORY_MIB}
    return Result("100 idle listeners", found["percent"], "% of a core", Limit(_IDLE_PERCENT), facts=facts)


def replay(world: World) -> Result:
    """Measure how long 10,000 events take that were before."""

    def work() -> dict[str, float]:
        with _served(world, "serve-replay") as (rest, engine, session, _pid):
            last = _add_events(engine, session)
            listener = rest.listen(f"/sessions/{session}/events")
            began, tail = time.monotonic(), b""
            while b"id: %d\n" % last not in tail:
                tail = tail[-64:] + listener.recv(1 << 18)
            taken = time.monotonic() - began
            listener.close()
        return {"seconds": taken}

    found = isolated(work)
    return Result("10,000 events told again", found["seconds"], "s", Limit(_REPLAY_S))


def _add_sessions(engine: Any, session: str) -> None:  # noqa: ANN401 - imported late
    from oulipoly_engine.records import replace  # noqa: PLC0415 - the harness itself must stay small
    from oulipoly_engine.store.live import live_sessions  # noqa: PLC0415 - the same

    first = engine.live.find(session)
    with engine._home.lend_store() as store:
        for _ in range(_SESSIONS - 1):
            live_sessions.insert(store, replace(first, session_id=str(uuid.uuid4()), native_id=None))


def _add_events(engine: Any, session: str) -> int:  # noqa: ANN401 - imported late
    from oulipoly_engine.core.live.events import Notice, Numbered  # noqa: PLC0415 - the same
    from oulipoly_engine.store.live import live_events  # noqa: PLC0415 - the same

    with engine._home.lend_store() as store:
        last = live_events.last_number(store, session)
        told = [
            Numbered(last + number, "2026-11-23T00:00:00.000000Z", Notice("x" * 200))
            for number in range(1, _EVENTS + 1)
        ]
        live_events.append(store, session, told)
    return last + _EVENTS
