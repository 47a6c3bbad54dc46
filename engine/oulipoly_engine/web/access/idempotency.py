"""An order with an Idempotency-Key is carried out once, however often it is sent.

The key belongs to a device, and goes with method, path and body. What was refused may be sent again: nothing was done.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response

from oulipoly_engine.core.web.replies import BODY_LIMIT, KEY_LIMIT, Reply
from oulipoly_engine.web.base.errors import answer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from oulipoly_engine.facade.engine import Engine
    from oulipoly_engine.web.access.viewer import Viewer

_FIRST_ERROR = 400


async def serve_once(
    app: ASGIApp, engine: Engine, viewer: Viewer | None, body: bytes, scope: Scope, receive: Receive, send: Send
) -> None:
    """Serve an order, or give it the answer that it got before. receive: gives what comes after the body."""
    untold: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return untold.pop() if untold else await receive()

    key = Headers(scope=scope).get("idempotency-key", "")
    if viewer is None or not key:
        await app(scope, replay, send)
        return
    if len(key) > KEY_LIMIT or not key.isprintable():
        await answer(400, "invalid-argument", f"an idempotency key has up to {KEY_LIMIT} characters")(
            scope, receive, send
        )
        return
    named = f"{scope['method']} {scope['path']}?{scope['query_string'].decode('latin-1')}\0".encode()
    digest = hashlib.sha256(named + body).hexdigest()
    known = await run_in_threadpool(engine.web.begin_reply, viewer.device_id, key, digest)
    if known is not None:
        await _repeat(known, digest)(scope, receive, send)
        return
    kept = _Kept(send)
    try:
        await app(scope, replay, kept.send)
    finally:
        reply = kept.reply(digest, engine)
        if reply is None:
            await run_in_threadpool(engine.web.forget_reply, viewer.device_id, key)
        else:
            await run_in_threadpool(engine.web.keep_reply, viewer.device_id, key, reply)


def _repeat(known: Reply, digest: str) -> Response:
    if known.digest != digest:
        return answer(422, "key-reused", "this idempotency key was sent with another order")
    if known.status is None:
        return answer(409, "order-under-way", "this order is under way, or was cut off: look what became of it")
    headers = {"idempotent-replayed": "true"} | ({"location": known.location} if known.location else {})
    return Response(known.body, known.status, headers, known.content_type or None)


class _Kept:
    """An answer on its way, and what it was."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._status, self._headers = 500, Headers()
        self._body = bytearray()
        self._is_whole = False

    async def send(self, message: Message) -> None:
        """Pass a message on."""
        if message["type"] == "http.response.start":
            self._status, self._headers = message["status"], Headers(raw=message["headers"])
        else:
            if len(self._body) <= BODY_LIMIT:
                self._body += message.get("body", b"")
            self._is_whole = not message.get("more_body", False)
        await self._send(message)

    def reply(self, digest: str, engine: Engine) -> Reply | None:
        """Return what is to be kept; None: nothing was done, or it is too large."""
        if self._status >= _FIRST_ERROR or not self._is_whole or len(self._body) > BODY_LIMIT:
            return None
        location = self._headers.get("location", "")
        content_type, now = self._headers.get("content-type", ""), engine.surroundings.clock.now()
        return Reply(digest, self._status, content_type, location, bytes(self._body), now)
