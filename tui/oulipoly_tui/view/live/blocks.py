"""The pieces of a conversation: a message, a tool's call, a note. Each grows in place. Pure."""

from __future__ import annotations

from oulipoly_engine.core.live.events import Item
from oulipoly_engine.records import Record, field
from oulipoly_tui.view.transcript.spans import Tone

BODY = 0  # the part of a block that is folded
_TAIL = 4_000  # characters at the end of a long text, in which its last lines are looked for
_LONG = 60_000  # characters of a text that is laid out line by line: as a whole it would keep the screen waiting


class Block(Record, frozen=False, eq=False):
    """One piece: an item of the CLI, or a note of ours, which has a text and a tone alone."""

    id: str  # the item's; of a note, one that no item has
    at: str  # RFC 3339, UTC
    turn_id: str = ""
    item: Item | None = None  # None: a note
    chunks: list[str] = field(default_factory=list)  # the text so far
    newlines: int = 0  # in the text
    length: int = 0  # of the text, in characters
    beginning: int = 0  # how often the text has begun
    tone: Tone = "dim"  # of a note
    is_outdated: bool = False  # a plan that has been told anew
    waits_for_answer: bool = False  # somebody is asked whether it may be done
    has_heading: bool = False  # the first message of the agent after somebody else's

    @property
    def text(self) -> str:
        """Return the whole text."""
        return self.chunks[0] if len(self.chunks) == 1 else "".join(self.chunks)

    @property
    def is_running(self) -> bool:
        """Tell whether more may come."""
        return self.item is not None and self.item.status == "running"

    @property
    def is_long(self) -> bool:
        """Tell whether the text is too long to be laid out as a whole."""
        return self.length > _LONG

    def tail(self) -> str:
        """Return the end of the text: enough for its last lines, however long it is."""
        found: list[str] = []
        length = 0
        for chunk in reversed(self.chunks):
            found.append(chunk)
            length += len(chunk)
            if length > _TAIL:
                break
        return "".join(reversed(found))[-_TAIL:]

    def take_item(self, item: Item) -> None:
        """Be this item from now on: it begins again, or is whole."""
        self.item = item
        if len(item.text) == self.length and item.text == self.text:
            return  # as it has grown: what is laid out of it stays
        self.chunks, self.newlines, self.length = [], 0, 0
        self.beginning += 1
        if item.text:
            self.add_text(item.text)

    def add_text(self, text: str) -> None:
        """Take more of the text."""
        self.chunks.append(text)
        self.newlines += text.count("\n")
        self.length += len(text)
