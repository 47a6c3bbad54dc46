"""What is held back of a one-shot's stdout until it is known not to be a failure's.

The contract forwards no stdout of a failed run, and a failed run may be followed by one on another account; but bytes
are passed on as they come. Both hold by keeping back the head: real CLIs print a failure as one short text and exit at
once (claude 2.1.50 to 2.1.329: on stdout), and an answer goes on for longer, or is longer.
"""

from __future__ import annotations

from collections.abc import Callable

HEAD_LIMIT = 64 << 10  # bytes; as much as a pipe holds
HEAD_PATIENCE_S = 0.25  # a failing claude or codex exits within 50 ms of its error text (seen 2026-11)
# Lines with which an event stream begins long before the CLI knows whether the call will work.
_PREAMBLE_MARKS = (
    b'"type":"system"',  # claude's init and its retries
    b'"type":"rate_limit_event"',
    b'"type":"thread.started"',  # codex
    b'"type":"turn.started"',
    b'"message":"Reconnecting...',
)


class OutputGate:
    """Passes bytes on, after a head that can still be taken back."""

    def __init__(self, forward: Callable[[bytes | memoryview], None], monotonic: Callable[[], float]) -> None:
        self._forward = forward
        self._monotonic = monotonic
        self._head = bytearray()
        self._since: float | None = None
        self.is_open = False
        self.forwarded = 0  # bytes
        self.last_byte: int | None = None  # of what was forwarded

    def feed(self, data: memoryview) -> None:
        """Take bytes as they come."""
        if self.is_open:
            self._pass(data)
            return
        self._head += data
        if len(self._head) > HEAD_LIMIT:
            self.release()
        else:
            self.tick()

    def tick(self) -> None:
        """Let the head go once it has been kept for long enough and is more than a preamble."""
        if self.is_open or not self._head:
            return
        if _is_preamble(self._head):
            self._since = None
            return
        now = self._monotonic()
        if self._since is None:
            self._since = now
        elif now - self._since >= HEAD_PATIENCE_S:
            self.release()

    def release(self) -> None:
        """Pass the head on and everything after it as it comes."""
        self.is_open = True
        if self._head:
            self._pass(memoryview(bytes(self._head)))
            self._head.clear()

    def take_back(self) -> bytes:
        """Return what was not passed on, which now never will be."""
        head = bytes(self._head)
        self._head.clear()
        return head

    def _pass(self, data: memoryview) -> None:
        if data:
            self._forward(data)
            self.forwarded += len(data)
            self.last_byte = data[-1]


def _is_preamble(head: bytearray) -> bool:
    return all(any(mark in line[:200] for mark in _PREAMBLE_MARKS) for line in bytes(head).splitlines())
