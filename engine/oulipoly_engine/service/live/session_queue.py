"""Messages that wait for their turn: checked, changed by people, told to scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oulipoly_engine.core.live.requests import MessageGone
from oulipoly_engine.core.live.sessions import QueuedMessage
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_queue

TEXT_LIMIT = 1 << 20  # characters of one message: codex takes no more


def change_queue(store: Store, session_id: str, data: Mapping[str, Any]) -> None:
    """Edit, move or take back a waiting message. Raises MessageGone when it does not wait any more."""
    identity, act = str(data.get("message_id", "")), str(data.get("act", ""))
    waiting = {one.message_id for one in live_queue.waiting(store, session_id)}
    if act and identity not in waiting:
        raise MessageGone(f"no message {identity!r} waits: it was sent meanwhile, or taken back")
    match act:
        case "":
            done = True
        case "edit":
            done = live_queue.edit(store, identity, read_text(data, TEXT_LIMIT))
        case "move":
            done = live_queue.move(store, session_id, identity, int(data.get("place", 1)))
        case "remove":
            done = live_queue.change(store, identity, "revoke")
        case _:
            raise UsageInvalid(f"a queued message can be edited, moved or removed, not {act!r}")
    if not done:
        raise MessageGone(f"the message {identity} was sent meanwhile")


def describe_message(message: QueuedMessage) -> dict[str, Any]:
    """Return a waiting message as scripts get it."""
    return {"message_id": message.message_id, "text": message.text, "note": message.note}


def read_text(data: Mapping[str, Any], limit: int = TEXT_LIMIT) -> str:
    """Return the text of an order. Raises UsageInvalid where it is empty or too long."""
    text = str(data.get("text", ""))
    if not text.strip():
        raise UsageInvalid("the message is empty")
    if len(text) > limit:
        raise UsageInvalid(f"the message has {len(text):,} characters, and {limit:,} are the limit")
    return text
