"""How long an account is left alone after a reading failed. Pure.

Vendors punish polling: Anthropic's usage endpoint answers a lasting 429 to clients that ask on (field reports in the
contract, section 3.4). A vendor's own Retry-After is obeyed; else the pause doubles with each failure in a row.
"""

from __future__ import annotations

from datetime import datetime, timedelta

FIRST_S = 30.0
LONGEST_S = 15 * 60.0
RATE_LIMITED_FIRST_S = 120.0
RETRY_AFTER_LONGEST_S = 6 * 3600.0  # a wilder value is a mistake
TOO_MANY_REQUESTS = 429


def backoff_until(
    now: datetime, failures_in_a_row: int, *, http_status: int | None = None, retry_after_s: int | None = None
) -> datetime:
    """Return until when an account is left alone.

    failures_in_a_row: this one included, from 1.
    retry_after_s: what the vendor asked for; 0 comes with lasting refusals too, so it counts as not asked.
    """
    if retry_after_s is not None and retry_after_s > 0:
        return now + timedelta(seconds=min(retry_after_s, RETRY_AFTER_LONGEST_S))
    first = RATE_LIMITED_FIRST_S if http_status == TOO_MANY_REQUESTS else FIRST_S
    return now + timedelta(seconds=min(LONGEST_S, first * 2 ** min(failures_in_a_row - 1, 10)))
