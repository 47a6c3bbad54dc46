"""Answers to orders with an idempotency key, and notices: each is given once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.checks.alerts import is_of_alert
from oulipoly_engine.core.web.devices import REPLY_LIFE
from oulipoly_engine.core.web.replies import Reply
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.models.web import WebNoticeRow, WebReplyRow


def begin(store: Store, device_id: str, key: str, digest: str, now: datetime) -> Reply | None:
    """Note that an order is carried out; or return what is known of one with the same key."""
    row = WebReplyRow
    with store.write():
        store.run(row.delete().where(row.begun_at <= to_text(now - REPLY_LIFE)))
        found = store.rows(
            row.select(row.digest, row.status, row.content_type, row.location, row.body, row.begun_at).where(
                row.device_id == device_id, row.key == key
            )
        )
        if found:
            kept, status, content_type, location, body, begun_at = found[0]
            return Reply(kept, status, content_type, location, bytes(body or b""), from_text(begun_at))
        store.insert(row, device_id=device_id, key=key, digest=digest, begun_at=to_text(now))
    return None


def keep(store: Store, device_id: str, key: str, reply: Reply) -> None:
    """Keep the answer to an order."""
    row = WebReplyRow
    told = {
        row.status: reply.status,
        row.content_type: reply.content_type,
        row.location: reply.location,
        row.body: reply.body,
    }
    with store.write():
        store.run(row.update(told).where(row.device_id == device_id, row.key == key))


def forget(store: Store, device_id: str, key: str) -> None:
    """Forget an order that has come to nothing, so that it may be tried again."""
    row = WebReplyRow
    with store.write():
        store.run(row.delete().where(row.device_id == device_id, row.key == key))


# Notices -------------------------------------------------------------------------------------------------------------
def claim_notice(store: Store, notice_id: str, now: datetime) -> bool:
    """Note that a person is told of something. Returns whether nobody did it before.

    An alert that was taken back may come again; a request does not.
    """
    row = WebNoticeRow
    with store.write():
        known = store.rows(row.select(row.withdrawn_at).where(row.request_id == notice_id))
        if not known:
            store.insert(row, request_id=notice_id, told_at=to_text(now))
            return True
        if known[0][0] is None or not is_of_alert(notice_id):
            return False
        again = {row.told_at: to_text(now), row.withdrawn_at: None}
        store.run(row.update(again).where(row.request_id == notice_id))
    return True


def claim_withdrawals(
    store: Store, pending: Iterable[str], now: datetime, *, keeps_alerts: bool = False
) -> tuple[str, ...]:
    """Return the notices that a person was given and that are not pending any more; each is returned once.

    keeps_alerts: those that are of no request are left.
    """
    row, waiting = WebNoticeRow, {*pending}
    open_ones = {each[0] for each in store.rows(row.select(row.request_id).where(row.withdrawn_at.is_null()))}
    settled = tuple(one for one in sorted(open_ones - waiting) if not (keeps_alerts and is_of_alert(one)))
    if not settled:
        return ()
    mine = []
    with store.write():
        for identity in settled:
            query = row.update({row.withdrawn_at: to_text(now)})
            if store.run(query.where(row.request_id == identity, row.withdrawn_at.is_null())) == 1:
                mine.append(identity)
    return tuple(mine)
