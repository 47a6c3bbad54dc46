"""Which emulator draws a terminal: the fast one where it can be had, else the one that runs everywhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, cast

from oulipoly_engine.terminal.protocol.screen import Screen, ScreenLimits, ScreenUnavailable

NAMES = ("ghostty", "bittty")  # in the order in which they are tried; also what the setting may say


class _Engine(Protocol):
    def __call__(self, limits: ScreenLimits | None, clock: Callable[[], float]) -> Screen: ...

    def restore(self, dump: bytes, limits: ScreenLimits, clock: Callable[[], float]) -> Screen: ...


def open_screen(
    limits: ScreenLimits | None = None, *, prefer: str | None = None, clock: Callable[[], float] = time.monotonic
) -> Screen:
    """Return a new screen of the preferred emulator, or of the first that can be used here.

    prefer: one of NAMES; None: whichever is there.
    Raises ScreenUnavailable when the preferred one cannot be used, or none.
    """
    if prefer is not None:
        return _engine(prefer)(limits, clock)
    reasons = []
    for name in NAMES:
        try:
            return _engine(name)(limits, clock)
        except ScreenUnavailable as error:
            reasons.append(error.message)
    raise ScreenUnavailable(f"no terminal emulator can be used here: {'; '.join(reasons)}")


def restore_screen(
    dump: bytes, limits: ScreenLimits | None = None, *, clock: Callable[[], float] = time.monotonic
) -> Screen:
    """Return the screen that a dump was made of, by the emulator that made it.

    Raises ScreenUnavailable when that one cannot be used here, or the dump is damaged.
    """
    name = dump.partition(b"\n")[0].partition(b"-")[0].partition(b" ")[0].decode("latin-1")
    return _engine(name).restore(dump, limits or ScreenLimits(), clock)


def _engine(name: str) -> _Engine:
    try:
        if name == "ghostty":
            from oulipoly_engine.terminal.emulators.ghostty.screen import GhosttyScreen  # noqa: PLC0415 - one emulator is loaded, not two

            return cast("_Engine", GhosttyScreen)  # a class is the callable with `restore` that is asked for
        if name == "bittty":
            from oulipoly_engine.terminal.emulators.bittty_screen import BitttyScreen  # noqa: PLC0415 - 90 ms, only when chosen

            return cast("_Engine", BitttyScreen)  # as above
    except ImportError as error:
        raise ScreenUnavailable(f"the emulator {name} is not installed: {error}") from error
    raise ScreenUnavailable(f"there is no emulator {name!r}: the setting is one of {', '.join(NAMES)}")
