"""The app's end of a terminal's host, on the event loop: what comes is handed on, what breaks is mended or told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from oulipoly_engine.terminal.client.client import HostGone, Link
from oulipoly_engine.terminal.protocol.messages import Attach, Message

_AGAIN_EVERY_S = 0.05
_AGAIN_TIMES = 100  # five seconds: three starts of a screen's process


class TerminalLink:
    """One connection. For the event loop's thread alone."""

    def __init__(self, socket: Path, take: Callable[[Message], None], on_gone: Callable[[str], None]) -> None:
        """Connect and begin to read. Raises HostUnreachable.

        take: gets every message. on_gone: gets a sentence, once, when the host is gone for good.
        """
        self._take, self._on_gone = take, on_gone
        self._loop = asyncio.get_running_loop()
        self._link = Link(socket, "app")
        self._is_open = True
        self._is_watching_output = False
        self._again: asyncio.TimerHandle | None = None
        self._watch()

    def send(self, message: Message) -> None:
        """Send a message; what the host does not take at once follows as it does."""
        if not self._is_open:
            return
        if isinstance(message, Attach):
            self._link.attach(message)
        else:
            self._link.send(message)
        self._watch_output()

    def close(self) -> None:
        """Say goodbye; the terminal lives on."""
        if self._is_open:
            self._is_open = False
            self._unwatch()
            if self._again is not None:
                self._again.cancel()
            self._link.close()

    def _watch(self) -> None:
        self._loop.add_reader(self._link.fileno(), self._read)
        self._watch_output()

    def _unwatch(self) -> None:
        descriptor = self._link.fileno()
        if descriptor >= 0:
            self._loop.remove_reader(descriptor)
            self._loop.remove_writer(descriptor)
        self._is_watching_output = False

    def _watch_output(self) -> None:
        wants, descriptor = self._link.wants_to_write, self._link.fileno()
        if wants and not self._is_watching_output:
            self._loop.add_writer(descriptor, self._write)
        elif not wants and self._is_watching_output:
            self._loop.remove_writer(descriptor)
        self._is_watching_output = wants

    def _write(self) -> None:
        self._link.flush()
        self._watch_output()

    def _read(self) -> None:
        try:
            messages = self._link.receive()
        except ConnectionResetError:
            self._unwatch()
            self._reconnect(_AGAIN_TIMES)
            return
        except HostGone as error:
            self._end(error.message)
            return
        for message in messages:
            self._take(message)

    def _reconnect(self, tries_left: int) -> None:
        """Connect again: the screen's process may have died of what it was fed, and another takes over."""
        self._again = None
        try:
            is_mended = self._link.reconnect()
        except HostGone as error:
            self._end(error.message)
            return
        if is_mended:
            self._watch()
        elif tries_left:
            self._again = self._loop.call_later(_AGAIN_EVERY_S, self._reconnect, tries_left - 1)
        else:
            self._end("the terminal's host has died, and its program has lost its terminal")

    def _end(self, text: str) -> None:
        if self._is_open:
            self._is_open = False
            self._unwatch()
            self._on_gone(text)
