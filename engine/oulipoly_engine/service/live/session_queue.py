"""Messages that wait for their turn: checked, changed by people, told to scripts."""

from __future__ import annotations

from typing import Any

from oulipoly_engine.core.live.orders import ChangeQueue
from oulipoly_engine.core.live.requests import MessageGone
from oulipoly_engine.core.live.sessions import QueuedMessage
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_queue

TEXT_LIMIT = 1 << 20  # characters of one message: codex takes no more


def change_queue(store: Store, session_id: str, order: ChangeQueue) -> None:
    """Edit, move or take back a waiting message. Raises MessageGone when it does not wait any more."""
    identity = order.message_id
    waiting = {message.message_id for message in live_queue.waiting(store, session_id)}
    if identity not in waiting:
        raise MessageGone(f"no message {identity!r} waits: it was sent meanwhile, or taken back")
    match order.act:
        case "edit":
            done = live_queue.edit(store, identity, check_text(order.text))
        case "move":
            done = live_queue.move(store, session_id, identity, order.place)
        case "remove":
            done = live_queue.change(store, identity, "revoke")
        case _:
            raise UsageInvalid(f"a queued message can be edited, moved or removed, not {order.act!r}")
    if not done:
        raise MessageGone(f"the message {identity} was sent meanwhile")


def describe_message(message: QueuedMessage) -> dict[str, Any]:
    """Return a waiting message as scripts get it."""
    return {"message_id": message.message_id, "text": message.text, "note": message.note}


def check_text(text: str, limit: int = TEXT_LIMIT) -> str:
    """Return the text of an order. Raises UsageInvalid where it is empty or too long."""
    if not text.strip():
        raise UsageInvalid("the message is empty")
    if len(text) > limit:
        raise UsageInvalid(f"the message has {len(text):,} characters, and {limit:,} are the limit")
    return text
