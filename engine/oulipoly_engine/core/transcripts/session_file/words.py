"""The two sets of words in session files: version 2's, which are ours, and pi's, of which versions 1 and 3 are. Pure.

Everything that is not named here is the same in both, or unknown, and stays as it is. A name whose translation stands
there already stays too, so that nothing is overwritten. Source: pi 0.7 to 0.87, seen 2026-11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oulipoly_engine.records import Record

_ENTRY = {
    "type": "kind",
    "parentId": "parent_id",
    "firstKeptEntryId": "first_kept_entry_id",
    "firstKeptEntryIndex": "first_kept_entry_index",
    "tokensBefore": "tokens_before",
    "fromHook": "from_hook",
    "fromId": "from_id",
    "targetId": "target_id",
    "customType": "custom_type",
    "modelId": "model_id",
    "thinkingLevel": "thinking_level",
}
_MESSAGE = {
    "model": "model_id",
    "stopReason": "stop_reason",
    "errorMessage": "error_message",
    "toolCallId": "tool_call_id",
    "toolName": "tool_name",
    "isError": "is_error",
    "excludeFromContext": "exclude_from_context",
}
_USAGE = {"cacheRead": "cache_read", "cacheWrite": "cache_write", "totalTokens": "total"}
_BLOCK = {"mimeType": "media_type"}
_ROLES = {"toolResult": "tool_result"}
_BLOCK_TYPES = {"toolCall": "tool_call"}
_FORMER_ROLES = {"hookMessage": "custom"}  # pi's before version 3


class Words(Record):
    """What names and words become, by where they stand."""

    entry: Mapping[str, str]
    message: Mapping[str, str]
    usage: Mapping[str, str]
    block: Mapping[str, str]
    roles: Mapping[str, str]
    block_types: Mapping[str, str]


def _invert(names: Mapping[str, str]) -> dict[str, str]:
    return {ours: theirs for theirs, ours in names.items()}


OURS = Words(_ENTRY, _MESSAGE, _USAGE, _BLOCK, {**_ROLES, **_FORMER_ROLES}, _BLOCK_TYPES)
PIS = Words(*map(_invert, (_ENTRY, _MESSAGE, _USAGE, _BLOCK, _ROLES, _BLOCK_TYPES)))


def translate(record: Mapping[str, Any], words: Words) -> dict[str, Any]:
    """Return a line's object in other words. words: into which."""
    entry = _rename(record, words.entry)
    if isinstance(entry.get("message"), dict):
        entry["message"] = _translate_message(entry["message"], words)
    if "content" in entry:  # of a custom message, which has it beside its own name
        entry["content"] = _translate_content(entry["content"], words)
    return entry


def _translate_message(record: Mapping[str, Any], words: Words) -> dict[str, Any]:
    message = _rename(record, words.message)
    _replace_word(message, "role", words.roles)
    if "content" in message:
        message["content"] = _translate_content(message["content"], words)
    if isinstance(message.get("usage"), dict):
        message["usage"] = _rename(message["usage"], words.usage)
    return message


def _translate_content(content: object, words: Words) -> object:
    if not isinstance(content, list):
        return content
    return [_translate_block(block, words) if isinstance(block, dict) else block for block in content]


def _translate_block(record: Mapping[str, Any], words: Words) -> dict[str, Any]:
    block = _rename(record, words.block)
    _replace_word(block, "type", words.block_types)
    return block


def _rename(record: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    taken = record.keys()
    return {key if (name := names.get(key, key)) in taken else name: value for key, value in record.items()}


def _replace_word(record: dict[str, Any], key: str, words: Mapping[str, str]) -> None:
    word = record.get(key)
    if isinstance(word, str):
        record[key] = words.get(word, word)
