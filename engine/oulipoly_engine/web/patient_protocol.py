"""How long the server waits for a client."""

from __future__ import annotations

import asyncio
import socket

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from oulipoly_engine.host.peer_credentials import has_mark
from oulipoly_engine.variables import PARENT_INVOCATION
from oulipoly_engine.web.access.gate import BODY_PATIENCE_S, BY_RUN

HEADERS_PATIENCE_S = 20.0  # for a request's header, also of a second one on the same connection
UPLOAD_PATIENCE_S = BODY_PATIENCE_S + 5.0  # for its body: who reads it gives it up before, and says so
READING_PATIENCE_S = 60.0  # for a client that takes nothing of its answer


class PatientProtocol(H11Protocol):
    """uvicorn's protocol, which gives up who sends half a request or reads no answer: such clients took all places.

    A timer runs while a request is awaited, each time anew, and none while we are at work:

        header (20 s) -> body (25 s) -> answer -> idle, with uvicorn's own timer -> header ...
    """

    upload_patience_s = UPLOAD_PATIENCE_S  # for a body, all of it; or for its next piece
    is_renewed = False  # the time of a body begins anew with each piece

    _timer: asyncio.TimerHandle | None = None
    _reading_timer: asyncio.TimerHandle | None = None
    _awaited: object = None  # what the timer runs for: the client's state, as h11 names it

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait for a request."""
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        if connection is not None and connection.family == socket.AF_UNIX and has_mark(connection, PARENT_INVOCATION):
            self.client = BY_RUN
        self._await_request()

    def data_received(self, data: bytes) -> None:
        """Take what has come."""
        super().data_received(data)
        if self.is_renewed and self._awaited is h11.SEND_BODY:
            self._awaited = None
        self._await_request()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        sent_in_advance, _ = self.conn.trailing_data
        if sent_in_advance or self.conn.their_state is not h11.IDLE:
            self._await_request()

    def pause_writing(self) -> None:
        """Begin to wait for a client that takes nothing."""
        super().pause_writing()
        self._reading_timer = self.loop.call_later(READING_PATIENCE_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on with a client that takes its answer."""
        super().resume_writing()
        _cancel(self._reading_timer)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        super().connection_lost(exc)
        _cancel(self._timer)
        _cancel(self._reading_timer)

    def _await_request(self) -> None:
        state = self.conn.their_state
        if state is self._awaited:
            return
        _cancel(self._timer)
        self._awaited = state
        if state is h11.IDLE:
            self._timer = self.loop.call_later(HEADERS_PATIENCE_S, self._give_up)
        elif state is h11.SEND_BODY:
            self._timer = self.loop.call_later(self.upload_patience_s, self._give_up)

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
