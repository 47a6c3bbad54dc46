"""One client as the host sees it: its socket, what it asked for, and what waits to be sent to it.

What waits is bounded. Pictures are not queued: only the latest is made when the client is ready. Side effects that
cannot be sent are merged into one report. From a client that does not read its answers nothing is read.
"""

from __future__ import annotations

import socket

from oulipoly_engine.host.client_socket import ClientSocket
from oulipoly_engine.host.frames import Budget, Bye, Message, WireBroken
from oulipoly_engine.terminal.protocol.frames import UnsentRows
from oulipoly_engine.terminal.protocol.messages import Focus, FromClient, SideEffectReport, TrimReport

_UNREAD_LIMIT = 1 << 20  # bytes that wait before we stop listening to a client
_NOTICES = 16  # kept for a client that does not read


class ClientConnection(ClientSocket):
    """A connection from a client."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(connection, FromClient, Budget())
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
        self._report: SideEffectReport | None = None

    @property
    def counts(self) -> bool:
        """Return whether its window has a say in the size, and gets pictures."""
        return self.attached and self.focus != "hidden"

    def send(self, message: Message) -> None:
        """Send a message; a client that takes none so large is let go, since no picture may be missing."""
        try:
            super().send(message)
        except WireBroken as error:
            super().send(Bye(str(error)))
            self.closing = True

    def look_at(self, line: int | None) -> None:
        """Show this reader the text from a line on, or the present again for None."""
        self.looks_at = line
        self.unsent.is_full = True  # once it sees that

    @property
    def is_clogged(self) -> bool:
        """Return whether it leaves too much unread."""
        return len(self._out) > _UNREAD_LIMIT

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
        super().flush()
        if not self._out and self._report is not None:
            report, self._report = self._report, None
            self.send(report)


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
