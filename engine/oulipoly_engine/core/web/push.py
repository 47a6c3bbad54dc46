"""What browsers are told by web push, and where. Pure.

The browser's maker runs a push service (RFC 8030), which gives each browser an address of its own, an endpoint.
Messages are encrypted for that browser alone.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import json
import re
from typing import Any
from urllib.parse import SplitResult, urlsplit

from oulipoly_engine.core.checks.alerts import is_of_alert
from oulipoly_engine.core.live.requests import offered
from oulipoly_engine.core.live.sessions import LiveRequest
from oulipoly_engine.core.text.control_characters import visible_line
from oulipoly_engine.errors import RequestRefused, UsageInvalid
from oulipoly_engine.records import Record

LONGEST_ENDPOINT = 2048  # characters
_LONGEST_LINE = 300  # characters
_LENGTH = 1500  # bytes; every message has as many, so that its length tells nobody anything
_SUBJECT = "mailto:nobody@example.org"  # RFC 8292 wants somebody to write to; Apple refuses names such as localhost
_TOKEN_LIFE_S = 12 * 3600  # of what is shown to the push service; 24 hours at most
_IPV6_OF_EVERYBODY = ipaddress.IPv6Network("2000::/3")


class EndpointRefused(RequestRefused, slug="endpoint-refused"):
    """An endpoint that our server must not call."""


class Subscription(Record):
    """Where one device is told."""

    device_id: str
    endpoint: str
    p256dh: str  # the browser's public key, base64url
    auth: str  # a secret between the browser and us, base64url
    name: str = ""  # of the device
    scopes: tuple[str, ...] = ()


def check_endpoint(endpoint: str, *, takes_loopback: bool = False) -> SplitResult:
    """Return the parts of an endpoint. Raises EndpointRefused.

    takes_loopback: 127.0.0.1 is taken as well, without TLS; for tests.
    """
    try:
        parts = urlsplit(endpoint)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        raise EndpointRefused("the endpoint has to be an https address") from error
    if takes_loopback and parts.scheme == "http" and host == "127.0.0.1":
        return parts
    is_plain = re.fullmatch(r"[!-~]+", endpoint) and len(endpoint) <= LONGEST_ENDPOINT and "@" not in parts.netloc
    if parts.scheme != "https" or not is_plain or not re.search(r"\.[a-z][a-z0-9-]*$", host):
        raise EndpointRefused("the endpoint has to be an https address of the browser's push service")
    return parts


def is_public(address: str) -> bool:
    """Return whether an IP address is one of the whole Internet, rather than of some network of ours."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address) and (
        found not in _IPV6_OF_EVERYBODY or found.sixtofour is not None or found.teredo is not None
    ):
        return False  # some hold another address, which is then the one that is called
    return found.is_global and not found.is_multicast


def read_keys(p256dh: str, auth: str) -> tuple[bytes, bytes]:
    """Return a browser's public key, 65 bytes, and its secret, 16 bytes. Raises UsageInvalid."""
    try:
        point, secret = (base64.b64decode(one + "=" * (-len(one) % 4), b"-_", validate=True) for one in (p256dh, auth))
    except ValueError as error:
        raise UsageInvalid("the keys of a subscription are written in base64url") from error
    if len(point) != 65 or point[0] != 4 or len(secret) != 16:
        raise UsageInvalid("p256dh has to be a public key of 65 bytes, auth a secret of 16")
    return point, secret


def claims(endpoint: SplitResult, now_s: float) -> dict[str, Any]:
    """Return what our server says of itself to a push service (RFC 8292)."""
    audience = f"{endpoint.scheme}://{endpoint.netloc}"
    return {"aud": audience, "exp": int(now_s) + _TOKEN_LIFE_S, "sub": _SUBJECT}


def tell(notice_id: str, line: str) -> bytes:
    """Return the message that tells of an alert that is no request; `request_id` is what every notice is known by."""
    told = {"event": "alert_raised", "request_id": notice_id, "message": visible_line(line)[:_LONGEST_LINE]}
    return _pad(told | {"decisions": [], "token": ""})


def tell_request(request: LiveRequest, line: str, token: str, *, may_approve: bool) -> bytes:
    """Return the message that tells of a request. token: for this request alone."""
    decisions = [decision for decision in offered(request) if may_approve or decision == "deny"]
    told = {"event": "request_opened", "request_id": request.request_id, "message": visible_line(line)}
    return _pad(told | {"decisions": decisions, "token": token})


def withdraw(notice_id: str) -> bytes:
    """Return the message that takes a notice back."""
    return _pad({"event": "alert_over" if is_of_alert(notice_id) else "request_settled", "request_id": notice_id})


def topic(request_id: str) -> str:
    """Return the topic of a request: of messages with the same, a push service keeps the last one."""
    return base64.urlsafe_b64encode(hashlib.sha256(request_id.encode()).digest()).decode()[:32]


def _pad(told: dict[str, Any]) -> bytes:
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace").ljust(_LENGTH)
