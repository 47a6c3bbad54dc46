"""One turn of codex from its order to its end: its items, its tokens, its last words. Pure.

Items may never complete (after a steer, a retry, an interrupt, in a review), so the turn closes them itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from oulipoly_engine.core.live.events import (
    AnyEvent,
    FileChange,
    Item,
    ItemDelta,
    ItemEnded,
    ItemStarted,
    ItemStatus,
    OrderFailed,
    TurnEnd,
    TurnEnded,
    TurnStarted,
    Usage,
)
from oulipoly_engine.drivers import json_values as fields
from oulipoly_engine.drivers.codex import items, readings
from oulipoly_engine.drivers.codex.readings import NativeError
from oulipoly_engine.drivers.json_values import Json
from oulipoly_engine.records import replace

TurnKind = Literal["user", "review", "compact", ""]
_ENDS: Mapping[str, TurnEnd] = {"failed": "failed", "interrupted": "interrupted", "cancelled": "interrupted"}


class Turn:
    """A turn that is ordered or runs. own_id: ours; empty where codex began the turn by itself."""

    def __init__(self, own_id: str, kind: TurnKind, before: Usage | None = None) -> None:
        """before: what the thread had used; None: nobody told yet."""
        self.own_id = own_id
        self.kind = kind
        self.native_id = ""  # as the reply names it, or turn/started where the reply names none
        self.started_id = ""  # as turn/started names it: another one in a review
        self.error: NativeError | None = None  # that codex does not try again after
        self.has_started = False
        self._is_told = False
        self._items: dict[str, Item] = {}  # open ones
        self._texts: dict[str, list[str]] = {}  # of open ones, from deltas
        self._ended: set[str] = set()
        self._before = before
        self._usage: Usage | None = None
        self._diff = ""
        self._reply = ""

    @property
    def changes(self) -> Mapping[str, tuple[FileChange, ...]]:
        """Return the changes of each open item."""
        return {identity: item.changes for identity, item in self._items.items()}

    def has(self, native_id: str) -> bool:
        """Tell whether a message belongs to this turn; one without an id does, and any while the turn has none yet."""
        return not native_id or not self.native_id or native_id in (self.native_id, self.started_id)

    def ends_with(self, native_id: str) -> bool:
        """Tell whether this id's end is the turn's: in a review, only that of the reply."""
        return not self.native_id or native_id == self.native_id

    def name(self, native_id: str) -> None:
        """Take the id that the reply to the turn's order gives."""
        if self.native_id and self.native_id != native_id:
            self.started_id = self.native_id
        self.native_id = native_id

    def take_start(self, native_id: str) -> None:
        """Take the id that turn/started gives: from now on the turn can be interrupted and steered."""
        self.has_started = True
        self.native_id = self.native_id or native_id
        self.started_id = native_id

    def start(self) -> Iterator[AnyEvent]:
        """Tell once that the turn runs."""
        if not self._is_told:
            self._is_told = True
            yield TurnStarted(self.native_id, turn_id=self.own_id, kind=self.kind)

    def start_item(self, item: Item) -> Iterator[AnyEvent]:
        """Take an item's beginning, or what it is by now."""
        yield from self.start()
        if item.kind == "user_message":
            yield from self.cut_messages()
        if item.id not in self._ended:
            self._items[item.id] = item
            yield ItemStarted(item, turn_id=self.own_id)

    def end_item(self, item: Item) -> Iterator[AnyEvent]:
        """Take a whole item."""
        yield from self.start()
        if item.id in self._ended:
            return
        gathered = self._close(item.id)
        if item.kind == "agent_message" and item.text:
            self._reply = item.text
        yield ItemEnded(item if item.text else replace(item, text=gathered), turn_id=self.own_id)

    def add_text(self, identity: str, delta: items.Delta, text: str) -> Iterator[AnyEvent]:
        """Take more of an item's text."""
        if identity in self._ended:
            return
        if identity not in self._items:
            yield from self.start_item(Item(identity, delta.kind, native_kind=delta.native_kind))
        if text:
            self._texts.setdefault(identity, []).append(text)
            yield ItemDelta(identity, text, kind=delta.kind, stream=delta.stream, turn_id=self.own_id)

    def change_files(self, identity: str, changes: tuple[FileChange, ...]) -> Iterator[AnyEvent]:
        """Take a newer patch of an item."""
        known = self._items.get(identity) or Item(identity, "file_change", native_kind="fileChange")
        title = items.title_of_changes(changes)
        yield from self.start_item(replace(known, changes=changes, title=title))

    def change_plan(self, params: Json) -> Iterator[AnyEvent]:
        """Take the points of the turn's plan."""
        yield from self.start_item(items.decode_plan(f"{self.native_id or self.own_id}-steps", params))

    def take_diff(self, diff: str) -> bool:
        """Tell whether the turn's diff is another than it was: codex repeats it."""
        is_new = diff != self._diff
        self._diff = diff
        return is_new

    def take_usage(self, total: Usage, last: Usage) -> None:
        """Take what the thread has used. The last call cannot be summed up: codex tells one again when a call fails."""
        if self._before is None:
            self._before = readings.subtract_usage(total, last)
        self._usage = readings.subtract_usage(total, self._before)

    def end(self, native: Json) -> Iterator[AnyEvent]:
        """Close the turn as codex tells its end. native: its turn object."""
        status: TurnEnd = _ENDS.get(fields.text(native, "status"), "completed")
        error = None
        if status == "failed":
            told = fields.mapping(native, "error")
            error = readings.decode_error(told) if told else self.error or readings.decode_error({})
        messages = [one for one in fields.objects(native, "items") if fields.text(one, "type") == "agentMessage"]
        self._reply = fields.text(messages[-1], "text") if messages else self._reply
        yield from self._finish(status, error)

    def fail(self, message: str, code: str) -> Iterator[AnyEvent]:
        """Close the turn because of an error."""
        yield from self._finish("failed", NativeError(message, code))

    def refuse(self, message: str, code: str) -> Iterator[AnyEvent]:
        """Take it that codex refuses the order: a message has failed then, any other order is no turn."""
        if self.kind == "user" or self._is_told:
            yield from self.fail(message, code)
        else:
            yield OrderFailed(self.kind, message)

    def close_items(self, status: TurnEnd = "interrupted") -> Iterator[AnyEvent]:
        """End all items that are open, each with the text so far. status: how the turn itself ends."""
        for identity, item in list(self._items.items()):
            gathered = self._close(identity)
            is_plan = item.native_kind == "turnPlan"  # it has no end of its own
            ended_as: ItemStatus = "completed" if is_plan and status == "completed" else "interrupted"
            yield ItemEnded(replace(item, status=ended_as, text=gathered or item.text), turn_id=self.own_id)

    def cut_messages(self) -> Iterator[AnyEvent]:
        """End the agent's messages that are open: what comes between has cut them off, and codex does not end them."""
        for identity, item in list(self._items.items()):
            if item.kind == "agent_message":
                text = self._close(identity)
                yield ItemEnded(replace(item, status="interrupted", text=text or item.text), turn_id=self.own_id)

    def _finish(self, status: TurnEnd, error: NativeError | None) -> Iterator[AnyEvent]:
        yield from self.close_items(status)
        yield TurnEnded(
            status=status,
            message="" if error is None else error.message,
            code="" if error is None else error.code,
            usage=self._usage,
            turn_id=self.own_id,
            reply=self._reply,
        )

    def _close(self, identity: str) -> str:
        self._items.pop(identity, None)
        self._ended.add(identity)
        return "".join(self._texts.pop(identity, ()))
