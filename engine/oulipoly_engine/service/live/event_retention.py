"""What goes from the events of sessions that nobody has used for long: the texts that their entries hold, and progress.

Whoever reads the events sees what they saw before, so a process may be killed at any step, and several may do the same
at once. What an entry does not hold word for word stays.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from oulipoly_engine.core.live import events as ev
from oulipoly_engine.core.live.entries import begin_of_ids, event_of
from oulipoly_engine.core.live.item_texts import join_texts
from oulipoly_engine.core.transcripts.turn_script import LIVE_IDS
from oulipoly_engine.paths import Paths
from oulipoly_engine.service.live import hosts
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import entry_bodies, live_entries, live_events, live_sessions
from oulipoly_engine.store.live.entry_bodies import EntryKey

_NAMING = ("session_opened", "native_id_changed")


def shorten_unused(store: Store, paths: Paths, since: datetime, before: datetime) -> None:
    """Shorten the events of the sessions that were used last between two instants.

    A session with a host, or with a turn that was left, stays as it is.
    """
    for session_id in live_sessions.list_unused(store, since, before):
        if not hosts.is_held(paths, session_id):
            shorten_session(store, session_id)


def shorten_session(store: Store, session_id: str) -> None:
    """Leave out of a session's events what its entries hold, and what its items have shown before they ended."""
    live_entries.enter(store, session_id)
    find_entry = _find_entries(store, session_id)
    ended: set[tuple[str, str]] = set()
    for page in live_events.pages_of_types(store, session_id, ("item_ended",)):
        keys = {}
        for numbered in page:
            if not isinstance(numbered.event, ev.ItemEnded):
                continue
            ended.add((numbered.event.turn_id, numbered.event.item.id))
            key = find_entry(numbered.seq, numbered.event.item)
            if key is not None:
                keys[numbered.seq] = key
        live_events.shorten(store, session_id, keys)
    for page in live_events.pages_of_types(store, session_id, ("item_started",)):
        live_events.drop(store, session_id, [each.seq for each in page if _is_over(each.event, ended)])
    diffs = [each.seq for page in live_events.pages_of_types(store, session_id, ("diff_updated",)) for each in page]
    live_events.drop(store, session_id, diffs[:-1])  # the last one is what the session has changed


def _is_over(event: ev.AnyEvent, ended: set[tuple[str, str]]) -> bool:
    """Tell whether the end of an item says all that its beginning does; that of a command says not how long it took."""
    if not isinstance(event, ev.ItemStarted) or event.item.kind == "command":
        return False
    return (event.turn_id, event.item.id) in ended


def _find_entries(store: Store, session_id: str) -> Callable[[int, ev.Item], EntryKey | None]:
    """Return what finds the entry of an item: ours by its event's number, one of a transcript by what it says."""
    names = [each.event for page in live_events.pages_of_types(store, session_id, _NAMING) for each in page]
    native_ids = {event.native_id for event in names if isinstance(event, ev.SessionOpened | ev.NativeIdChanged)}
    native_ids |= {session.native_id or "" for session in live_sessions.read_sessions(store, [session_id])}
    by_number: dict[int, EntryKey] = {}
    by_text: dict[str, EntryKey] = {}
    for key, body in entry_bodies.list_bodies(store, session_id, native_ids - {""}):
        if key.entry_id.startswith(begin_of_ids(session_id)):
            by_number[event_of(key.entry_id)[1]] = key
        elif not key.entry_id.startswith(LIVE_IDS):  # another session's goes with that one's transcript
            by_text |= dict.fromkeys(join_texts(body).values(), key)
    return lambda number, item: by_number.get(number) or by_text.get(item.text)
