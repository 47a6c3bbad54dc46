"""Keys in their turn: each goes where the keys before it have led, however fast they come.

Textual hands a key to the widget that has the focus at that moment, and what a key does is done later, when it has
gone up to the app. Of `/` and a word in one breath, the word would be taken for commands: a paste, a macro, a slow line
or a quick hand would drain an account. So a key waits until the one before it has been done and the focus has settled.

A key that was meant for a dialog must not act on the pane behind it either: where one closes by itself (its queue is
empty, its work is done, its code too old), keys mean nothing for a moment.
"""

from __future__ import annotations

from asyncio import get_running_loop
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import App

from oulipoly_engine.records import Record

if TYPE_CHECKING:
    from textual.await_complete import AwaitComplete
    from textual.message_pump import MessagePump
    from textual.screen import Screen
    from textual.widget import Widget

_FIELDS = ("Input", "TextArea")  # by name: importing them takes 60 ms, and most of the time there is none
_ROUNDS = 3  # ways up to the app: for the key, for its message (a line was sent), for what this chose (the palette)
_LOOK_AGAIN_S = 0.005
_OPENING_S = 0.5  # for a dialog to come up and take the focus
_CLICK_S = 0.3  # for what a click closes
_PATIENCE_S = 2.0  # with a key whose handler hangs, before the others go on without it


class _PendingKey(Record, frozen=False, eq=False):
    """A key that has been handed out."""

    target: Widget
    screen: Screen[Any]
    since: float  # monotonic seconds
    has_been_done: bool = False


class KeysInTurn(App[str]):
    """The part of the app that hands out keys and pastes."""

    PAUSE_S: ClassVar[float] = 0.5  # for the hand to notice that a dialog has closed by itself

    def __init__(self, **more: Any) -> None:  # noqa: ANN401 - the app's own
        super().__init__(**more)
        self._typed_ahead: deque[events.Key | events.Paste] = deque()
        self._on_its_way: _PendingKey | None = None
        self._typed_into: Widget | None = None  # the field that has got text since the last other key
        self._clicked_at = self._closed_at = float("-inf")  # the latter: a dialog, by itself; both as events' times

    @property
    def has_keys_under_way(self) -> bool:
        """Return whether a key has been handed out and not been done yet, or waits for that."""
        return self._on_its_way is not None or bool(self._typed_ahead)

    def must_hand_out(self, event: events.Key) -> bool:
        """Return whether a key may go to no widget but through here: others are ahead of it, or it comes too soon."""
        return self.has_keys_under_way or self._comes_too_soon(event)

    def _comes_too_soon(self, event: events.Event) -> bool:
        return event.time - self._closed_at < self.PAUSE_S

    async def on_event(self, event: events.Event) -> None:
        """Hand out a key, or keep it until the one before it has been done."""
        if isinstance(event, events.MouseDown | events.MouseUp):
            self._clicked_at = event.time
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        if self._comes_too_soon(event):
            self.say_too_soon()
            return
        self._typed_ahead.append(event)
        if self._on_its_way is None:
            await self._hand_out()
        elif len(self._typed_ahead) == 1:
            self._look_after(self._on_its_way)

    def pop_screen(self) -> AwaitComplete:
        """Close a dialog, and take note of one that no key and no click has closed."""
        now = monotonic()
        if self._on_its_way is None and now - self._clicked_at > _CLICK_S:
            self._closed_at = now
        return super().pop_screen()

    def say_too_soon(self) -> None:
        """Say that a key did nothing, since a dialog has just closed by itself."""

    async def _hand_out(self) -> None:
        self._on_its_way = None
        if not self._typed_ahead or not self.screen_stack:
            return
        event = self._typed_ahead.popleft()
        while _leads_nowhere(event, self.focused):  # a long text need not be drawn letter by letter
            self._typed_into = self.focused
            await super().on_event(event)
            if not self._typed_ahead:
                return
            event = self._typed_ahead.popleft()
        typed_into, self._typed_into = self._typed_into, None
        if typed_into is not None:  # a key that a screen takes before its field must not overtake the text
            self._typed_ahead.appendleft(event)
            text = self._on_its_way = _PendingKey(typed_into, self.screen, monotonic())
            self._climb(text, typed_into, 1)
            self._look_after(text)
            return
        now = self._on_its_way = _PendingKey(self.focused or self.screen, self.screen, monotonic())
        await super().on_event(event)
        self._climb(now, now.target, _ROUNDS)
        if self._typed_ahead:
            self._look_after(now)

    def _climb(self, now: _PendingKey, at: MessagePump, rounds: int) -> None:
        """Go up behind the key, from queue to queue, until nothing of it is left on the way."""
        if at is self or not at.call_later(self._climb, now, at._parent or self, rounds):
            self.call_later(self._climb_again_or_settle, now, rounds)

    async def _climb_again_or_settle(self, now: _PendingKey, rounds: int) -> None:
        if rounds > 1 and not self._is_gone(now):
            self._climb(now, now.target, rounds - 1)
        else:
            await self._settle(now)

    async def _settle(self, now: _PendingKey) -> None:
        """Go on with the next key; while a dialog that this one has opened has not got the focus yet, later."""
        if now is not self._on_its_way:
            return
        has_opened = bool(self.screen_stack) and self.screen is not now.screen and self.screen in self.screen_stack
        is_opening = has_opened and self.focused is None and monotonic() - now.since < _OPENING_S
        if is_opening and self._typed_ahead:
            now.has_been_done = True  # `_look` comes back for it
            return
        await self._hand_out()

    def _look_after(self, now: _PendingKey) -> None:
        """See that the keys that wait are not forgotten: what they wait behind may be taken away with its queue."""
        get_running_loop().call_later(_LOOK_AGAIN_S, self._look, now)

    def _look(self, now: _PendingKey) -> None:
        if now is not self._on_its_way or not self.is_running:
            return
        if now.has_been_done or self._is_gone(now) or monotonic() - now.since > _PATIENCE_S:
            now.has_been_done = False
            self.call_later(self._settle, now)
        self._look_after(now)

    def _is_gone(self, now: _PendingKey) -> bool:
        return now.screen not in self.screen_stack or not now.target.is_attached


def _leads_nowhere(event: events.Key | events.Paste, focused: Widget | None) -> bool:
    """Return whether a text is typed into a field for text, which keeps the focus."""
    is_field = any(kind.__name__ in _FIELDS for kind in type(focused).__mro__)
    return is_field and (isinstance(event, events.Paste) or event.is_printable)
