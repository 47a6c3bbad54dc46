"""An agent's tool calls as items: a call is told bit by bit, and what a later message leaves out stays. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.core.live.events import FileChange, Item, ItemKind
from oulipoly_engine.drivers.json_values import Json, count, listing, mapping, text_of
from oulipoly_engine.drivers.turn_items import change_of
from oulipoly_engine.records import replace

_KINDS: Mapping[str, ItemKind] = {
    "execute": "command",
    "edit": "file_change",
    "delete": "file_change",
    "move": "file_change",
}
_TOLD = ("in_progress", "completed", "failed")  # states whose content is output; before, it is a description


def item_kind(call: Mapping[str, Json]) -> ItemKind:
    """Return what a call is."""
    return _KINDS.get(text_of(call.get("kind")), "tool")


def is_sketch(call: Mapping[str, Json]) -> bool:
    """Tell whether a call does not say yet what it does: its next message will."""
    given = mapping(call.get("rawInput"))
    is_empty = not (given.keys() - {"cwd"}) and not listing(call.get("content"))
    return call.get("status") == "pending" and is_empty


def item_of(call: Mapping[str, Json], before: Item | None, cwd: str) -> Item:
    """Return the item of a call, with what was known of it before."""
    kind = before.kind if before is not None else item_kind(call)
    item = before or Item(text_of(call.get("toolCallId")), kind, native_kind=text_of(call.get("kind")))
    given = mapping(call.get("rawInput"))
    command = command_of(given) if kind == "command" else ""
    changes = changes_of(call) if kind == "file_change" else ()
    return replace(
        item,
        title=command or text_of(call.get("title")) or item.title,
        cwd=(text_of(given.get("cwd")) or item.cwd or cwd) if kind == "command" else "",
        changes=changes or item.changes,
    )


def command_of(given: Mapping[str, Json]) -> str:
    """Return the command of a call's input."""
    command = given.get("command")
    if isinstance(command, list):
        return " ".join(text_of(word) for word in command)
    return text_of(command)


def changes_of(call: Mapping[str, Json]) -> tuple[FileChange, ...]:
    """Return the changes that a call shows; where there is no diff, the files that it is about."""
    parts = [mapping(part) for part in listing(call.get("content"))]
    shown = tuple(
        change_of(text_of(part.get("path")), _old_text(part), text_of(part.get("newText")))
        for part in parts
        if part.get("type") == "diff"
    )
    places = [text_of(mapping(place).get("path")) for place in listing(call.get("locations"))]
    return shown or tuple(FileChange(path) for path in places if path)


def output_of(call: Mapping[str, Json]) -> str | None:
    """Return the whole output so far, where a message tells it."""
    if call.get("status") not in _TOLD:
        return None
    raw = call.get("rawOutput")
    if isinstance(raw, str):
        return raw
    named = mapping(raw)
    for name in ("output", "error", "stdout"):
        if isinstance(named.get(name), str):
            return text_of(named[name])
    texts = [text_in(mapping(part).get("content")) for part in listing(call.get("content"))]
    return "\n".join(text for text in texts if text) or None


def output_piece(call: Mapping[str, Json]) -> str:
    """Return a piece of output, as codex-acp tells it."""
    return text_of(mapping(mapping(call.get("_meta")).get("terminal_output_delta")).get("data"))


def exit_code_of(call: Mapping[str, Json]) -> int | None:
    """Return a command's exit code, where one of the ways to tell it is used."""
    raw = mapping(call.get("rawOutput"))
    told = mapping(mapping(call.get("_meta")).get("terminal_exit")), mapping(raw.get("metadata")), raw
    for place in told:
        for name in ("exit_code", "exitCode", "exit"):
            if isinstance(place.get(name), int):
                return count(place[name])
    return None


def text_in(content: Json) -> str:
    """Return what a content block says; one that is no text is named."""
    block = mapping(content)
    match block.get("type"):
        case "text":
            return text_of(block.get("text"))
        case "resource_link":
            return text_of(block.get("uri"))
        case None:
            return ""
        case other:
            return f"[{other}]"


def _old_text(part: Mapping[str, Json]) -> str | None:
    old = part.get("oldText")
    return old if isinstance(old, str) else None
