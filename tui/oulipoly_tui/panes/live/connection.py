"""The connection to a live session's host in the app's own loop: what comes is read a few times a second, in one go.

A flood costs no more than a trickle: the host puts deltas together while we do not read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from oulipoly_engine.core.live.events import ItemDelta
from oulipoly_engine.core.live.orders import Order
from oulipoly_engine.errors import RunnerError

if TYPE_CHECKING:
    from oulipoly_engine.core.live.events import Numbered
    from oulipoly_engine.facade.live.sessions import LiveClient

_FRAME_S = 0.025  # between two looks: with what the host waits, a word is on the screen within 50 ms
_FLOOD_S = 0.1  # between two looks at more than anybody can read
_FLOOD = 600  # characters of a look
_MOST = 400  # reads of one look

Answered = Callable[[Mapping[str, Any], str], object]  # the answer's data, or what is wrong


class LiveConnection:
    """Tells what comes, and sends orders without waiting."""

    def __init__(self, client: LiveClient, take: Callable[[list[Numbered]], None], gone: Callable[[str], None]) -> None:
        """take: gets the events of a look. gone: is called once, with what the host said, when it has ended."""
        self._client = client
        self._take, self._gone = take, gone
        self._waiting: dict[int, Answered] = {}
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._is_watching = self._is_closed = False
        self._watch()

    def order(self, order: Order, answered: Answered) -> None:
        """Have something done; `answered` is called once."""
        if self._is_closed:
            answered({}, "the session's process has ended")
            return
        self._waiting[self._client.post(order)] = answered
        self._look_later()

    def close(self) -> None:
        """Let go of it: the session goes on."""
        if not self._is_closed:
            self._is_closed = True
            self._unwatch()
            if self._timer is not None:
                self._timer.cancel()
            self._client.close()

    def _watch(self) -> None:
        if not self._is_watching and not self._is_closed:
            self._loop.add_reader(self._client.fileno(), self._look)
            self._is_watching = True

    def _unwatch(self) -> None:
        if self._is_watching:
            self._loop.remove_reader(self._client.fileno())
            self._is_watching = False

    def _look_later(self, wait_s: float = _FRAME_S) -> None:
        if self._timer is None and not self._is_closed:
            self._timer = self._loop.call_later(wait_s, self._look_again)

    def _look_again(self) -> None:
        self._timer = None
        self._look()

    def _look(self) -> None:
        """Read all that has come, then nothing for a while."""
        if self._is_closed:
            return
        self._unwatch()
        events: list[Numbered] = []
        end: RunnerError | None = None
        try:
            for _ in range(_MOST):
                new = self._client.receive()
                events += new
                if not new:
                    break
        except RunnerError as error:
            end = error
        if events:
            self._take(events)
        self._answer()
        if end is not None:
            self._end(end.message)
        elif events or self._waiting:
            self._look_later(_FLOOD_S if _count_characters(events) > _FLOOD else _FRAME_S)
        else:
            self._watch()

    def _answer(self) -> None:
        for number in tuple(self._waiting):
            answer = self._client.answer_of(number)
            if answer is not None:
                self._waiting.pop(number)(answer.data, str(answer.error.get("message", "")))

    def _end(self, text: str) -> None:
        if self._is_closed:
            return
        self.close()
        waiting, self._waiting = self._waiting, {}
        for answered in waiting.values():
            with suppress(RunnerError):
                answered({}, text)
        self._gone(text)


def _count_characters(events: Sequence[Numbered]) -> int:
    return sum(len(one.event.text) for one in events if isinstance(one.event, ItemDelta))
