"""Sends web push: messages that only one browser can read, by way of the push service of its maker.

The address of that service comes from a browser, so it is called with care: by TLS, at addresses of the whole Internet
alone, as they are resolved for this very call, for some seconds; redirects and what else it answers are not read.
"""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from oulipoly_engine import private_files
from oulipoly_engine.core.checks.alerts import is_of_alert
from oulipoly_engine.core.web import push
from oulipoly_engine.core.web.push import EndpointRefused, Subscription, check_endpoint, is_public, read_keys
from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.facade import diagnostics

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from py_vapid import Vapid

    from oulipoly_engine.core.live.sessions import LiveRequest
    from oulipoly_engine.facade.engine import Engine

TAKES_LOOPBACK = False  # tests have a push service of their own
PATIENCE_S = 10.0  # for one call, from the look-up of its name to its answer
_TRIES, _PAUSE_S = 3, 2.0
_GONE = (404, 410)  # RFC 8030: nobody is there any more
_BUSY, _SERVER_ERROR = 429, 500
_LIFE_S = 24 * 3600  # that a push service may keep a message for a phone that is off, as the token in it lives
_LONGEST_LINE = 1024


class WebPush:
    """What one server sends. Each message has a thread, and those to one device wait for one another."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    @property
    def is_wanted(self) -> bool:
        """Return whether a device has asked to be told."""
        return bool(self._engine.web.push.subscriptions())

    def tell(self, notice_id: str, line: str) -> None:
        """Tell every device that has asked for it of an alert that is no request."""
        for one in self._engine.web.push.subscriptions():
            self._send_later(one, push.tell(notice_id, line), notice_id)

    def tell_request(self, request: LiveRequest, line: str) -> None:
        """Tell every device that has asked for it of a request."""
        for one in self._engine.web.push.subscriptions():
            token = self._engine.web.make_request_token(request.request_id, one)
            message = push.tell_request(request, line, token, may_approve="answer" in one.scopes)
            self._send_later(one, message, request.request_id, token.partition(".")[0])

    def withdraw(self, notice_id: str) -> None:
        """Take a notice back, wherever it was sent to; those of alerts have no token that would tell where."""
        told_of = None if is_of_alert(notice_id) else notice_id
        for one in self._engine.web.push.subscriptions(told_of):
            self._send_later(one, push.withdraw(notice_id), notice_id)

    def _send_later(self, one: Subscription, message: bytes, request_id: str, token_id: str = "") -> None:
        order = (self._turns[one.device_id], one, message, request_id, token_id)
        threading.Thread(target=self._send, args=order, daemon=True, name="web push").start()

    def _send(self, turn: threading.Lock, one: Subscription, message: bytes, request_id: str, token_id: str) -> None:
        with turn:
            try:
                problem = self.deliver(one, message, request_id, token_id)
            except RunnerError as error:
                problem = error.message
        if problem:
            diagnostics.note(f"Warning: no notice reaches the device {one.name!r}: {problem}")

    def deliver(self, one: Subscription, message: bytes, request_id: str, token_id: str = "") -> str:
        """Send a message, and return what is wrong. Raises RunnerError.

        token_id: of the token in a notice, which is not sent once that is worthless.
        """
        problem = ""
        for number in range(_TRIES):
            time.sleep(_PAUSE_S if number else 0)
            if token_id and self._engine.web.closed_devices([token_id, one.device_id]):
                return ""  # it was answered, or the device revoked, meanwhile
            try:
                status = send(self._engine, one, message, request_id, urgency="high" if token_id else "normal")
            except (OSError, ValueError) as error:
                problem = str(error) or "no answer came in time"
                continue
            if status in _GONE:
                self._engine.web.push.unsubscribe(one.device_id, one.endpoint)
                return ""
            if status < 300:
                return ""
            problem = f"its push service answers {status}"
            if status != _BUSY and status < _SERVER_ERROR:
                break
        return problem


def send(engine: Engine, one: Subscription, message: bytes, request_id: str, *, urgency: str) -> int:
    """Send a message and return the status that the push service answers. Raises OSError, ValueError, RunnerError."""
    place = check_endpoint(one.endpoint, takes_loopback=TAKES_LOOPBACK)
    body = _encrypt(one, message)
    signed: dict[str, str] = _vapid(engine).sign(push.claims(place, engine.surroundings.clock.now().timestamp()))
    told = signed | {
        "Host": place.netloc,
        "Content-Type": "application/octet-stream",
        "Content-Encoding": "aes128gcm",
        "Content-Length": str(len(body)),
        "TTL": str(_LIFE_S),
        "Topic": push.topic(request_id),
        "Urgency": urgency,
        "Connection": "close",
    }
    target = f"{place.path or '/'}{'?' if place.query else ''}{place.query}"
    head = "".join(f"{line}\r\n" for line in (f"POST {target} HTTP/1.1", *(f"{key}: {told[key]}" for key in told), ""))
    return asyncio.run(_post(place, head.encode("ascii") + body))


async def _post(place: SplitResult, data: bytes) -> int:
    async with asyncio.timeout(PATIENCE_S):
        reader, writer = await _connect(place)
        try:
            writer.write(data)
            await writer.drain()
            line = await reader.readline()
        finally:
            writer.transport.abort()
    words = line.split()
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        raise ValueError("its push service does not speak HTTP")
    return int(words[1])


async def _connect(place: SplitResult) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to one of the addresses of a name, all of which have to be public."""
    host, port = place.hostname or "", place.port or (443 if place.scheme == "https" else 80)
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = sorted({str(one[4][0]) for one in found}, key=lambda address: (":" in address, address))  # IPv4 first
    if place.scheme == "https" and not all(map(is_public, addresses)):
        raise EndpointRefused("its push service is said to be in the local network: nothing is sent there")
    tls = ssl.create_default_context() if place.scheme == "https" else None
    problem = OSError("its push service has no address")
    for address in addresses:
        try:
            return await asyncio.open_connection(
                address, port, limit=_LONGEST_LINE, ssl=tls, server_hostname=host if tls else None
            )
        except OSError as error:
            problem = error
    raise problem


def check_keys(p256dh: str, auth: str) -> None:
    """Raise UsageInvalid for keys that no message can be encrypted with."""
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - 60 ms, few servers are asked for it

    point, _ = read_keys(p256dh, auth)
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError as error:
        raise UsageInvalid("p256dh is not a point of the curve P-256") from error


def public_key(engine: Engine) -> str:
    """Return our server's public key as browsers want it, base64url. It is made once for all servers of a user."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415 - as above

    point = _vapid(engine).public_key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return base64.urlsafe_b64encode(point).rstrip(b"=").decode()


def _vapid(engine: Engine) -> Vapid:
    from py_vapid import Vapid  # noqa: PLC0415 - as above

    place: Path = engine.surroundings.paths.data / "web" / "push.key"
    if not place.exists():
        made = Vapid()
        made.generate_keys()
        private_files.make_folder(place.parent)
        private_files.keep_first(place, made.private_pem())
    return Vapid.from_pem(place.read_bytes())


def _encrypt(one: Subscription, message: bytes) -> bytes:
    import http_ece  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - as above

    point, secret = read_keys(one.p256dh, one.auth)
    key = ec.generate_private_key(ec.SECP256R1())
    encrypted: bytes = http_ece.encrypt(message, private_key=key, dh=point, auth_secret=secret)
    return encrypted
