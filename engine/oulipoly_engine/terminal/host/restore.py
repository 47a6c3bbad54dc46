"""How a terminal's screen begins: empty, as it was before its emulator failed, or with a notice that it has none."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from oulipoly_engine.records import Record
from oulipoly_engine.terminal.emulators.ghostty.repeats import cut_at_repeats
from oulipoly_engine.terminal.emulators.ghostty.screen import GhosttyScreen
from oulipoly_engine.terminal.emulators.notice import NoticeScreen
from oulipoly_engine.terminal.host.crash_buffer import CrashBuffer
from oulipoly_engine.terminal.protocol.screen import Screen, ScreenLimits, ScreenUnavailable

# By how often the emulator has failed in quick succession.
FRESH, REPLAY, DUMP_ONLY, GIVEN_UP = 0, 1, 2, 3
_PIECE = 4 << 10
_REPLAY_S = 5.0  # 2 MB take a tenth of a second, unless they are made to be slow
_SEQUENCE = re.compile(  # strings up to their end, or to the line's where that is missing; CSI; other escapes
    r"\x1b[PX^_\]][^\x07\x18\x1a\x1b\r\n]*(?:\x1b\\|\x07)?|\x1b\[[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?"
)
_CONTROL = re.compile(r"[\x00-\x07\x0b-\x0c\x0e-\x1f\x7f-\x9f]")


class RestoredScreen(Record):
    """A screen, and what is to be said about it."""

    screen: Screen
    text: str | None = None  # None: nothing is missing


def restore_screen(
    crash_buffer: CrashBuffer,
    limits: ScreenLimits,
    deaths: int,
    identity: str,
    *,
    manner: str = "died",
    alive: Callable[[], None] = lambda: None,
) -> RestoredScreen:
    """Return a terminal's screen after so many failures of its emulator in quick succession.

    After the first failure all that was printed since the last dump is drawn again. Where the emulator fails at that
    too, the second time goes without; where there is no dump, the output's plain text is drawn. From the third failure
    on, and where there is no emulator at all, the screen is a notice: the program runs on, and whoever attaches plainly
    gets its output as it is.

    identity: the terminal's id. manner: of the last failure, in a word. alive: called now and then meanwhile.
    """
    if deaths >= GIVEN_UP:
        return _notice("the terminal's emulator has failed three times", identity, limits)
    try:
        return _restore(crash_buffer, limits, deaths, manner, alive)
    except ScreenUnavailable as error:
        return _notice(f"no terminal emulator can be used here: {error.message}", identity, limits)


def _notice(reason: str, identity: str, limits: ScreenLimits) -> RestoredScreen:
    text = (
        f"{reason[0].upper()}{reason[1:]}. Nothing can be drawn here.\n\n"
        "The program runs on. To see it and type to it, give it a whole terminal:\n\n"
        f"  agents terminal attach {identity}\n\nor press f in the app's pane of terminals."
    )
    return RestoredScreen(NoticeScreen(text, limits), f"{reason}; the program runs on")


def _restore(
    crash_buffer: CrashBuffer, limits: ScreenLimits, deaths: int, manner: str, alive: Callable[[], None]
) -> RestoredScreen:
    if deaths == FRESH:
        return RestoredScreen(GhosttyScreen(limits))
    screen, position = _load_dump(crash_buffer.dump(), limits)
    if deaths == DUMP_ONLY:
        if not position:
            _replay(screen, plain_text(crash_buffer.output_since(0)[0]), alive)
        text = f"the terminal's emulator {manner} twice: what was printed in its last moments is not shown"
        return RestoredScreen(screen, text)
    data, is_whole = crash_buffer.output_since(position)
    is_whole &= _replay(screen, data, alive)
    gap = "" if is_whole else "; some of the scrollback is missing"
    return RestoredScreen(screen, f"the terminal's emulator {manner} and was started again, the program runs on{gap}")


def _load_dump(dump: tuple[bytes, int] | None, limits: ScreenLimits) -> tuple[Screen, int]:
    if dump is not None:
        try:
            screen = GhosttyScreen.restore(dump[0], limits)
        except ScreenUnavailable:
            pass  # a damaged dump: the output that is left has to do
        else:
            screen.resize(limits.columns, limits.rows)
            return screen, dump[1]
    return GhosttyScreen(limits), 0


def plain_text(output: bytes) -> bytes:
    """Return a program's output without its control sequences: nothing that an emulator could fail at."""
    return _CONTROL.sub("", _SEQUENCE.sub("", output.decode("utf-8", "replace"))).encode()


def _replay(screen: Screen, data: bytes, alive: Callable[[], None]) -> bool:
    """Draw it again, for so long as anybody would wait; tell whether all of it was drawn."""
    end = time.monotonic() + _REPLAY_S
    for start in range(0, len(data), _PIECE):
        for piece in cut_at_repeats(data[start : start + _PIECE]):
            if time.monotonic() > end:
                return False
            screen.feed(piece)
            alive()
        screen.take_side_effects()  # its queries were answered, its bells rung when it first said so
    return True
