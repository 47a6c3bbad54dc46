"""Where devices are told by web push."""

from __future__ import annotations

from oulipoly_engine.core.web.push import Subscription
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.models.web import WebDeviceRow, WebSubscriptionRow


def put(store: Store, one: Subscription) -> None:
    """Keep where a device is told, in place of where it was; a browser that was paired anew is no longer another's."""
    row = WebSubscriptionRow
    with store.write():
        store.run(row.delete().where((row.device_id == one.device_id) | (row.endpoint == one.endpoint)))
        store.insert(row, device_id=one.device_id, endpoint=one.endpoint, p256dh=one.p256dh, auth=one.auth)


def delete(store: Store, device_id: str, endpoint: str | None = None) -> None:
    """Forget where a device is told. endpoint: forget this one, and nothing that came in its place."""
    row = WebSubscriptionRow
    with store.write():
        query = row.delete().where(row.device_id == device_id)
        store.run(query if endpoint is None else query.where(row.endpoint == endpoint))


def list_subscriptions(store: Store, *, request_id: str | None = None) -> tuple[Subscription, ...]:
    """Return where devices are told. request_id: those alone that were told of it."""
    row, device = WebSubscriptionRow, WebDeviceRow
    columns = (row.device_id, row.endpoint, row.p256dh, row.auth, device.name, device.scopes)
    query = row.select(*columns).join(device, on=device.device_id == row.device_id).where(device.revoked_at.is_null())
    if request_id is not None:
        told = device.alias()
        query = query.where(row.device_id.in_(told.select(told.owner_id).where(told.request_id == request_id)))
    found = store.rows(query.order_by(row.device_id))
    rows = (dict(zip((each.name for each in columns), values, strict=True)) for values in found)
    return tuple(Subscription(**one | {"scopes": tuple(one["scopes"].split())}) for one in rows)
