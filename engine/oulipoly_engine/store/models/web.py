"""The server's devices, codes, kept answers, notices, and where they are sent."""

from __future__ import annotations

from oulipoly_engine.store.base.orm import BlobField, Check, CompositeKey, Default, IntegerField, TextField
from oulipoly_engine.store.models.base import Row


class WebDeviceRow(Row, table_name="web_devices"):
    """A device, a link, or the token for one request."""

    device_id = TextField(primary_key=True)
    kind = TextField(constraints=[Check("kind IN ('device', 'link', 'request')")])
    name = TextField()
    token_hash = TextField()
    scopes = TextField()  # words, blanks between them
    request_id = TextField(null=True)
    created_at = TextField()
    last_seen_at = TextField(null=True)
    expires_at = TextField(null=True)
    confirmed_until = TextField(null=True)
    revoked_at = TextField(null=True)
    owner_id = TextField(null=True)  # the device that a request's token was sent to


class WebCodeRow(Row, table_name="web_codes"):
    """A code that has not been used yet."""

    code_hash = TextField(primary_key=True)
    name = TextField()
    scopes = TextField()
    expires_at = TextField()


class WebFailureRow(Row, table_name="web_failures"):
    """Wrong tries from one address."""

    address = TextField(primary_key=True)
    failures = IntegerField()
    last_at = TextField()


class WebReplyRow(Row, table_name="web_replies", primary_key=CompositeKey("device_id", "key")):
    """The answer to an order that has an idempotency key."""

    device_id = TextField()
    key = TextField()
    digest = TextField()
    status = IntegerField(null=True)
    content_type = TextField(constraints=[Default("''")])
    location = TextField(constraints=[Default("''")])
    body = BlobField(null=True)
    begun_at = TextField()


class WebNoticeRow(Row, table_name="web_notices"):
    """A request that a person was told of."""

    request_id = TextField(primary_key=True)
    told_at = TextField()
    withdrawn_at = TextField(null=True)


class WebSubscriptionRow(Row, table_name="web_subscriptions"):
    """Where a device is told by web push."""

    device_id = TextField(primary_key=True)
    endpoint = TextField(unique=True)
    p256dh = TextField()
    auth = TextField()


class WebServerRow(Row, table_name="web_servers"):
    """A server that runs, or was killed."""

    pid = IntegerField(primary_key=True)
    url = TextField()
    fingerprint = TextField()
    started_at = TextField()
