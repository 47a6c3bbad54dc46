"""The server as a process of its own: started from another face, which may end before it does."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NoReturn

from oulipoly_engine.errors import RequestRefused
from oulipoly_engine.host import launcher
from oulipoly_engine.process.liveness import was_alive_at
from oulipoly_engine.records import Record

_MODULE = "oulipoly_engine.web.detached"


class ServerOrder(Record):
    """Where a server listens."""

    address: str = "127.0.0.1"
    port: int | None = None  # None: the usual one, or any where it is taken


def start_server(order: ServerOrder) -> str:
    """Start a server that outlives us, and return its address. Raises RequestRefused, SpawnFailed."""
    told = json.loads(launcher.launch(_MODULE, json.dumps([order.address, order.port]).encode()))
    if error := told.get("error"):
        raise RequestRefused(error)
    return str(told["url"])


def end_server(pid: int, started_at: datetime) -> None:
    """Ask a server to end, unless its process is gone already."""
    if was_alive_at(pid, started_at):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)


def run_detached(go_on: Callable[[ServerOrder, Callable[[dict[str, str]], None]], None], log: Path) -> NoReturn:
    """Serve, in the process that `start_server` has begun.

    go_on: is called with the order and with what tells the answer, once.
    """
    address, port = json.loads(launcher.read_order())

    def tell(answer: dict[str, str]) -> None:
        launcher.answer(json.dumps(answer).encode(), log)

    launcher.detach(lambda: go_on(ServerOrder(address, port), tell))
