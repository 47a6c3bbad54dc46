"""Messages for the running turn: each is sent once, and settled once. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oulipoly_engine.core.live.events import AnyEvent, SteerSettled
from oulipoly_engine.drivers.base import STEER_LIMIT
from oulipoly_engine.drivers.codex.turn import Turn
from oulipoly_engine.drivers.json_values import Json
from oulipoly_engine.drivers.jsonrpc import Endpoint, Failure, Settle


class Steers:
    """The messages that are not settled."""

    def __init__(self, endpoint: Endpoint, say: Callable[[AnyEvent], None]) -> None:
        """say: takes what has happened."""
        self._endpoint = endpoint
        self._say = say
        self._texts: dict[str, str] = {}  # those that wait for turn/started
        self._sent: set[str] = set()

    def add(self, message_id: str, text: str, turn: Turn | None) -> None:
        """Take a message; what the turn cannot take is refused at once."""
        if message_id in self._texts or message_id in self._sent:
            return
        if turn is None:
            self._refuse(message_id, "no turn is running")
        elif turn.kind in ("review", "compact"):
            self._refuse(message_id, f"codex takes no messages while it does a {turn.kind}")
        elif not 1 <= len(text) <= STEER_LIMIT:
            self._refuse(message_id, f"a message for a running turn has 1 to {STEER_LIMIT} characters")
        else:
            self._texts[message_id] = text

    def send(self, thread_id: str, turn: Turn) -> None:
        """Send what waits, bound to the turn, so that no other one takes it."""
        for message_id, text in self._texts.items():
            self._sent.add(message_id)
            params: dict[str, Any] = {
                "threadId": thread_id,
                "expectedTurnId": turn.native_id,
                "input": [{"type": "text", "text": text}],
                "clientUserMessageId": message_id,
            }
            # No time-out: a message that codex takes after it would be sent a second time.
            self._endpoint.request("turn/steer", params, self._settle(message_id), patience_s=None)
        self._texts.clear()

    def accept(self, message_id: str) -> None:
        """Take that codex has a message."""
        if message_id in self._sent:
            self._sent.discard(message_id)
            self._say(SteerSettled(message_id, "accepted"))

    def refuse_all(self, why: str) -> None:
        """Give back what is not settled."""
        for message_id in [*self._texts, *self._sent]:
            self._refuse(message_id, why)

    def _settle(self, message_id: str) -> Settle:
        def settle(_: Json, failure: Failure | None) -> None:
            if failure is None:
                self.accept(message_id)
            elif message_id in self._sent:
                self._refuse(message_id, failure.message)

        return settle

    def _refuse(self, message_id: str, why: str) -> None:
        self._texts.pop(message_id, None)
        self._sent.discard(message_id)
        self._say(SteerSettled(message_id, "refused", why))
