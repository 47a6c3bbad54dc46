"""An endless answer (server-sent events) that ends when its client leaves, does not read, or is dropped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from oulipoly_engine.web.api.streams import Dropped, Listener

_GRACE_S = 1.0  # for a dropped client to take what is on its way


class EventStream(Response):
    """The answer."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes, None], listener: Listener) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._events, self._listener = events, listener

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until one side ends it."""
        told = asyncio.create_task(self._tell(send))
        left = asyncio.create_task(_wait_until_left(receive))
        dropped = asyncio.create_task(self._listener.dropped())
        try:
            await asyncio.wait((told, left, dropped), return_when=asyncio.FIRST_COMPLETED)
            if dropped.done():
                await asyncio.wait((told,), timeout=_GRACE_S)
        finally:
            for task in (told, left, dropped):
                task.cancel()
            await asyncio.gather(told, left, dropped, return_exceptions=True)
            await self._events.aclose()  # it lets go of the listener; else only the garbage collector would, some day

    async def _tell(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        with suppress(Dropped):
            async for data in self._events:
                await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _wait_until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
