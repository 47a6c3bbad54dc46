"""The clients of one terminal: who is attached, whose window decides the size, and who gets a picture when.

Of a terminal that no emulator draws they get the child's output as it is. They read it out of the crash buffer, each at
its own pace: what the buffer has lost meanwhile is left out, and nobody waits for anybody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from oulipoly_engine.records import Record
from oulipoly_engine.terminal.host.client_connection import ClientConnection
from oulipoly_engine.terminal.host.crash_buffer import CrashBuffer
from oulipoly_engine.terminal.protocol.frames import Viewport
from oulipoly_engine.terminal.protocol.messages import Exited, Message, Output, SideEffectReport, SizeReport
from oulipoly_engine.terminal.protocol.screen import Frame

_INTERVALS_S = {"focused": 1 / 60, "unfocused": 1 / 20}
_FLOOD_INTERVAL_S = 1 / 30
_ACTIVITY_S = 1.0
_LOOKS_AWAY_S = 1.0
LARGEST_COLUMNS, LARGEST_ROWS = 1000, 500  # a full picture of that size still fits into one message
LAST = "last"

_RECENT = 64 << 10  # bytes that a client is shown of what was printed before it came
_PIECE = 256 << 10  # bytes of one message
# Modes that the program has switched on and off: the real terminal needs them all, however old they are.
_SWITCH = re.compile(rb"\x1b\[(?:\?[0-9;]{1,40}[hl]|[<>][0-9;]{0,12}u)")
# Questions that the program asked its terminal. A second answer to an old one would be typed into whatever runs now:
# device attributes and status, modes, versions, the kitty keyboard, sizes, colours, the clipboard, terminfo, settings.
_QUERY = re.compile(
    rb"\x1b\[[?>=]?[0-9;]{0,20}[cn]|\x1b\[\??[0-9;]{1,20}\$p|\x1b\[>[0-9;]{0,9}q|\x1b\[\?u|\x1b\[(?:1[1-9]|2[01])t"
    rb"|\x1b\][0-9;]{1,20}[^\x07\x1b]{0,20};\?(?:\x07|\x1b\\)|\x1bP[+$]q[^\x1b]{0,200}\x1b\\"
)


class Window(Record):
    """One client's window."""

    name: str
    columns: int
    rows: int
    typed_at: float
    only_reads: bool = False


class SizeDecision(Record):
    """A size, and whose window it is."""

    columns: int
    rows: int
    by: str


def decide_size(windows: Sequence[Window], rule: str) -> SizeDecision | None:
    """Return the size by the rule, "smallest" or "last" to type; None when no window is shown.

    Windows that only read have a say where there is no other.
    """
    windows = [window for window in windows if not window.only_reads] or windows
    if not windows:
        return None
    if rule == LAST:
        last = max(windows, key=lambda window: window.typed_at)
        return _clamp(last.columns, last.rows, last.name)
    narrow = min(windows, key=lambda window: window.columns)
    low = min(windows, key=lambda window: window.rows)
    by = narrow if narrow.rows == low.rows else low if low.columns == narrow.columns else None
    return _clamp(narrow.columns, low.rows, by.name if by else f"{narrow.name} and {low.name}")


def _clamp(columns: int, rows: int, by: str) -> SizeDecision:
    return SizeDecision(max(2, min(columns, LARGEST_COLUMNS)), max(1, min(rows, LARGEST_ROWS)), by)


class FrameSource(Protocol):
    """The screen, as far as pictures need it."""

    def frame(self, *, full: bool = False) -> Frame | None:
        """Return what changed."""

    def hold_left(self) -> float:
        """Return for how long the picture is held."""


class Clients:
    """All connections of one terminal."""

    def __init__(self, rule: str) -> None:
        self.rule = rule
        self.connections: list[ClientConnection] = []
        self.viewport = Viewport()
        self.size_decision: SizeDecision | None = None

    @property
    def watchers(self) -> Iterator[ClientConnection]:
        """Yield the clients that see pictures."""
        return (client for client in self.connections if client.counts)

    @property
    def has_focus(self) -> bool:
        """Return whether the window of any client that types has the focus."""
        return any(
            client.attached and client.focus == "focused" and not client.only_reads for client in self.connections
        )

    def is_watched(self, now: float) -> bool:
        """Return whether anybody sees pictures; one who has left a picture unanswered for a second does not look."""
        return any(client.awaiting is None or now - client.painted_at < _LOOKS_AWAY_S for client in self.watchers)

    def requested_size(self) -> SizeDecision | None:
        """Return the size that the windows ask for; None while none is shown."""
        windows = [
            Window(client.name, client.columns, client.rows, client.typed_at, client.only_reads)
            for client in self.watchers
        ]
        return decide_size(windows, self.rule)

    def send_size(self, columns: int, rows: int) -> None:
        """Send every attached client the size, and whose window decided it."""
        if self.size_decision is not None:
            count = sum(1 for _ in self.watchers)
            self.broadcast(SizeReport(columns, rows, self.size_decision.by, self.rule, count))

    def broadcast(self, message: Message) -> None:
        """Send a message to every attached client."""
        for client in self.connections:
            if client.attached:
                client.send(message)

    def send_report(self, report: SideEffectReport) -> None:
        """Send every attached client a report."""
        for client in self.connections:
            if client.attached:
                client.send_report(report)

    def mark_all_unsent(self) -> None:
        """Mark everything as unsent for every client, after a change of size; readers see the present again."""
        for client in self.connections:
            client.look_at(None)

    def add_frame(self, frame: Frame) -> None:
        """Add a frame to the picture, and to what every client has not been sent."""
        self.viewport.add_frame(frame, [client.unsent for client in self.connections])

    def mark_active(self, now: float) -> None:
        """Tell hidden clients that something was printed, at most once a second."""
        for client in self.connections:
            if client.attached and client.focus == "hidden" and now - client.active_at >= _ACTIVITY_S:
                client.active_at = now
                client.send_report(SideEffectReport(active=True))

    def send_pictures(
        self, screen: FrameSource, now: float, *, changed: bool, flooding: bool
    ) -> tuple[bool, float | None]:
        """Send the pictures that are due.

        Returns whether the screen still has changes that nobody has taken, and how many seconds until there is
        something to do again, None if only an event can bring it.
        """
        waits = [
            (client, _wait(client, now, flooding=flooding)) for client in self._followers if client.awaiting is None
        ]
        hold = 0.0
        if changed and any(wait <= 0 for _, wait in waits):
            hold = screen.hold_left()  # first: one that ends in between would leave the picture unsent
            frame = screen.frame(full=not self.viewport.is_known)
            if frame is not None:
                self.add_frame(frame)
            changed = hold > 0
        least: float | None = None
        for client, wait in waits:
            if wait <= 0 and client.unsent.has_any():
                self._send_picture(client, now)
            elif changed or client.unsent.has_any():
                due = max(wait, hold, 0.001)
                least = due if least is None else min(least, due)
        return changed, least

    def send_exit(self, exited: Exited, *, insist: bool, changed: bool) -> None:
        """Tell each client that the child has ended, once it has its last picture."""
        followers = list(self._followers)
        for client in self.connections:
            is_behind = client in followers and (changed or client.awaiting is not None or client.unsent.has_any())
            is_behind = is_behind or (client.output_at is not None and client.has_unsent)
            if client.greeted and not client.has_exit and (insist or not is_behind):
                client.has_exit = True
                client.send(exited)

    @property
    def _followers(self) -> Iterator[ClientConnection]:
        """Yield the clients that get pictures of what is printed, and do not look back."""
        return (client for client in self.watchers if client.looks_at is None and client.output_at is None)

    def _send_picture(self, client: ClientConnection, now: float) -> None:
        picture = self.viewport.next_picture(client.unsent)
        if picture is not None:
            client.awaiting = picture.number
            client.painted_at = now
            client.send_trimmed(self.viewport.trimmed)
            client.send(picture)


def _wait(client: ClientConnection, now: float, *, flooding: bool) -> float:
    """Return how many seconds a client's next picture has to wait; below 0: it is due.

    The first one after a key is due at once: it shows what the key did, and whoever types looks at that.
    """
    if client.typed_at > client.painted_at and not flooding:
        return 0.0
    interval = _INTERVALS_S[client.focus]
    return client.painted_at + (max(interval, _FLOOD_INTERVAL_S) if flooding else interval) - now


def begin_output(client: ClientConnection, crash_buffer: CrashBuffer) -> None:
    """Send a client what was printed last, and from now on what comes."""
    before, _ = crash_buffer.output_since(0)
    recent, _ = crash_buffer.output_since(max(0, crash_buffer.total - _RECENT))
    if len(recent) < len(before):
        recent = recent[recent.find(b"\n") + 1 :]  # not from the middle of a sequence on
    modes = b"".join(_SWITCH.findall(before[: len(before) - len(recent)]))
    client.output_at = crash_buffer.total
    client.send(Output(modes + _QUERY.sub(b"", recent)))


def send_output(clients: Iterable[ClientConnection], crash_buffer: CrashBuffer) -> None:
    """Send new output to every client that asked for output, as far as it reads."""
    for client in clients:
        while client.output_at is not None and client.output_at < crash_buffer.total and not client.has_unsent:
            data, _ = crash_buffer.output_since(client.output_at)
            piece = data[:_PIECE]
            client.output_at = crash_buffer.total - len(data) + len(piece)
            if piece:
                client.send(Output(piece))
