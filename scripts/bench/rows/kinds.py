"""The list of ten thousand sessions of every kind: recorded ones, in terminals, live ones, and work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from measure import BenchBroken, Series, calls, isolated
from report import Limit, Result
from world import World

from rows import finding

if TYPE_CHECKING:
    from oulipoly_engine.paths import Paths
    from oulipoly_engine.store.base.db import Store

_LIMIT_MS = 8.0
_UNRECORDED = 20  # live sessions that wait for a place, beside those that are recorded
_HOSTS = 20  # of terminals, and as many of live sessions
_KINDS = ("live", "live", "live", "work", "work")  # of the first five of each ten sessions; the rest is recorded alone


def listing(world: World) -> Result:
    """Time the first 50 of ten thousand sessions, half of them begun as live ones, some in hosts now."""

    def work() -> dict[str, object]:
        from oulipoly_engine.paths import from_environment  # noqa: PLC0415 - the harness itself must stay small

        paths = from_environment(world.env("list-kinds"))
        with _store_of_every_kind(paths) as store:
            return _listed(store, paths, world.rounds(40))

    found = isolated(work)
    series = Series(tuple(found["values"]))
    meaning = "10,000 of every kind listed and the first 50 looked at, minimum"
    return Result(meaning, series.least, "ms", Limit(_LIMIT_MS), series, facts=found["facts"])


def _listed(store: Store, paths: Paths, rounds: int) -> dict[str, object]:
    from oulipoly_engine.core.search.query import Query  # noqa: PLC0415 - as above
    from oulipoly_engine.core.sessions.sessions import Sort  # noqa: PLC0415 - as above
    from oulipoly_engine.service.sessions.catalogue import Catalogue, Kinds  # noqa: PLC0415 - as above

    catalogue = Catalogue(store, Kinds({}, {}), paths=paths)
    catalogue.refresh()
    everything = catalogue.list(Query())
    counts = Counter(str(row.facets.kind) for row in everything.rows)
    if len(counts) != len(("recorded", "terminal", "live", "work")):
        raise BenchBroken(f"not every kind was listed: {dict(counts)}")

    def once() -> None:
        catalogue.refresh()
        if catalogue.list(Query(), Sort.USED, 50).total != everything.total:
            raise BenchBroken("not every session was listed")

    taken = calls(once, rounds)
    whole = calls(lambda: catalogue.list(Query()), max(3, rounds // 4))
    return {"values": taken.values, "facts": {**counts, "all looked at ms": round(whole.least, 1)}}


@contextmanager
def _store_of_every_kind(paths: Paths) -> Iterator[Store]:
    from oulipoly_engine.host import runtime_folder  # noqa: PLC0415 - as above

    store = finding.open_filled(paths.state_db, 4)
    owners = store.rows("SELECT provider_name, session_id FROM session_chain_segments ORDER BY session_id")
    _begin_live(store, owners)
    places = []
    for number, (account, native_id) in enumerate(owners[: 10 * _HOSTS]):
        is_live = number % 10 == 0
        if is_live or number % 10 == len(_KINDS):
            place, _ = runtime_folder.claim(paths.live_runtime if is_live else paths.runtime)  # locked while we live
            session_id = _name(number) if is_live else native_id
            place.describe(runtime_folder.Held(place.id, "2026-11-20T12:00:00Z", session_id, account))
            places.append(place)
    try:
        yield store
    finally:
        for place in places:
            place.remove()
        store.close()


def _begin_live(store: Store, owners: list[tuple[str, str]]) -> None:
    """Have half of the sessions be live ones or work, some with a turn and a request, and add those that wait."""
    from oulipoly_engine.core.live.events import Prompt  # noqa: PLC0415 - as above
    from oulipoly_engine.core.live.sessions import (  # noqa: PLC0415 - as above
        LiveRequest,
        LiveSession,
        QueuedMessage,
        SessionOptions,
        Turn,
    )
    from oulipoly_engine.store.live import live_queue, live_requests, live_sessions  # noqa: PLC0415 - as above

    now = finding.NOW

    def begin(name: str, kind: str, account: str, native_id: str | None, at: datetime = now) -> None:
        options = SessionOptions(log=kind == "work", model="opus", profile="supervised")
        own = LiveSession(name, "/w", "bench", "acp", "opus", at, at, account, native_id, options, title=name)
        live_sessions.insert(store, own)

    with store.write():
        for number, (account, native_id) in enumerate(owners):
            if number % 10 < len(_KINDS):
                begin(_name(number), _KINDS[number % 10], account, native_id)
        for number in range(0, 10 * _HOSTS, 10):
            turn = Turn(f"turn-{number}", _name(number), "user", "running", "do it", "", now)
            live_sessions.insert_turn(store, turn)
            request = LiveRequest(
                f"r-{number}", _name(number), turn.turn_id, "1", "command", "pending", Prompt(""), now
            )
            live_requests.insert(store, request)
        for number in range(_UNRECORDED):
            # Spread over as long as the latest hundred that are recorded, so that both lead the list.
            begin(f"waits-{number}", "work", "account-0", None, now - timedelta(days=1, hours=5 * number))
            message = QueuedMessage(f"message-{number}", f"waits-{number}", "begin", "queued", now)
            live_queue.append(store, message)


def _name(number: int) -> str:
    return f"live-{number:05d}"
