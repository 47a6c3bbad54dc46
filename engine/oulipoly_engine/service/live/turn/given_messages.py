"""What a CLI was given as messages: told at once, and no second time when the CLI says it again.

A message for a running turn is told as an item that runs while nobody knows whether the turn has it, then as one that
is completed, or declined (it waits for the turn's end), or interrupted (its process is gone).
"""

from __future__ import annotations

from collections.abc import Callable

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.sessions import QueuedMessage
from oulipoly_engine.records import replace


class SteeringMessages:
    """The messages that were given to the running turn, until it is known whether it has taken them."""

    def __init__(self, say: Callable[[ev.AnyEvent], None]) -> None:
        self._say = say
        self._items: dict[str, tuple[ev.Item, str]] = {}  # by message: the item, and the turn's id
        self._accepted: set[str] = set()  # messages that their CLI has

    def begin(self, message: QueuedMessage, turn_id: str) -> None:
        """Tell that a turn is given a message. Its text holds no secret: that of the store."""
        item = ev.Item(f"steer/{message.message_id}", "user_message", "running", message.text, native_kind=ev.STEERS)
        self._items[message.message_id] = item, turn_id
        self._say(ev.ItemStarted(item, turn_id))

    def settle(self, message_id: str, *, is_taken: bool) -> None:
        """Tell whether the turn has taken a message; of one that is settled already nothing is told."""
        self._end(message_id, "completed" if is_taken else "declined")

    def accept(self, message_id: str) -> None:
        """Take note that the CLI has a message, which its turn has not read yet: it says it again when it has."""
        if message_id in self._items:
            self._accepted.add(message_id)

    def take_echo(self, text: str) -> None:
        """Take what the CLI has said again, without its secrets: the turn has read it."""
        message_id = next((key for key, (item, _turn_id) in self._items.items() if item.text == text), None)
        if message_id is not None:
            self.settle(message_id, is_taken=True)

    def end_turn(self, status: ev.TurnEnd) -> None:
        """Tell of the messages that the CLI has accepted: a turn that was cut off has perhaps not read them."""
        for message_id in tuple(self._accepted):
            self._end(message_id, "completed" if status == "completed" else "interrupted")

    def lose(self, message: QueuedMessage) -> None:
        """Tell that nobody will know whether a message has reached its turn; it may be of another process."""
        if message.message_id not in self._items:
            item = ev.Item(f"steer/{message.message_id}", "user_message", text=message.text, native_kind=ev.STEERS)
            self._items[message.message_id] = item, message.turn_id or ""
        self._end(message.message_id, "interrupted")

    def _end(self, message_id: str, status: ev.ItemStatus) -> None:
        self._accepted.discard(message_id)
        item, turn_id = self._items.pop(message_id, (None, ""))
        if item is not None:
            self._say(ev.ItemEnded(replace(item, status=status), turn_id))


class Echoes:
    """The items by which a CLI says again what it was sent in this turn."""

    def __init__(self) -> None:
        self._awaited = 0
        self._ids: set[str] = set()

    def expect(self) -> None:
        """Take note that a message was sent, which its CLI may say again."""
        self._awaited += 1

    def expect_no_more(self) -> None:
        """Take note that a message was refused: it is not said again."""
        self._awaited = max(0, self._awaited - 1)

    def forget(self) -> None:
        """Begin anew: the turn is over."""
        self._awaited = 0
        self._ids.clear()

    def has(self, event: ev.AnyEvent) -> bool:
        """Tell whether an event is of such an item."""
        if not isinstance(event, ev.ItemStarted | ev.ItemEnded) or event.item.kind != "user_message":
            return False
        if self._awaited and event.item.id not in self._ids:
            self._awaited -= 1
            self._ids.add(event.item.id)
        return event.item.id in self._ids
