"""One client as the host sees it: its socket, what it asked for, and what waits to be sent to it.

What waits is bounded. Pictures are not queued: only the latest is made when the client is ready. Side effects that
cannot be sent are merged into one report. From a client that does not read its answers nothing is read.
"""

from __future__ import annotations

import socket

from oulipoly_engine.terminal.protocol.frames import UnsentRows
from oulipoly_engine.terminal.protocol.messages import (
    Bye,
    Decoder,
    Focus,
    FromClient,
    Hello,
    Message,
    SideEffectReport,
    TrimReport,
    WireBroken,
    encode,
)

_UNREAD_LIMIT = 1 << 20  # bytes that wait before we stop listening to a client
_CHUNK = 64 << 10  # larger ones come from the kernel anew each time
_NOTICES = 16  # kept for a client that does not read


class ClientConnection:
    """A connection from a client."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self.connection = connection
        self.name = ""
        self.greeted = False
        self.attached = False
        self.columns = self.rows = 0
        self.focus: Focus = "hidden"
        self.typed_at = 0.0
        self.only_reads = False
        self.looks_at: int | None = None  # a reader's first line, counted from the oldest; None: it sees what all see
        self.output_at: int | None = None  # how much of the output it has been sent as it is; None: it gets pictures
        self.unsent = UnsentRows()
        self.trimmed: int | None = None  # the rows that it knows to be trimmed; None: it does not want to know
        self.awaiting: int | None = None  # the picture that it has not acknowledged
        self.painted_at = 0.0
        self.active_at = 0.0
        self.has_exit = False
        self.closing = False
        self.watched = 0  # the events that the selector looks for
        self._decoder = Decoder(FromClient)
        self._out = bytearray()
        self._report: SideEffectReport | None = None

    @property
    def counts(self) -> bool:
        """Return whether its window has a say in the size, and gets pictures."""
        return self.attached and self.focus != "hidden"

    def look_at(self, line: int | None) -> None:
        """Show this reader the text from a line on, or the present again for None."""
        self.looks_at = line
        self.unsent.is_full = True  # once it sees that

    @property
    def is_clogged(self) -> bool:
        """Return whether it leaves too much unread."""
        return len(self._out) > _UNREAD_LIMIT

    @property
    def has_unsent(self) -> bool:
        """Return whether bytes wait for it to read."""
        return bool(self._out)

    def send(self, message: Message) -> None:
        """Send a message now or, if the client does not read, later."""
        data = encode(message)
        if self._out:
            self._out += data
            return
        count = self._write(data)
        self._out += memoryview(data)[count:]

    def send_trimmed(self, trimmed: int) -> None:
        """Send how many rows the scrollback has lost, if the client asked for it and the number is new."""
        if self.trimmed is not None and trimmed != self.trimmed:
            self.trimmed = trimmed
            self.send(TrimReport(trimmed))

    def send_report(self, report: SideEffectReport) -> None:
        """Send a report, or merge it into the one that waits."""
        if self._report is not None:
            self._report = _merge(self._report, report)
        elif self._out:
            self._report = report
        else:
            self.send(report)

    def flush(self) -> None:
        """Send what waits, as far as the client reads."""
        if self._out:
            del self._out[: self._write(self._out)]
        if not self._out and self._report is not None:
            report, self._report = self._report, None
            self.send(report)

    def receive(self) -> list[Message]:
        """Return the messages that have come. Raises EOFError when the client is gone, WireBroken for rubbish."""
        try:
            data = self.connection.recv(_CHUNK)
        except BlockingIOError:
            return []
        except OSError as error:
            raise EOFError from error
        if not data:
            raise EOFError
        received = self._decoder.feed(data)
        if not self.greeted and received and not isinstance(received[0], Hello):
            text = "the first message must be hello"
            raise WireBroken(text)
        return received

    def close(self, text: str | None = None) -> None:
        """Close the connection, after a goodbye if the client still reads."""
        if text is not None and not self._out:
            self._write(encode(Bye(text)))
        self.connection.close()

    def _write(self, data: bytes | bytearray) -> int:
        try:
            return self.connection.send(data)
        except BlockingIOError:
            return 0
        except OSError:  # it is gone; what it sent before may still be there to read, and shows the end
            return len(data)


def _merge(first: SideEffectReport, then: SideEffectReport) -> SideEffectReport:
    return SideEffectReport(
        title=first.title if then.title is None else then.title,
        folder=first.folder if then.folder is None else then.folder,
        bells=first.bells + then.bells,
        copied=then.copied or first.copied,  # the clipboard holds one text
        notices=(first.notices + then.notices)[-_NOTICES:],
        progress=first.progress if then.progress is None else then.progress,
        active=first.active or then.active,
    )
