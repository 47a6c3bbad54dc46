"""Keep what one look at an account gave: learning, history and the attempt itself, in one transaction."""

from __future__ import annotations

from datetime import datetime, timedelta

from oulipoly_engine.adapters.codex_rate_limits import CodexReading
from oulipoly_engine.core.quota.backoff import backoff_until
from oulipoly_engine.core.quota.burn import learn
from oulipoly_engine.core.quota.readings import HttpFailure
from oulipoly_engine.core.quota.window_cycles import find_ended_cycles
from oulipoly_engine.core.quota.windows import ParsedWindow, QuotaState
from oulipoly_engine.records import Record, replace
from oulipoly_engine.service.quota import codex_notes
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.quota import quotas, readings
from oulipoly_engine.store.transcripts import entries

SCRIPT = "script"

_THIN_EVERY = timedelta(hours=6)
_LOCK_WAIT = timedelta(minutes=1)  # a mark may be set while we wait for the state file; a later one is a clock's error


class Reading(Record):
    """Windows as somebody reported them."""

    windows: tuple[ParsedWindow, ...]  # empty: the vendor reported none
    begun_at: datetime  # what happened from here on may be missing in it
    at: datetime
    source: str = SCRIPT
    duration_s: float | None = None


class ReadAttempt(Record):
    """One attempt to read an account."""

    account: str
    at: datetime
    reading: Reading | None = None  # None: nobody reported anything
    failure: str | None = None  # of the script
    http: HttpFailure | None = None
    notes: tuple[CodexReading, ...] = ()  # for the history


def keep(store: Store, look: ReadAttempt) -> None:
    """Store all that a look gave, with the prior state read under the write lock.

    A failure changes nothing that a choice rests on: windows, marks and ages stay. Raises StoreUnusable, and then
    nothing of it is stored.
    """
    with store.write():
        made = quotas.attempts(store, (look.account,))[look.account]
        if look.reading is not None:
            _learn(store, look, look.reading)
        for note in look.notes:
            windows = [window.as_window() for window in note.windows]
            readings.append(store, look.account, windows, note.at, source=codex_notes.SOURCE)
        is_thinning_due = made.thinned_at is None or abs(look.at - made.thinned_at) > _THIN_EVERY
        if is_thinning_due:
            readings.thin(store, look.account, look.at)
        after = _count_failure(made, look) if look.failure is not None else quotas.Attempts(last_attempt_at=look.at)
        thinned_at = look.at if is_thinning_due else made.thinned_at
        quotas.save_attempts(store, look.account, replace(after, thinned_at=thinned_at))


def _count_failure(made: quotas.Attempts, look: ReadAttempt) -> quotas.Attempts:
    count = made.failures_in_a_row + 1
    status, pause = (None, None) if look.http is None else (look.http.status, look.http.retry_after_s)
    return quotas.Attempts(
        last_attempt_at=look.at,
        last_failure=look.failure,
        failures_in_a_row=count,
        backoff_until=backoff_until(look.at, count, http_status=status, retry_after_s=pause),
    )


def _learn(store: Store, look: ReadAttempt, reading: Reading) -> None:
    account = look.account
    prior = quotas.states(store, (account,))[account]
    spent = _turns_between(store, prior, reading)
    state = learn(prior, [window.as_window() for window in reading.windows], spent, reading.at)
    if _was_marked_meanwhile(prior, reading, look.at):
        state = replace(state, exhausted_at=prior.exhausted_at)
    quotas.save(store, state)
    if not reading.windows:
        return
    readings.record_unused(store, account, find_ended_cycles(prior, state.windows, reading.at))
    readings.append(
        store,
        account,
        state.windows,
        reading.at,
        source=reading.source,
        turns=spent,
        duration_ms=None if reading.duration_s is None else round(1000 * reading.duration_s),
    )


def _turns_between(store: Store, prior: QuotaState, reading: Reading) -> int:
    """Count the assistant turns from one reading to the next; each of our own calls is one at least.

    Their answers may not be entered yet, or only some of them.
    """
    if prior.refreshed_at is None:
        return prior.calls_since_refresh
    later = entries.assistant_turns_since(store, prior.account, reading.at)
    counted = entries.assistant_turns_since(store, prior.account, prior.refreshed_at) - later
    # How many of our calls came after a note of Codex is not known.
    return max(counted, prior.calls_since_refresh if reading.source == SCRIPT else 0)


def _was_marked_meanwhile(prior: QuotaState, reading: Reading, now: datetime) -> bool:
    """Tell whether an invocation ran out of quota after the reading had begun: that is the newer knowledge."""
    marked_at = prior.exhausted_at
    return marked_at is not None and reading.begun_at < marked_at <= now + _LOCK_WAIT
