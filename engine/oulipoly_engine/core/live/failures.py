"""Why a live session or its runtime does not work: the words that stay apart everywhere. Pure."""

from __future__ import annotations

MISSING_BINARY = "missing_binary"
NEEDS_AUTH = "needs_auth"
SPAWN_FAILED = "spawn_failed"
UNSUPPORTED_VERSION = "unsupported_version"
HANDSHAKE_FAILED = "handshake_failed"  # it started and did not say what its protocol begins with
THREAD_LOST = "thread_lost"  # its session is not there any more
THREAD_MISMATCH = "thread_mismatch"  # it opened another session than the one that was asked for
ACTIVE_WRITER = "active_writer"  # another process has the session open
CLOSED = "transport_closed"  # it ended, or closed its output
TIMED_OUT = "timed_out"
OVERLOADED = "overloaded"

REASONS = (
    MISSING_BINARY, NEEDS_AUTH, SPAWN_FAILED, UNSUPPORTED_VERSION, HANDSHAKE_FAILED, THREAD_LOST, THREAD_MISMATCH,
    ACTIVE_WRITER, CLOSED, TIMED_OUT, OVERLOADED,
)  # fmt: skip
