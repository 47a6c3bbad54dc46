"""A second process of our own: it gets one order, does its share of heavy work, and answers with any number of frames.

Threads would not do: they take turns at the interpreter. Whoever is killed on either side leaves nothing behind, for
the worker ends as soon as nobody reads what it writes.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import TracebackType

from oulipoly_engine.process.command import Command, inherited_environment
from oulipoly_engine.process.spawn import DEVNULL, spawn
from oulipoly_engine.process.stop import stop

_SIZE_BYTES = 8  # of a frame, before it
_LARGEST = 1 << 30
_PIPE_SIZE = 1 << 20  # a frame should fit, so that the worker does not wait for us to take it
_LADDER = ((signal.SIGKILL, 5.0),)  # it holds nothing that would have to be put in order


class WorkerProcess:
    """A module that runs in a process of its own and calls `read_order` and `answer`."""

    def __init__(self, module: str, order: bytes, descriptor: int | None = None) -> None:
        """Start it. descriptor: stays open in it under the same number, if any. Raises SpawnFailed."""
        command = Command((sys.executable, "-P", "-m", module), inherited_environment())
        self._process = spawn(
            command, stderr=DEVNULL, keeps=() if descriptor is None else (descriptor,), pipe_bytes=_PIPE_SIZE
        )
        self._frames: SimpleQueue[bytes | None] = SimpleQueue()
        self._has_ended = False
        self._thread = threading.Thread(target=self._serve, args=(order,), daemon=True)
        self._thread.start()

    def __enter__(self) -> WorkerProcess:
        """Return the worker, which ends with the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the process, whatever it does."""
        stop(self._process, _LADDER)
        self._thread.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def take_ready(self) -> Iterator[bytes]:
        """Yield the frames that have come, without waiting."""
        with suppress(Empty):
            while not self._has_ended:
                frame = self._frames.get_nowait()
                if frame is None:
                    self._has_ended = True
                else:
                    yield frame

    def next(self) -> bytes | None:
        """Wait for a frame and return it; None when the process has ended, in good order or not."""
        if self._has_ended:
            return None
        frame = self._frames.get()
        self._has_ended = frame is None
        return frame

    def _serve(self, order: bytes) -> None:
        with suppress(OSError, ValueError):  # it has ended
            if self._process.stdin is not None:
                self._process.stdin.write(order)
                self._process.stdin.close()
            stream = self._process.stdout
            while stream is not None:
                size = int.from_bytes(stream.read(_SIZE_BYTES))
                frame = stream.read(size) if 0 < size <= _LARGEST else b""
                if not frame or len(frame) < size:  # the end, or no frames of ours
                    break
                self._frames.put(frame)
        self._frames.put(None)


def read_order() -> bytes:
    """Return the order, in the worker."""
    with os.fdopen(0, "rb", closefd=False) as stdin:
        return stdin.read()


def answer(frame: bytes) -> None:
    """Send a frame that is not empty, in the worker; ends it if nobody reads any more."""
    unwritten = memoryview(len(frame).to_bytes(_SIZE_BYTES) + frame)
    try:
        while unwritten:
            unwritten = unwritten[os.write(1, unwritten) :]
    except BrokenPipeError:
        raise SystemExit(1) from None
