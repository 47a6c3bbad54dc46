"""Why a live session, its runtime or a turn of it does not work: the words that stay apart everywhere. Pure."""

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

# Why a turn has failed, where the vendor's API is to blame; other codes are the CLI's own words.
UNAUTHORIZED = "unauthorized"
USAGE_LIMIT = "usage_limit"  # the plan or the credit is used up
RATE_LIMIT = "rate_limit"  # too many requests: it passes by itself
SERVER_ERROR = "server_error"
_BY_STATUS = {401: UNAUTHORIZED, 403: UNAUTHORIZED, 429: RATE_LIMIT, 529: OVERLOADED}


def code_of_status(status: int | None) -> str:
    """Return the code for an HTTP status of a vendor's API; empty for none of them."""
    if status is None:
        return ""
    return _BY_STATUS.get(status, SERVER_ERROR if 500 <= status < 600 else "")
