"""The answer that an order with an idempotency key has got. Pure."""

from __future__ import annotations

from datetime import datetime

from oulipoly_engine.records import Record

KEY_LIMIT = 200  # characters
BODY_LIMIT = 256 << 10  # bytes of an answer that is kept


class Reply(Record):
    """What was answered; without a status: it is being carried out, or was cut by a kill."""

    digest: str  # of method, path and body
    status: int | None
    content_type: str
    location: str
    body: bytes
    begun_at: datetime
