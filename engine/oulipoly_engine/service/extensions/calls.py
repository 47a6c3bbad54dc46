"""Calls into an extension: in a thread of its own, within a time limit, whatever it raises or prints.

A thread that does not come back cannot be ended: it is left alone, and its extension is not called in this process any
more. What it prints goes to its log, for stdout is data.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Thread, get_ident
from typing import Any

from oulipoly_engine.clock import Clock, to_text
from oulipoly_engine.core.text.redact import redact_strictly
from oulipoly_engine.errors import RunnerError
from oulipoly_engine.extension_api import PermissionDenied, Refused
from oulipoly_engine.private_files import make_folder, open_private, write_private
from oulipoly_engine.process.liveness import has_ended_mark, own_mark

_LOG_LIMIT = 1 << 20  # bytes; then it begins anew
_LONGEST_LINE = 4000  # characters of the log
_LONGEST_REASON = 300
_logs: dict[int, ExtensionLog] = {}  # by the threads of extensions


class CallFailed(Exception):
    """A call has raised, ended or taken too long; the text says it."""


class CallDenied(Exception):
    """A call has asked for what was not allowed, or refused what was about to happen; the text says why."""


class ExtensionLog:
    """The log of one extension. Safe to use from any thread."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._begun = ""  # a line that is not whole

    def write(self, text: str) -> None:
        """Take lines, without their secrets."""
        lines = (self._begun + text).split("\n")
        self._begun = lines.pop()[-_LONGEST_LINE:]
        at = to_text(self._clock.now())
        data = "".join(f"{at} {redact_strictly(line[:_LONGEST_LINE])}\n" for line in lines)
        if not data:
            return
        with suppress(OSError):  # a full disk costs the log alone
            make_folder(self._path.parent)
            is_full = self._path.exists() and self._path.stat().st_size > _LOG_LIMIT
            descriptor = open_private(self._path, os.O_WRONLY | os.O_APPEND | (os.O_TRUNC if is_full else 0))
            try:
                os.write(descriptor, data.encode("utf-8", "replace"))
            finally:
                os.close(descriptor)


class _Routed:
    """Stands for stdout or stderr: what threads of extensions write goes to their logs."""

    def __init__(self, stream: Any) -> None:  # noqa: ANN401 - whatever stands there
        self.stream = stream

    def write(self, text: str) -> int:
        """Write to the log of the thread's extension, or to the stream."""
        log = _logs.get(get_ident())
        if log is None:
            return int(self.stream.write(text) or 0)
        log.write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the stream's own
        """Return what the stream has."""
        return getattr(self.stream, name)


def _route_output() -> None:
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, _Routed):
            setattr(sys, name, _Routed(stream))


class _Call:
    """One call, from who waits to the thread that does it."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.function = function
        self.arguments = arguments
        self.is_over = Event()
        self.result: Any = None
        self.error: BaseException | None = None


class CallMark:
    """Files that tell which extension a process called when it ended: nothing else would name it.

    One that ends its process by `os._exit`, crashes the interpreter or takes all memory leaves its mark behind.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Have the mark there while the block runs."""
        path = self._folder / f"{self._name}.{os.getpid()}.call"
        try:
            with suppress(OSError):  # a full disk costs the mark alone
                make_folder(self._folder)
                write_private(path, own_mark().encode())
            yield
        finally:
            with suppress(OSError):
                path.unlink()

    def count_left(self) -> int:
        """Return how many processes have ended during a call, and forget them."""
        count = 0
        for path in self._folder.glob(f"{self._name}.*.call"):
            with suppress(OSError, ValueError):  # another process was first
                if has_ended_mark(path.read_text(encoding="ascii")):
                    path.unlink()
                    count += 1
        return count


class CallThread:
    """The thread in which one extension is called, one call at a time."""

    def __init__(self, name: str, log: ExtensionLog, mark: CallMark) -> None:
        self.log = log
        self._mark = mark
        self.is_stuck = False  # a call has not come back
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._turn = Lock()  # who waits for another call to end has its whole time afterwards
        self._thread = Thread(target=self._run, name=f"extension {name}", daemon=True)
        self._thread.start()

    def call(self, function: Callable[..., Any], *arguments: Any, limit_s: float) -> Any:  # noqa: ANN401 - its own
        """Return what a function returns. Raises CallFailed; CallDenied where it refuses or was denied something."""
        call = _Call(function, arguments)
        with self._turn, self._mark.hold():
            if self.is_stuck:
                raise CallFailed("an earlier call has not come back")
            _route_output()
            self._calls.put(call)
            if not call.is_over.wait(limit_s):
                self.is_stuck = True
                raise CallFailed(f"it took longer than {limit_s:g} s")
        error = call.error
        if error is None:
            return call.result
        if isinstance(error, (Refused, PermissionDenied)):
            raise CallDenied(_describe(error)) from None
        if isinstance(error, CallFailed):  # of one in a process of its own
            raise CallFailed(redact_strictly(str(error))[:_LONGEST_REASON]) from None
        self.log.write("".join(traceback.format_exception(error)))
        raise CallFailed(_describe(error)) from None

    def end(self) -> None:
        """Let the thread end behind what it does."""
        self._calls.put(None)

    def _run(self) -> None:
        _logs[get_ident()] = self.log
        while (call := self._calls.get()) is not None:
            try:
                call.result = call.function(*call.arguments)
            except BaseException as error:  # noqa: BLE001, RUF100 - SystemExit too: it ends no program of ours
                call.error = error
            call.is_over.set()
        _logs.pop(get_ident(), None)


def _describe(error: BaseException) -> str:
    """Return an error in a line, without secrets, whatever its own text does."""
    try:
        text = error.message if isinstance(error, RunnerError) else str(error)
    except BaseException:  # noqa: BLE001, RUF100 - its class is the extension's
        text = ""
    line = redact_strictly(" ".join(text.split()))[:_LONGEST_REASON]
    if isinstance(error, (Refused, PermissionDenied)):
        return line or "it gave no reason"
    kind = type(error).__name__
    return f"{kind}: {line}" if line else kind
