"""Give a demo world its past: the homes by `demo.past`, and here all that the state file would know by now.

Built in one go beside a note of the instant that it is anchored to: who is killed in between begins again, writes the
same files and finds the state file either empty or complete, since all rows go in with one transaction.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import chain as chained
from typing import TYPE_CHECKING

from oulipoly_demo import world as worlds
from oulipoly_demo.past.quota import UNITS_A_TURN
from oulipoly_demo.world import World
from oulipoly_engine.clock import SystemClock, to_text
from oulipoly_engine.config import small_files
from oulipoly_engine.core.quota.window_cycles import EndedCycle
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.core.runs.invocations import Outcome
from oulipoly_engine.core.sessions.resolve import UNKNOWN_MODEL
from oulipoly_engine.paths import Paths, from_environment
from oulipoly_engine.records import replace
from oulipoly_engine.service.transcripts.ingest import Ingester
from oulipoly_engine.store.base.db import Store, open_store
from oulipoly_engine.store.quota import quotas, readings
from oulipoly_engine.store.runs import invocations
from oulipoly_engine.store.runs.artifacts import record_returned
from oulipoly_engine.store.sessions import chains, notes

if TYPE_CHECKING:
    from oulipoly_demo.past.homes import Past, PastRun, PastSession
    from oulipoly_demo.past.quota import AccountPast, QuotaReading
    from oulipoly_engine.core.artifacts.receipts import ReturnedArtifact

_NOTE = ".oulipoly-demo-past.json"
_SOURCE = "script"
_LEARNED_TURNS = 24


def ensure(world: World, now: float | None = None, *, tell: Callable[[str], None] | None = None) -> bool:
    """Build a world's past unless it has one; return whether it was built.

    now: the instant in Unix seconds that it ends at, by default the present one. tell: is given the name of each step
    as it begins. Raises StoreUnusable and OSError.
    """
    with worlds.locked(world.root):
        anchor, is_done = _noted(world)
        if is_done:
            return False
        anchor = anchor or now or time.time()
        _note(world, anchor, is_done=False)
        say = tell or _say_nothing
        say("writing a month of sessions")
        from oulipoly_demo.past import artifacts  # noqa: PLC0415 - with the next: not for a world that has one
        from oulipoly_demo.past import homes as past  # noqa: PLC0415 - 15 ms

        world_past = past.make(world, anchor)
        environ = worlds.environment_for(world)
        paths = from_environment(environ)
        store = open_store(paths.state_db)
        try:
            say("storing runs and quota")
            record(store, world_past, anchor, artifacts.write(paths.artifacts, world_past))
            say("reading the transcripts")
            _scan(store, paths, environ)
        finally:
            store.close()
        _note(world, anchor, is_done=True)
    return True


def _say_nothing(_step: str) -> None:
    """Tell nobody of a step."""


def _scan(store: Store, paths: Paths, environ: Mapping[str, str]) -> None:
    """Read the transcripts in as `session scan` does, so that nobody has to ask for it first."""
    scripts = small_files.read_sessions(paths).value
    scanner = Ingester(
        store, scripts, SystemClock(), paths.home, environ, paths.data / "sessions", paths.data / "turn-scan-locks"
    )
    scanner.ingest_accounts(tuple(scripts))


def record(store: Store, past: Past, anchor: float, returned: Mapping[str, tuple[ReturnedArtifact, ...]]) -> None:
    """Put a past into a state file, once: a file that has readings already is left as it is.

    returned: what runs have handed back, by their uuids.
    """
    with store.write():
        if any(readings.windows_of(store, account.account) for account in past.accounts):
            return
        for run in past.runs:
            record_returned(store, _run(store, run), returned.get(run.uuid, ()))
        for session in past.sessions:
            _say(store, session)
        for account in past.accounts:
            _quota(store, account, anchor)


def _run(store: Store, run: PastRun) -> int:
    parent = None if run.parent is None else invocations.find(store, run.parent)
    row = invocations.begin(
        store,
        invocations.NewInvocation(
            uuid=run.uuid,
            model=run.model,
            account=run.account,
            member_index=run.member,
            created_at=_at(run.begin),
            parent=None if parent is None or parent.account is None else (parent.account, parent.uuid),
        ),
    )
    category, exit_code, text = run.failure or (None, 0, None)
    outcome = Outcome(
        success=run.failure is None,
        exit_code=exit_code,
        finished_at=_at(run.end),
        error_category=category,
        error_text=text,
        session_id=run.session_id,
        capture_method="none" if run.session_id is None else "turn_script",
    )
    invocations.end(store, row, outcome)
    return row


def _say(store: Store, session: PastSession) -> None:
    """Name and pin a conversation as a person did; its chain is the one that a scan would make."""
    story = session.story
    if not story.name and not story.is_pinned:
        return
    account, at = story.account, _at(session.end)
    chain = chains.chain_of(store, account, session.session_id)
    if chain is None:
        times = {"started_at": to_text(_at(session.begin)), "last_used_at": to_text(at)}
        chain = chains.insert(store, account, session.session_id, UNKNOWN_MODEL, **times, reason="imported")
    if story.name:
        notes.rename(store, chain, story.name, at)
    if story.is_pinned:
        notes.pin(store, chain, at)


def _quota(store: Store, past: AccountPast, anchor: float) -> None:
    rows = (
        readings.rows_of(
            past.account,
            _windows(reading),
            _at(reading.at),
            source=_SOURCE,
            turns=reading.turns,
            duration_ms=int(reading.at * 7) % 90 + 60,
        )
        for reading in past.readings
    )
    readings.append_rows(store, chained.from_iterable(rows))
    ended = (EndedCycle(one.label, _at(one.resets_at), one.unused, _at(one.last_read_at)) for one in past.ended)
    readings.record_unused(store, past.account, ended)
    last = past.readings[-1]
    learned = tuple(_learned(window, past) for window in _windows(last))
    quotas.save(store, QuotaState(past.account, learned, refreshed_at=_at(last.at), peak_live_windows=len(learned)))
    quotas.save_attempts(store, past.account, quotas.Attempts(last_attempt_at=_at(last.at), thinned_at=_at(anchor)))


def _windows(reading: QuotaReading) -> tuple[Window, ...]:
    return tuple(
        Window(
            place,
            round(tier.spent / tier.capacity, 4),
            _at(reading.at + tier.length_s if tier.resets_at is None else tier.resets_at),
            label=tier.label,
        )
        for place, tier in enumerate(reading.tiers)
    )


def _learned(window: Window, past: AccountPast) -> Window:
    """Give a window the rate that the last readings would have taught."""
    tier = next(tier for tier in past.readings[-1].tiers if tier.label == window.label)
    spent = _LEARNED_TURNS * UNITS_A_TURN / tier.capacity
    uneven = 0.8 + 0.1 * (sum(map(ord, past.account)) % 5)  # no two accounts do quite the same work
    return replace(window, last_delta=spent * uneven, last_delta_turns=_LEARNED_TURNS)


def _noted(world: World) -> tuple[float | None, bool]:
    """Return what an earlier call has noted: the instant, and whether it came to its end."""
    try:
        note = json.loads((world.root / _NOTE).read_bytes())
        return float(note["anchor"]), note["is_done"] is True
    except (OSError, ValueError, TypeError, KeyError):
        return None, False


def _note(world: World, anchor: float, *, is_done: bool) -> None:
    spare = world.root / f"{_NOTE}.new"
    spare.write_text(json.dumps({"anchor": anchor, "is_done": is_done}) + "\n", encoding="utf-8")
    spare.replace(world.root / _NOTE)


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
