"""Detect a screen process that hangs, and output that keeps it busy. Pure: it is given the instants.

A process that gets no processor time does not hang. So what counts is the processor time that it uses without an
answer. Only after a long time the clock counts too, for a process that sleeps or was stopped.
"""

from __future__ import annotations

from collections.abc import Callable

EVERY_S = 2.0  # between two questions: two wake-ups, a tenth of a millisecond
_AGAIN_S = 0.25  # between two looks at a process that has not answered
_OURS_S = 2.0  # a look that comes so much later than it was due: we were stopped ourselves, and so perhaps was it
_SLOW_S, _SLOW_BYTE_S = 0.0005, 5e-6  # of processor time that a piece takes, and a byte of it: usually 1e-8
_FLOOD_S, _WITHIN_S = 0.5, 5.0  # of processor time for such pieces: on a busy machine it takes long to get so much
_TOLD_AGAIN_S = 60.0


class SlowOutput:
    """Adds up what slow pieces of output cost, to tell once that a program floods its terminal with them."""

    def __init__(self) -> None:
        self._spent_s = 0.0
        self._since = self._told_at = float("-inf")

    def add(self, cpu_s: float, size: int) -> None:
        """Add the processor time of a piece of so many bytes."""
        if cpu_s > max(_SLOW_S, _SLOW_BYTE_S * size):
            self._spent_s += cpu_s

    def must_tell(self, now: float) -> bool:
        """Return whether to tell it now."""
        is_flood = self._spent_s > _FLOOD_S
        if now - self._since > _WITHIN_S or is_flood:
            self._spent_s, self._since = 0.0, now
        if not is_flood or now - self._told_at < _TOLD_AGAIN_S:
            return False
        self._told_at = now
        return True


class Watchdog:
    """Watches one process. It must answer from its start on: its first work may be what the last process died of."""

    def __init__(self, now: float, *, looping_s: float, silent_s: float) -> None:
        """Begin to wait. looping_s: processor time, silent_s: time by the clock that an answer may take."""
        self._looping_s = looping_s
        self._silent_s = silent_s
        self._answered_at: float | None = None
        self._is_asked = True
        self._since = self._looked_at = now
        self._cpu_s_before: float | None = None

    @property
    def answered_at(self) -> float | None:
        """Return when it last answered; None: never yet."""
        return self._answered_at

    def take_answer(self, now: float) -> None:
        """Take an answer."""
        self._answered_at = self._looked_at = now
        self._is_asked = False

    def must_ask(self, now: float) -> bool:
        """Return whether to ask now; if so, an answer is expected from now on."""
        if self._is_asked or now - (self._answered_at or 0.0) < EVERY_S:
            return False
        self._is_asked = True
        self._since = self._looked_at = now
        self._cpu_s_before = None
        return True

    def hangs(self, now: float, cpu_time_s: Callable[[], float | None]) -> bool:
        """Tell whether it hangs. cpu_time_s: returns its processor time so far; None where the system does not tell."""
        if not self._is_asked:
            return False
        late = now - self._looked_at
        self._looked_at = now
        used = cpu_time_s()
        if late > _AGAIN_S + _OURS_S:
            self._since, self._cpu_s_before = now, used
        elif self._cpu_s_before is None:
            self._cpu_s_before = used
        elif used is not None and used - self._cpu_s_before > self._looping_s:
            return True
        return now - self._since > self._silent_s

    def wait(self, now: float) -> float:
        """Return the seconds until the next question or look."""
        return _AGAIN_S if self._is_asked else max(0.0, (self._answered_at or 0.0) + EVERY_S - now)
