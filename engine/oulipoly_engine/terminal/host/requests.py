"""The screen of one terminal and what clients do to it: typing, sizes, scrolling, questions. No sockets, no waiting."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from functools import singledispatchmethod

from oulipoly_engine.records import replace
from oulipoly_engine.terminal.host.client_connection import ClientConnection
from oulipoly_engine.terminal.host.clients import Clients, begin_output
from oulipoly_engine.terminal.host.handles import TerminalHandles
from oulipoly_engine.terminal.host.process_groups import send
from oulipoly_engine.terminal.host.pty_writer import PtyWriter
from oulipoly_engine.terminal.protocol import messages
from oulipoly_engine.terminal.protocol.screen import Cursor, Key, Mouse, Screen, SideEffects

_RESIZE_PAUSE_S = 0.04  # between two sizes while a window is dragged: each one makes the child draw afresh
_NO_CURSOR = Cursor(0, 0, visible=False)


class RequestHandler:
    """Handles the messages of all clients of one terminal."""

    def __init__(
        self, handles: TerminalHandles, screen: Screen, size: tuple[int, int], *, kill: Callable[[int], None]
    ) -> None:
        self.screen = screen
        self.clients = Clients(handles.rules.size_rule)
        self.pty_writer = PtyWriter(handles.pty)
        self.size = size
        self.title = self.folder = ""
        self.progress: int | None = None
        self.unseen_bells = 0
        self.changed = True  # the screen holds what no picture shows yet
        self.exited: messages.Exited | None = None
        self.end_seen = False
        self._handles = handles
        self._kill = kill
        self._resized_at = 0.0
        self._focused: bool | None = None

    # What the child does ---------------------------------------------------------------------------------------------
    def take_output(self, data: bytes) -> None:
        """Draw what the child printed; `answer_output` must follow."""
        self.screen.feed(data)
        self.changed = True

    def answer_output(self) -> None:
        """Answer what the child has asked, and tell the clients what else it did."""
        self._apply_side_effects(self.screen.take_side_effects())

    def _apply_side_effects(self, effects: SideEffects) -> None:
        if effects.replies:
            self.pty_writer.write(effects.replies)
        self.title = self.title if effects.title is None else effects.title
        self.folder = self.folder if effects.folder is None else effects.folder
        self.progress = self.progress if effects.progress is None else effects.progress
        if not any(self.clients.watchers):
            self.unseen_bells += effects.bells
        report = messages.SideEffectReport(
            title=effects.title,
            folder=effects.folder,
            bells=effects.bells,
            copied=effects.copied[-1:],  # the clipboard holds one text
            notices=effects.notices,
            progress=effects.progress,
        )
        if report != messages.SideEffectReport():
            self.clients.send_report(report)

    # What clients do -------------------------------------------------------------------------------------------------
    @singledispatchmethod
    def handle(self, message: messages.Message, client: ClientConnection) -> None:
        """Handle a message of a client."""
        raise messages.WireBroken(f"{type(message).__name__} comes from hosts, not from clients")

    @handle.register
    def _(self, message: messages.Hello, client: ClientConnection) -> None:
        if not client.greet(message, f"{messages.NAME} {messages.NUMBERS} {messages.COLOURS}"):
            text = f"this terminal's host speaks version {messages.VERSION} of the protocol, not {message.version}"
            client.send(
                messages.Bye(f"{text}: it was started by another release; end it, or use that release to attach")
            )
            client.closing = True
            return
        client.send(self._state())

    @handle.register
    def _(self, message: messages.Attach, client: ClientConnection) -> None:
        client.attached = True
        client.columns, client.rows, client.focus = message.columns, message.rows, message.focus
        client.only_reads = message.only_reads
        client.typed_at = time.monotonic()
        client.look_at(None)
        client.awaiting = None
        if client.counts:
            self.clients.size_decision = None  # so that it is told again, to the new client too
        self._windows_changed()
        if client.counts:
            self.unseen_bells = 0

    @handle.register
    def _(self, message: messages.TextInput, client: ClientConnection) -> None:
        if client.output_at is not None or not self._is_notice:  # nobody types what nobody can see
            self._type(client, message.data)

    @handle.register
    def _(self, message: messages.KeyInput, client: ClientConnection) -> None:
        self._type(client, self.screen.encode_key(Key(message.name, message.text, message.mods)))

    @handle.register
    def _(self, message: messages.PasteInput, client: ClientConnection) -> None:
        self._type(client, self.screen.encode_paste(message.text))

    @handle.register
    def _(self, message: messages.MouseInput, client: ClientConnection) -> None:
        if client.only_reads:
            return
        event = Mouse(message.action, message.button, message.x, message.y, message.mods)
        self.pty_writer.write(self.screen.encode_mouse(event))

    @handle.register
    def _(self, message: messages.FocusChange, client: ClientConnection) -> None:
        client.focus = message.focus
        client.unsent.is_full = True
        self._windows_changed()

    @handle.register
    def _(self, message: messages.WindowSize, client: ClientConnection) -> None:
        client.columns, client.rows = message.columns, message.rows
        self._windows_changed()

    @handle.register
    def _(self, message: messages.PictureReceipt, client: ClientConnection) -> None:
        if client.awaiting is not None and message.number >= client.awaiting:
            client.awaiting = None

    @handle.register
    def _(self, message: messages.ScrollRequest, client: ClientConnection) -> None:
        if client.only_reads:
            self._look_back(client, message.delta)
            return
        if message.delta:
            self.screen.scroll(message.delta)
        else:
            self.screen.scroll_to_bottom()
        self.changed = True

    @handle.register
    def _(self, message: messages.RefreshRequest, client: ClientConnection) -> None:
        client.unsent.is_full = True

    @handle.register
    def _(self, message: messages.RowsRequest, client: ClientConnection) -> None:
        found_rows = self.screen.styled_rows(message.first, message.count)
        style_numbers = self.clients.viewport.style_numbers
        rows = tuple(style_numbers.encode(message.first + index, row) for index, row in enumerate(found_rows))
        styles, resets_styles = client.unsent.styles_for(style_numbers)
        client.send(messages.RowsAnswer(message.request, message.first, styles, rows, resets_styles))

    @handle.register
    def _(self, message: messages.LineNumbersRequest, client: ClientConnection) -> None:
        client.trimmed = 0  # as it takes it to be until it is told
        if self.clients.viewport.trimmed:
            client.unsent.is_full = True  # it may have a picture already, and cannot number what is in that

    @handle.register
    def _(self, message: messages.Colours, client: ClientConnection) -> None:
        if not client.only_reads:
            self.screen.recolour(message.foreground, message.background, dark=message.dark)
            self._apply_side_effects(self.screen.take_side_effects())

    @handle.register
    def _(self, message: messages.LinesRequest, client: ClientConnection) -> None:
        trimmed = self.screen.trimmed()
        first = max(0, message.first - trimmed)
        found_rows = self.screen.styled_rows(first, max(0, message.first + message.count - trimmed - first))
        number = trimmed + first
        style_numbers = self.clients.viewport.style_numbers
        rows = tuple(style_numbers.encode(number + index, row) for index, row in enumerate(found_rows))
        goes_on = tuple(trimmed + line for line in self.screen.goes_on(first, len(found_rows)))
        styles, resets_styles = client.unsent.styles_for(style_numbers)
        client.send_trimmed(trimmed)
        client.send(messages.LinesAnswer(message.request, styles, rows, goes_on, resets_styles))

    @handle.register
    def _(self, message: messages.SearchRequest, client: ClientConnection) -> None:
        hits = self.screen.search(message.text, message.limit) if message.text else ()
        client.send_trimmed(self.screen.trimmed())
        client.send(messages.SearchAnswer(message.request, tuple((hit.line, hit.start, hit.end) for hit in hits)))

    @handle.register
    def _(self, message: messages.OutputRequest, client: ClientConnection) -> None:
        if self._is_notice:
            begin_output(client, self._handles.crash_buffer)
            send(self._handles.pty, signal.SIGWINCH)  # programs that fill the screen draw it afresh

    @handle.register
    def _(self, message: messages.Kill, client: ClientConnection) -> None:
        if not client.only_reads:
            self._kill(message.signal)

    @handle.register
    def _(self, message: messages.EndReceipt, client: ClientConnection) -> None:
        self.end_seen = self.end_seen or self.exited is not None

    @handle.register
    def _(self, message: messages.Bye, client: ClientConnection) -> None:
        client.closing = True

    def drop_client(self, client: ClientConnection) -> None:
        """Forget a client whose connection is closed."""
        if client.attached:
            self._windows_changed()

    # Sizes and focus -------------------------------------------------------------------------------------------------
    def fit_size(self, now: float) -> float | None:
        """Set the size that the clients' windows ask for. Returns the seconds until it is due; None: nothing is due."""
        requested = self.clients.requested_size()
        if requested is None:
            return None
        if (requested.columns, requested.rows) != self.size:
            wait_s = self._resized_at + _RESIZE_PAUSE_S - now
            if wait_s > 0:
                return wait_s
            self._resize(requested.columns, requested.rows, now)
        elif requested == self.clients.size_decision:
            return None
        self.clients.size_decision = requested
        self.clients.send_size(*self.size)
        return None

    def _resize(self, columns: int, rows: int, now: float) -> None:
        self._resized_at = now
        self.size = columns, rows
        self._handles.crash_buffer.size = self.size
        self.screen.resize(columns, rows)  # before the child hears of it and draws for the new size
        self._handles.pty.resize(columns, rows)
        self._apply_side_effects(self.screen.take_side_effects())
        self.clients.viewport.forget()
        self.clients.mark_all_unsent()
        self.changed = True

    def _windows_changed(self) -> None:
        focused = self.clients.has_focus
        if focused != self._focused:
            self._focused = focused
            self.pty_writer.write(self.screen.encode_focus(gained=focused))
        self.fit_size(time.monotonic())

    def _look_back(self, client: ClientConnection, delta: int) -> None:
        """Show another part of the text to one reader only. It stays there while the child prints more."""
        viewport = self.clients.viewport
        changed_frame = self.screen.frame(full=not viewport.is_known)
        if changed_frame is not None:
            self.clients.add_frame(changed_frame)
        frame = viewport.frame
        if frame is None:
            return
        before = frame.scrollback - frame.offset if client.looks_at is None else client.looks_at
        top = max(0, before + delta)
        if not delta or top >= frame.scrollback:
            client.look_at(None)
            return
        client.look_at(top)
        scrollback = replace(frame, offset=frame.scrollback - top, cursor=_NO_CURSOR)
        picture = viewport.scrollback_picture(client.unsent, scrollback, self.screen.styled_rows(top, frame.rows))
        client.awaiting = picture.number
        client.send(picture)

    def _type(self, client: ClientConnection, data: bytes) -> None:
        if self.exited is not None or not data or client.only_reads:
            return
        client.typed_at = time.monotonic()
        self.screen.scroll_to_bottom()
        if not self.pty_writer.write(data):
            text = f"the program does not read its input: {len(data)} bytes were not typed"
            client.send(messages.HostNotice(text, "warning"))
        if self.clients.rule == "last":
            self.fit_size(client.typed_at)

    @property
    def _is_notice(self) -> bool:
        return self.screen.name == messages.NO_EMULATOR

    def _state(self) -> messages.State:
        terminal = self._handles.terminal
        columns, rows = self.size
        return messages.State(
            id=terminal.id,
            label=terminal.label,
            pid=terminal.pid,
            started_at=terminal.started_at,
            title=self.title,
            folder=self.folder,
            columns=columns,
            rows=rows,
            emulator=self.screen.name,
            unseen_bells=self.unseen_bells,
            progress=self.progress,
        )
