"""What a thread of the demo's `codex app-server` tells and asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from oulipoly_demo.live import codex_words as words
from oulipoly_demo.live.wire import Steps, Task, Wire


class RunningTurn:
    """The turn that runs."""

    def __init__(self, identity: str, kind: str) -> None:
        """kind: user, review, compact."""
        self.id = identity
        self.kind = kind
        self.started_id = ""  # as turn/started names it: another one in a review; empty before it
        self.task: Task | None = None
        self.steers: list[tuple[str, str | None]] = []  # messages for it, with the client's ids
        self.diff = ""


class Sender(Protocol):
    """The process that a thread is in."""

    wire: Wire

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell something."""

    def ask(self, thread_id: str, task: Task, method: str, params: Mapping[str, Any]) -> None:
        """Ask the client; the task is woken with the result, or with None for an error."""

    def withdraw(self, thread_id: str) -> None:
        """Take back what a thread has asked."""


class Messages:
    """The messages of one thread. `running`: its turn, if one runs."""

    def __init__(self, sender: Sender, thread_id: str, now_ms: int) -> None:
        """now_ms: when the thread was loaded; items are stamped with it."""
        self.sender = sender
        self.running: RunningTurn | None = None
        self._thread_id = thread_id
        self._now_ms = now_ms

    @property
    def turn_id(self) -> str:
        """Return the running turn's id."""
        return "" if self.running is None else self.running.id

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell something of the thread."""
        self.sender.notify(method, {"threadId": self._thread_id, **params})

    def tell_item(self, method: str, item: Mapping[str, Any]) -> None:
        """Tell of an item."""
        stamp = "startedAtMs" if method == "item/started" else "completedAtMs"
        self.notify(method, {"turnId": self.turn_id, "item": dict(item), stamp: self._now_ms})

    def tell_whole(self, item: Mapping[str, Any]) -> None:
        """Tell of an item that ends as it begins."""
        self.tell_item("item/started", item)
        self.tell_item("item/completed", item)

    def tell_delta(self, method: str, identity: str, delta: str, **more: int) -> None:
        """Tell more of an item's text."""
        self.notify(method, {"turnId": self.turn_id, "itemId": identity, "delta": delta, **more})

    def tell_error(self, message: str, info: Any, *, is_retried: bool) -> None:  # noqa: ANN401 - JSON
        """Tell what went wrong."""
        error = words.error_of(message, info)
        self.notify("error", {"turnId": self.turn_id, "error": error, "willRetry": is_retried})

    def tell_retry(self) -> None:
        """Tell that the connection was lost and is made again."""
        info = {"responseStreamDisconnected": {"httpStatusCode": None}}
        self.tell_error("Reconnecting... 1/1", info, is_retried=True)

    def tell_active(self, *flags: str) -> None:
        """Tell that the thread works, and what it waits for."""
        self.notify("thread/status/changed", {"status": {"type": "active", "activeFlags": list(flags)}})

    def tell_start(self, turn_id: str) -> None:
        """Tell that the turn runs."""
        if self.running is not None:
            self.running.started_id = turn_id
        self.tell_active()
        self.notify("turn/started", {"turn": words.turn_of(turn_id, "inProgress")})

    def ask(self, method: str, params: Mapping[str, Any], flag: str) -> Steps:
        """Ask the client and wait for its answer; returns the result, None for an error."""
        running = self.running
        if running is None or running.task is None:
            return None
        self.tell_active(flag)
        ids = {"threadId": self._thread_id, "turnId": running.id, "startedAtMs": self._now_ms}
        self.sender.ask(self._thread_id, running.task, method, ids | dict(params))
        result = yield None
        self.tell_active()
        return result
