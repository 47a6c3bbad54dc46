"""Notice what others change: the state file through `PRAGMA data_version`, the configuration through its file times."""

from __future__ import annotations

import threading
from collections.abc import Callable

from oulipoly_engine.clock import Clock
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.events import ConfigurationChanged, Listeners, StateChanged
from oulipoly_engine.records import Record
from oulipoly_engine.service.accounts.configuration import Fingerprint
from oulipoly_engine.store.base.db import Store

INTERVAL_S = 0.25  # another process's reading is to be on the screen within half a second
_CONFIGURATION_EVERY = 4  # polls: a file is edited by hand, nobody waits a quarter of a second for that
_CLOSING_PATIENCE_S = 2.0


class Watched(Record):
    """What is looked at."""

    store: Callable[[], Store]  # opens it where it is not open yet; raises RunnerError
    fingerprint: Callable[[], Fingerprint]


class Watch:
    """A thread that publishes StateChanged and ConfigurationChanged until it is closed."""

    def __init__(self, watched: Watched, listeners: Listeners, clock: Clock, interval_s: float = INTERVAL_S) -> None:
        self._watched = watched
        self._listeners = listeners
        self._clock = clock
        self._interval_s = interval_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        self._thread.join(_CLOSING_PATIENCE_S)

    def _run(self) -> None:
        version: int | None = None
        files = self._watched.fingerprint()
        entry = 0
        while True:
            version = self._look(version)
            entry += 1
            if entry % _CONFIGURATION_EVERY == 0 and (found := self._watched.fingerprint()) != files:
                files = found
                self._listeners.publish(ConfigurationChanged(self._clock.now()))
            if self._ended.wait(self._interval_s):
                break
        self._close_connection()

    def _look(self, before: int | None) -> int | None:
        """Return the state file's version, None while it cannot be read; say when that changes."""
        try:
            version = self._watched.store().data_version()
        except RunnerError:
            version = None
        if version != before:
            self._listeners.publish(StateChanged(self._clock.now()))
        return version

    def _close_connection(self) -> None:
        try:
            self._watched.store().close()
        except RunnerError:
            return
