"""The items of a running turn that are not whole, with their texts so far. Pure: told events, asked what is open."""

from __future__ import annotations

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.records import replace


class OpenItems:
    """The items of one turn after the other."""

    def __init__(self) -> None:
        self.reply = ""  # the last message of the agent that is whole
        self._items: dict[str, ev.Item] = {}
        self._texts: dict[str, list[str]] = {}  # put together for who comes, and at the end

    @property
    def runs_command(self) -> bool:
        """Return whether a command runs."""
        return any(item.kind == "command" for item in self._items.values())

    def list(self) -> tuple[ev.Item, ...]:
        """Return those that are open, in the order in which they began."""
        return tuple(replace(item, text="".join(self._texts[key])) for key, item in self._items.items())

    def take(self, event: ev.AnyEvent) -> None:
        """Take what has happened."""
        match event:
            case ev.ItemStarted():
                self._items[event.item.id] = event.item
                self._texts[event.item.id] = [event.item.text]
            case ev.ItemDelta() if event.item_id in self._items:
                self._texts[event.item_id].append(event.text)
            case ev.ItemEnded():
                self._items.pop(event.item.id, None)
                self._texts.pop(event.item.id, None)
                is_said = event.item.kind == "agent_message" and event.item.status != "failed"
                if is_said and event.item.text:
                    self.reply = event.item.text
