"""The items of the running turn until each has ended, and unified diffs out of what CLIs tell of files. Pure.

No CLI closes all that it has opened: an interrupt, a retry and a failure leave items behind. A driver ends them here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oulipoly_engine.core.live.events import (
    AnyEvent,
    FileChange,
    Item,
    ItemDelta,
    ItemEnded,
    ItemKind,
    ItemStarted,
    ItemStatus,
)
from oulipoly_engine.records import replace

_LONGEST_COMPARED = 20_000  # lines of both sides; comparing more takes seconds, and nobody reads it


class TurnItems:
    """Starts and ends items, and says so; every item that starts here ends here once."""

    def __init__(self, say: Callable[[AnyEvent], None]) -> None:
        self._say = say
        self._open: dict[str, Item] = {}
        self._texts: dict[str, list[str]] = {}

    def open_items(self) -> tuple[Item, ...]:
        """Return what is open, oldest first."""
        return tuple(self._open.values())

    def get(self, item_id: str) -> Item | None:
        """Return an open item."""
        return self._open.get(item_id)

    def start(self, item: Item) -> None:
        """Begin an item; one that is open already is brought up to date in silence."""
        if item.id not in self._open:
            self._say(ItemStarted(item))
        self._open[item.id] = item

    def append(self, item_id: str, text: str, stream: str = "") -> None:
        """Add to the text of an open item."""
        item = self._open.get(item_id)
        if item is None or not text:
            return
        self._texts.setdefault(item_id, []).append(text)
        self._say(ItemDelta(item_id, text, item.kind, stream))

    def text(self, item_id: str) -> str:
        """Return what an open item's text is so far."""
        return "".join(self._texts.get(item_id, ()))

    def end(self, item_id: str, status: ItemStatus = "completed", **changes: Any) -> Item | None:  # noqa: ANN401
        """End an open item and return it as it is now. changes: fields of `Item`; its text is what was appended."""
        item = self._open.pop(item_id, None)
        if item is None:
            return None
        gathered = "".join(self._texts.pop(item_id, ())) or item.text
        ended = replace(item, **{"text": gathered, "status": status, **changes})
        self._say(ItemEnded(ended))
        return ended

    def add(self, item: Item) -> None:
        """Begin and end an item that is whole."""
        self._say(ItemStarted(replace(item, status="running")))
        self._say(ItemEnded(item))

    def end_all(self, status: ItemStatus) -> None:
        """End whatever is open."""
        for item_id in tuple(self._open):
            self.end(item_id, status)

    def has(self, *kinds: ItemKind) -> bool:
        """Tell whether an item of one of these kinds is open."""
        return any(item.kind in kinds for item in self._open.values())


def change_of(path: str, old: str | None, new: str) -> FileChange:
    """Return a file's change. old: None where there was no file."""
    return FileChange(path, "add" if old is None else "update", unified_diff(path, old, new))


def whole_file_diff(text: str, sign: str) -> str:
    """Return the diff of a file that comes, with the sign +, or goes, with -."""
    lines = text.splitlines()
    place = f"0,0 +1,{len(lines)}" if sign == "+" else f"1,{len(lines)} +0,0"
    return "\n".join((f"@@ -{place} @@", *(sign + line for line in lines))) + "\n" if lines else ""


def unified_diff(path: str, old: str | None, new: str) -> str:
    """Return a unified diff from one text to another; empty where they are equal or too long to compare."""
    from difflib import unified_diff as compare  # noqa: PLC0415 - 2 ms, only a changed file needs it

    before, after = (old or "").splitlines(), new.splitlines()
    if len(before) + len(after) > _LONGEST_COMPARED:
        return ""
    names = "/dev/null" if old is None else f"a/{path.lstrip('/')}", f"b/{path.lstrip('/')}"
    return "\n".join(compare(before, after, *names, lineterm="")) + "\n" if before != after else ""
