"""How a terminal's screen begins: empty, or as it was before its emulator died."""

from __future__ import annotations

from collections.abc import Callable

from oulipoly_engine.records import Record, replace
from oulipoly_engine.terminal.emulators.choose import open_screen, restore_screen
from oulipoly_engine.terminal.host.crash_buffer import Memory
from oulipoly_engine.terminal.protocol.screen import Screen, ScreenLimits, ScreenUnavailable

# By how often the emulator has died in quick succession.
FRESH, REPLAY, DUMP_ONLY, PLAIN = 0, 1, 2, 3
_PLAIN = "bittty"
_PIECE = 64 << 10


class Opened(Record):
    """A screen, and what is to be said about it."""

    screen: Screen
    text: str | None = None  # None: nothing is missing


def reopen(
    memory: Memory,
    limits: ScreenLimits,
    deaths: int,
    prefer: str | None,
    *,
    manner: str = "died",
    alive: Callable[[], None] = lambda: None,
) -> Opened:
    """Open a screen after so many deaths of the one before.

    The first time all that was printed since the last dump is fed again. When that kills the emulator too, the second
    goes without, and from the third on the slow emulator that cannot crash takes over.

    manner: of the last death, in a word. alive: called now and then meanwhile.
    """
    if deaths == FRESH:
        return Opened(open_screen(limits, prefer=prefer))
    if deaths >= PLAIN:
        return _plain(memory, limits, alive, replayed=deaths == PLAIN)
    kept = memory.dump()
    screen, position = _restored(kept, limits, prefer)
    if deaths == DUMP_ONLY:
        text = f"the terminal's emulator {manner} twice: what was printed in its last moments is not shown"
        return Opened(screen, text)
    data, is_whole = memory.output_since(position)
    _replay(screen, data, alive)
    gap = "" if is_whole else "; some of the scrollback is missing"
    return Opened(screen, f"the terminal's emulator {manner} and was started again, the program runs on{gap}")


def _restored(kept: tuple[bytes, int] | None, limits: ScreenLimits, prefer: str | None) -> tuple[Screen, int]:
    if kept is not None:
        try:
            return _sized(restore_screen(kept[0], limits), limits), kept[1]
        except ScreenUnavailable:
            pass  # a damaged dump: the output that is left has to do
    return open_screen(limits, prefer=prefer), 0


def _plain(memory: Memory, limits: ScreenLimits, alive: Callable[[], None], *, replayed: bool) -> Opened:
    screen = open_screen(replace(limits), prefer=_PLAIN)
    if replayed:
        _replay(screen, memory.output_since(0)[0][-(256 << 10) :], alive)
    return Opened(screen, "the terminal's emulator kept dying: a slower one has taken over, some scrollback is missing")


def _sized(screen: Screen, limits: ScreenLimits) -> Screen:
    screen.resize(limits.columns, limits.rows)
    return screen


def _replay(screen: Screen, data: bytes, alive: Callable[[], None]) -> None:
    for start in range(0, len(data), _PIECE):
        screen.feed(data[start : start + _PIECE])
        alive()
        screen.happenings()  # its queries were answered, its bells rung when it first said so
