"""One-shots in the background: each in a process of its own, its output as events, stopped as a user would."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from oulipoly_engine.clock import Clock
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.events import Listeners, OneShotEnded, OneShotSaid
from oulipoly_engine.process.command import Command, inherited_environment
from oulipoly_engine.process.run import Discard, run
from oulipoly_engine.records import Record

_MODULE = "oulipoly_engine.cli.runs.app_one_shot"
_CLOSING_PATIENCE_S = 5.0  # the stop ladder's first two steps


class BackgroundRequest(Record):
    """What a background one-shot is to do."""

    model: str
    prompt: str
    pin: str | None = None  # the account that must serve it
    folder: Path | None = None  # None: our own working directory
    models_dir: Path | None = None


class Background:
    """The one-shots of one app."""

    def __init__(self, listeners: Listeners, clock: Clock) -> None:
        self._listeners = listeners
        self._clock = clock
        self._numbers = itertools.count(1)
        self._pids: dict[int, int] = {}
        self._threads: dict[int, threading.Thread] = {}
        self._stopped: set[int] = set()
        self._lock = threading.Lock()

    @property
    def running(self) -> tuple[int, ...]:
        """Return the numbers of those that have not ended."""
        with self._lock:
            return tuple(self._threads)

    def start(self, asked: BackgroundRequest) -> int:
        """Start one and return its number; OneShotSaid and OneShotEnded follow."""
        number = next(self._numbers)
        thread = threading.Thread(target=self._run, args=(number, asked), name=f"one-shot-{number}", daemon=True)
        with self._lock:
            self._threads[number] = thread
        thread.start()
        return number

    def stop(self, number: int) -> None:
        """Interrupt one: its CLI is stopped and its record made final."""
        with self._lock:
            self._stopped.add(number)
            pid = self._pids.get(number)
        if pid is not None:
            _interrupt(pid)

    def close(self) -> None:
        """Stop all and wait until they are gone."""
        for number in self.running:
            self.stop(number)
        for thread in tuple(self._threads.values()):
            thread.join(_CLOSING_PATIENCE_S)

    def _run(self, number: int, asked: BackgroundRequest) -> None:
        exit_code, failure = 1, None
        try:
            sink = _Sink(lambda text, is_note: self._say(number, text, is_note=is_note))
            exit_code = run(_command(asked), sink, lambda pid: self._note_start(number, pid)).exit_code
            sink.flush()
        except RunnerError as error:
            failure = error.message
        finally:
            with self._lock:
                self._pids.pop(number, None)
                self._threads.pop(number, None)
            self._listeners.publish(OneShotEnded(self._clock.now(), number, exit_code, failure))

    def _note_start(self, number: int, pid: int) -> None:
        with self._lock:
            self._pids[number] = pid
            is_stopped = number in self._stopped
        if is_stopped:  # asked for before it ran
            _interrupt(pid)

    def _say(self, number: int, text: str, *, is_note: bool) -> None:
        self._listeners.publish(OneShotSaid(self._clock.now(), number, text, is_note))


class _Sink(Discard):
    """Cuts two streams of bytes into lines of text; an unfinished line waits for its end, or for a pause."""

    def __init__(self, say: Callable[[str, bool], None]) -> None:
        self._say = say
        self._waiting = {False: b"", True: b""}

    def stdout(self, data: memoryview) -> None:
        self._take(bytes(data), is_note=False)

    def stderr(self, data: memoryview) -> None:
        self._take(bytes(data), is_note=True)

    def tick(self, idle_s: float) -> None:
        self.flush()

    def flush(self) -> None:
        for is_note, data in self._waiting.items():
            self._waiting[is_note] = b""
            if data:
                self._say(data.decode("utf-8", "replace"), is_note)

    def _take(self, data: bytes, *, is_note: bool) -> None:
        whole, newline, rest = (self._waiting[is_note] + data).rpartition(b"\n")
        self._waiting[is_note] = rest
        if newline:
            self._say((whole + newline).decode("utf-8", "replace"), is_note)


def _command(asked: BackgroundRequest) -> Command:
    words = [sys.executable, "-m", _MODULE, "--model", asked.model]
    words += ["--pin", asked.pin] if asked.pin is not None else []
    words += ["--models-dir", str(asked.models_dir)] if asked.models_dir is not None else []
    prompt = asked.prompt.encode("utf-8", "surrogateescape")
    return Command(tuple(words), inherited_environment(), cwd=asked.folder, stdin=prompt)


def _interrupt(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)
