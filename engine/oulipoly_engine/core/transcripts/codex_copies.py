"""Where a Codex rollout says a message again: for its screens, in what a compaction leaves, in a last word. Pure.

Source: rollouts of 0.60.1, 0.120.0 and 0.169.0 (2026-11). A user's copy follows the message, an agent's goes before it;
0.169 gives an agent's copy the message's id, older ones give none.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from oulipoly_engine.core.text.json_splice import Path, to_json
from oulipoly_engine.core.text.json_splice import elements as elements_of
from oulipoly_engine.records import Record

_ITEMS = {"UserMessage": "user", "AgentMessage": "assistant"}
_EVENTS = {"user_message": "user", "agent_message": "assistant"}
_JOINS = ("", "\n")  # with which the texts of several blocks become one


class Message(Record):
    """A message that the model is sent."""

    line: int
    role: str
    texts: tuple[str, ...]
    item_id: str | None


class Copy(Record):
    """One place that says a message again."""

    line: int
    role: str
    paths: tuple[Path, ...]  # of its texts
    texts: tuple[str, ...]
    item_id: str | None = None
    elements: tuple[Path, ...] = ()  # of lists that keep messages: those which go with it
    is_mention: bool = False  # the line tells more than this

    def says(self, texts: Sequence[str]) -> bool:
        """Return whether it says just that."""
        return list(self.texts) == list(texts) or self._join(texts) is not None

    def with_texts(self, new: Sequence[str]) -> dict[Path, str]:
        """Return the values that make it say something else; as many texts as before, or all in the first one."""
        if len(new) == len(self.paths):
            return {path: to_json(text) for path, text in zip(self.paths, new, strict=True)}
        first, *others = self.paths
        return {first: to_json("".join(new)), **dict.fromkeys(others, '""')}

    def _join(self, texts: Sequence[str]) -> str | None:
        return next((join for join in _JOINS if len(self.texts) == 1 and join.join(texts) == self.texts[0]), None)


def copies_of(documents: Mapping[int, dict[str, Any]], messages: Sequence[Message]) -> dict[int, list[Copy]]:
    """Return the copies of each message, by its line.

    documents: the rollout's objects by line; messages: in the file's order.
    """
    peers = {role: _Peers.of(role, messages) for role in ("user", "assistant")}
    found: dict[int, list[Copy]] = {}
    for line, document in documents.items():
        for copy in _copies(line, document):
            owner = peers[copy.role].owner(copy)
            if owner is not None:
                found.setdefault(owner.line, []).append(copy)
    return found


def without(text: str, gone: Sequence[Path]) -> dict[Path, str]:
    """Return the values that take elements out of lists. gone: the elements' paths."""
    values: dict[Path, str] = {}
    for path in {one[:-1] for one in gone}:
        places = {one[-1] for one in gone if one[:-1] == path}
        left = [element for place, element in enumerate(elements_of(text, path)) if place not in places]
        values[path] = f"[{','.join(left)}]"
    return values


def _copies(line: int, document: dict[str, Any]) -> Iterator[Copy]:
    payload = document.get("payload")
    if not isinstance(payload, dict):
        return
    kind = payload.get("type")
    if document.get("type") == "compacted":
        yield from _history(line, payload)
        yield from _find_retained_copies(line, payload)
    elif document.get("type") != "event_msg":
        return
    elif kind in _EVENTS and isinstance(payload.get("message"), str):
        yield Copy(line, _EVENTS[kind], (("payload", "message"),), (payload["message"],))
    elif kind == "task_complete" and isinstance(payload.get("last_agent_message"), str):
        path: Path = ("payload", "last_agent_message")
        yield Copy(line, "assistant", (path,), (payload["last_agent_message"],), is_mention=True)
    elif kind == "item_completed" and isinstance(payload.get("item"), dict) and payload["item"].get("type") in _ITEMS:
        item = payload["item"]
        yield from _find_content_copies(line, _ITEMS[item["type"]], item, ("payload", "item"), ())


def _history(line: int, payload: dict[str, Any]) -> Iterator[Copy]:
    """Yield what the model is sent in place of everything before; a list beside it says more of each message."""
    history, beside = payload.get("replacement_history"), payload.get("replacement_history_metadata")
    if not isinstance(history, list):
        return
    names = ["replacement_history"]
    if isinstance(beside, list) and len(beside) == len(history):
        names.append("replacement_history_metadata")
    for place, item in enumerate(history):
        if isinstance(item, dict) and item.get("type") == "message" and item.get("role") in ("user", "assistant"):
            elements: tuple[Path, ...] = tuple(("payload", name, place) for name in names)
            yield from _find_content_copies(line, item["role"], item, elements[0], elements)


def _find_retained_copies(line: int, payload: dict[str, Any]) -> Iterator[Copy]:
    """Yield what a compaction keeps for later ones (0.169)."""
    context = payload.get("retained_context")
    for role in ("user", "assistant"):
        found = context.get(f"{role}_messages") if isinstance(context, dict) else None
        for place, item in enumerate(found if isinstance(found, list) else ()):
            if isinstance(item, dict) and isinstance(item.get("text"), str):
                path: Path = ("payload", "retained_context", f"{role}_messages", place)
                item_id = item.get("message_id")
                yield Copy(line, role, ((*path, "text"),), (item["text"],), item_id, (path,))


def _find_content_copies(
    line: int, role: str, item: dict[str, Any], path: Path, elements: tuple[Path, ...]
) -> Iterator[Copy]:
    content = item.get("content")
    blocks = [
        (place, block["text"])
        for place, block in enumerate(content if isinstance(content, list) else ())
        if isinstance(block, dict) and isinstance(block.get("text"), str)
    ]
    if not blocks:
        return
    paths: tuple[Path, ...] = tuple((*path, "content", place, "text") for place, _ in blocks)
    found = item.get("id")
    item_id = found if isinstance(found, str) else None
    yield Copy(line, role, paths, tuple(text for _, text in blocks), item_id, elements)


class _Peers(Record):
    """The messages of one role, in the file's order."""

    messages: list[Message]
    lines: list[int]
    by_id: dict[str, Message]

    @classmethod
    def of(cls, role: str, messages: Sequence[Message]) -> _Peers:
        own = [message for message in messages if message.role == role]
        named = {message.item_id: message for message in own if message.item_id is not None}
        return cls(own, [message.line for message in own], named)

    def owner(self, copy: Copy) -> Message | None:
        """Return the message that a copy is of: by id; else by its text among the nearest."""
        named = self.by_id.get(copy.item_id) if copy.item_id is not None else None
        if named is not None:
            return named if copy.says(named.texts) else None
        place = bisect(self.lines, copy.line)
        if copy.elements:
            return next((message for message in reversed(self.messages[:place]) if copy.says(message.texts)), None)
        near = [*self.messages[max(place - 1, 0) : place], *self.messages[place : place + 1]]
        if copy.role == "assistant" and not copy.is_mention:
            near.reverse()
        return next((message for message in near if copy.says(message.texts)), None)
