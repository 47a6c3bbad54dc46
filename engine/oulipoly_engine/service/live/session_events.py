"""What has happened in one live session: numbered, kept, and only then told."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from oulipoly_engine.clock import Clock, from_text, to_text
from oulipoly_engine.core.live import events as ev
from oulipoly_engine.records import replace
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.live import live_entries, live_events, live_sessions


class SessionEvents:
    """The events of one session."""

    def __init__(self, store: Store, session_id: str, clock: Clock, tell: Callable[[ev.Numbered], None]) -> None:
        """tell: is given each event once it is kept."""
        self._store, self._session_id, self._clock, self._tell = store, session_id, clock, tell
        self.number = live_events.last_number(store, session_id)  # of the last one
        self.unkept: list[ev.Numbered] = []
        self._untold: list[ev.Numbered] = []
        self._is_opened = False  # and that is published, where anybody reads

    def say(self, event: ev.AnyEvent) -> None:
        """Take what has happened; a delta has the number of the event before it."""
        if not isinstance(event, ev.ItemDelta):
            self.number += 1
        self.unkept.append(self.numbered(event))

    def numbered(self, event: ev.AnyEvent) -> ev.Numbered:
        """Return an event with the number of the last one."""
        return ev.Numbered(self.number, to_text(self._clock.now()), ev.fit(event))

    def tell(self) -> None:
        """Write down what has happened, and tell it."""
        self.keep()
        untold, self._untold = self._untold, []
        for one in untold:
            self._tell(one)

    def keep(self) -> None:
        """Write down what has happened; it is told once that is done."""
        unkept, self.unkept = self.unkept, []
        kept = [one for one in unkept if not isinstance(one.event, ev.ItemDelta)]
        if kept:
            with self._store.write():  # what was said is an entry at once, or neither is kept
                live_events.append(self._store, self._session_id, kept)
                if live_entries.concern(kept):
                    live_entries.enter(self._store, self._session_id)
                if self._store.has_readers():
                    self._publish(kept)
        self._untold += unkept

    def _publish(self, kept: Iterable[ev.Numbered]) -> None:
        """Put what concerns others into the outbox, in the transaction of what has happened."""
        from oulipoly_engine.core.outbox.topics import describe_live  # noqa: PLC0415 - mostly nobody reads it
        from oulipoly_engine.store.outbox.events import publish  # noqa: PLC0415 - as above

        for numbered in kept:
            described = describe_live(numbered.event)
            if described is None:
                continue
            topic, body = described
            if topic == "session_started":
                if self._is_opened:  # some CLIs say so before each turn
                    continue
                self._is_opened = True
                session, *_ = live_sessions.find(self._store, self._session_id)
                body |= {"account": session.account, "runtime": session.runtime_id, "workspace": session.workspace}
                body["model"] = body["model"] or session.model_name
            publish(self._store, topic, from_text(numbered.at), self._session_id, body)


def merge_deltas(events: Iterable[ev.AnyEvent]) -> Iterable[ev.AnyEvent]:
    """Put deltas of one item that follow each other together."""
    last: ev.ItemDelta | None = None
    texts: list[str] = []
    for event in events:
        if isinstance(event, ev.ItemDelta):
            if last is not None and (last.item_id, last.stream) == (event.item_id, event.stream):
                texts.append(event.text)
                continue
            if last is not None:
                yield replace(last, text="".join(texts))
            last, texts = event, [event.text]
            continue
        if last is not None:
            yield replace(last, text="".join(texts))
            last, texts = None, []
        yield event
    if last is not None:
        yield replace(last, text="".join(texts))
