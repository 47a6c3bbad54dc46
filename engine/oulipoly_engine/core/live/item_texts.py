"""An item without the texts that an entry holds as well, and with them again; an entry as an item. Pure.

What an entry cannot tell stays with the event: what the item is, how it ended, its exit code, whose turn it was.
"""

from __future__ import annotations

from collections.abc import Iterator

from oulipoly_engine.core.live.events import FileChange, Item, ItemKind
from oulipoly_engine.core.transcripts.entry_text import passages
from oulipoly_engine.records import replace

REMOVED = "[its entry was removed]"
_MESSAGES = ("user_message", "agent_message", "review", "compaction")


def shorten_item(item: Item, body: str | None) -> Item | None:
    """Return an item without the texts that an entry's body holds, word for word; None: it holds none of them."""
    without_text = replace(item, text="")
    changes = tuple(replace(change, diff="") for change in item.changes)
    for short in (replace(without_text, changes=changes), without_text):
        if short != item and complete_item(short, body) == item:
            return short
    return None


def complete_item(item: Item, body: str | None) -> Item:
    """Return an item that was shortened with the texts of its entry's body. body: None: the entry is gone."""
    if body is None:
        return replace(item, text=REMOVED)
    texts = join_texts(body)
    if item.kind in _MESSAGES:
        return replace(item, text=texts.get("text") or texts.get("context", ""))
    if item.kind == "reasoning":
        return replace(item, text=texts.get("thinking", ""))
    changes = tuple(_complete_changes(item.changes, texts.get("tool_use", "")))
    return replace(item, text=texts.get("tool_result", ""), changes=changes[::-1])


def make_item(entry_id: str, role: str, body: str | None, *, is_compaction: bool) -> Item:
    """Return the item that an entry is by its role and the types of its chunks, for one that no live session has."""
    texts = join_texts(body)
    kind: ItemKind = "tool"
    if is_compaction:
        kind = "compaction"
    elif "text" in texts:
        kind = "agent_message" if role == "assistant" else "user_message"
    elif [*texts] == ["thinking"]:
        kind = "reasoning"
    title = "" if "text" in texts else " ".join(texts)
    return Item(entry_id, kind, "completed", "\n".join(texts.values()), title)


def join_texts(body: str | None) -> dict[str, str]:
    """Return what a body says, by the types of its chunks."""
    texts: dict[str, list[str]] = {}
    for passage in passages(body):
        texts.setdefault(passage.kind, []).append(passage.text)
    return {kind: "\n".join(parts) for kind, parts in texts.items()}


def _complete_changes(changes: tuple[FileChange, ...], call: str) -> Iterator[FileChange]:
    """Yield changes with their diffs, the last one first; each stands in the call's text behind its kind and path."""
    rest = f"\n{call}"
    for change in reversed(changes):
        rest, _, diff = rest.rpartition(f"\n{change.kind} {change.path}")
        yield change if change.diff else replace(change, diff=diff.removeprefix("\n"))
