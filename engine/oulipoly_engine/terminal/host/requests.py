"""The screen of one terminal and what clients do to it: typing, sizes, scrolling, questions. No sockets, no waiting."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from functools import singledispatchmethod

from oulipoly_engine.records import replace
from oulipoly_engine.terminal.host.client_connection import ClientSeat
from oulipoly_engine.terminal.host.clients import Audience, begin_output
from oulipoly_engine.terminal.host.handles import Seat
from oulipoly_engine.terminal.host.process_groups import send
from oulipoly_engine.terminal.host.pty_writer import Typist
from oulipoly_engine.terminal.protocol import messages
from oulipoly_engine.terminal.protocol.screen import Cursor, Happenings, Key, Mouse, Screen

_RESIZE_PAUSE_S = 0.04  # between two sizes while a window is dragged: each one makes the child draw afresh
_NO_CURSOR = Cursor(0, 0, visible=False)


class Stage:
    """Everything that a message of a client can touch."""

    def __init__(self, seat: Seat, screen: Screen, size: tuple[int, int], *, kill: Callable[[int], None]) -> None:
        self.screen = screen
        self.audience = Audience(seat.rules.size_rule)
        self.typist = Typist(seat.line)
        self.size = size
        self.title = self.folder = ""
        self.progress: int | None = None
        self.unseen_bells = 0
        self.changed = True  # the screen holds what no picture shows yet
        self.exited: messages.Exited | None = None
        self.end_seen = False
        self._seat = seat
        self._kill = kill
        self._resized_at = 0.0
        self._focused: bool | None = None

    # What the child does ---------------------------------------------------------------------------------------------
    def take_output(self, data: bytes) -> None:
        """Draw what the child printed and answer its questions."""
        self.screen.feed(data)
        self.changed = True
        self._take(self.screen.happenings())

    def _take(self, happenings: Happenings) -> None:
        if happenings.replies:
            self.typist.type(happenings.replies)
        self.title = self.title if happenings.title is None else happenings.title
        self.folder = self.folder if happenings.folder is None else happenings.folder
        self.progress = self.progress if happenings.progress is None else happenings.progress
        if not any(self.audience.watchers):
            self.unseen_bells += happenings.bells
        told = messages.Happened(
            title=happenings.title,
            folder=happenings.folder,
            bells=happenings.bells,
            copied=happenings.copied[-1:],  # the clipboard holds one text
            notices=happenings.notices,
            progress=happenings.progress,
        )
        if told != messages.Happened():
            self.audience.tell(told)

    # What clients do -------------------------------------------------------------------------------------------------
    @singledispatchmethod
    def act(self, message: messages.Message, client: ClientSeat) -> None:
        """Do what a client's message asks for."""
        text = f"{type(message).__name__} comes from hosts, not from clients"
        raise messages.WireBroken(text)

    @act.register
    def _(self, message: messages.Hello, client: ClientSeat) -> None:
        client.name, client.greeted = message.name[:80], True
        if message.version != messages.VERSION:
            ours = f"this terminal's host speaks version {messages.VERSION} of the protocol, not {message.version}"
            client.send(
                messages.Bye(f"{ours}: it was started by another release; end it, or use that release to attach")
            )
            client.closing = True
            return
        client.send(messages.Hello(name=f"{messages.NAME} {messages.NUMBERS} {messages.COLOURS}"))
        client.send(self._state())

    @act.register
    def _(self, message: messages.Attach, client: ClientSeat) -> None:
        client.attached = True
        client.columns, client.rows, client.focus = message.columns, message.rows, message.focus
        client.only_reads = message.only_reads
        client.typed_at = time.monotonic()
        client.look_at(None)
        client.awaiting = None
        if client.counts:
            self.audience.decided = None  # so that it is told again, to the new client too
        self._windows_changed()
        if client.counts:
            self.unseen_bells = 0

    @act.register
    def _(self, message: messages.Typed, client: ClientSeat) -> None:
        if client.output_at is not None or not self._is_notice:  # nobody types what nobody can see
            self._type(client, message.data)

    @act.register
    def _(self, message: messages.Pressed, client: ClientSeat) -> None:
        self._type(client, self.screen.encode_key(Key(message.name, message.text, message.mods)))

    @act.register
    def _(self, message: messages.Pasted, client: ClientSeat) -> None:
        self._type(client, self.screen.encode_paste(message.text))

    @act.register
    def _(self, message: messages.Pointed, client: ClientSeat) -> None:
        if client.only_reads:
            return
        event = Mouse(message.action, message.button, message.x, message.y, message.mods)
        self.typist.type(self.screen.encode_mouse(event))

    @act.register
    def _(self, message: messages.Focused, client: ClientSeat) -> None:
        client.focus = message.focus
        client.debt.is_full = True
        self._windows_changed()

    @act.register
    def _(self, message: messages.Resized, client: ClientSeat) -> None:
        client.columns, client.rows = message.columns, message.rows
        self._windows_changed()

    @act.register
    def _(self, message: messages.Seen, client: ClientSeat) -> None:
        if client.awaiting is not None and message.number >= client.awaiting:
            client.awaiting = None

    @act.register
    def _(self, message: messages.Scrolled, client: ClientSeat) -> None:
        if client.only_reads:
            self._look_back(client, message.delta)
            return
        if message.delta:
            self.screen.scroll(message.delta)
        else:
            self.screen.scroll_to_bottom()
        self.changed = True

    @act.register
    def _(self, message: messages.Refresh, client: ClientSeat) -> None:
        client.debt.is_full = True

    @act.register
    def _(self, message: messages.RowsWanted, client: ClientSeat) -> None:
        found = self.screen.rows_at(message.first, message.count)
        book = self.audience.viewport.book
        rows = tuple(book.encode(message.first + index, row) for index, row in enumerate(found))
        styles, anew = client.debt.styles_for(book)
        client.send(messages.RowsFound(message.request, message.first, styles, rows, anew))

    @act.register
    def _(self, message: messages.NumberLines, client: ClientSeat) -> None:
        client.trimmed = 0  # as it takes it to be until it is told
        if self.audience.viewport.trimmed:
            client.debt.is_full = True  # it may have a picture already, and cannot number what is in that

    @act.register
    def _(self, message: messages.Coloured, client: ClientSeat) -> None:
        if not client.only_reads:
            self.screen.recolour(message.foreground, message.background, dark=message.dark)
            self._take(self.screen.happenings())

    @act.register
    def _(self, message: messages.LinesWanted, client: ClientSeat) -> None:
        trimmed = self.screen.trimmed()
        first = max(0, message.first - trimmed)
        found = self.screen.rows_at(first, max(0, message.first + message.count - trimmed - first))
        number = trimmed + first
        book = self.audience.viewport.book
        rows = tuple(book.encode(number + index, row) for index, row in enumerate(found))
        goes_on = tuple(trimmed + line for line in self.screen.goes_on(first, len(found)))
        styles, anew = client.debt.styles_for(book)
        client.number(trimmed)
        client.send(messages.LinesFound(message.request, styles, rows, goes_on, anew))

    @act.register
    def _(self, message: messages.SearchWanted, client: ClientSeat) -> None:
        hits = self.screen.search(message.text, message.limit) if message.text else ()
        client.number(self.screen.trimmed())
        client.send(messages.SearchFound(message.request, tuple((hit.line, hit.start, hit.end) for hit in hits)))

    @act.register
    def _(self, message: messages.SendOutput, client: ClientSeat) -> None:
        if self._is_notice:
            begin_output(client, self._seat.memory)
            send(self._seat.line, signal.SIGWINCH)  # programs that fill the screen draw it afresh

    @act.register
    def _(self, message: messages.Kill, client: ClientSeat) -> None:
        if not client.only_reads:
            self._kill(message.signal)

    @act.register
    def _(self, message: messages.EndSeen, client: ClientSeat) -> None:
        self.end_seen = self.end_seen or self.exited is not None

    @act.register
    def _(self, message: messages.Bye, client: ClientSeat) -> None:
        client.closing = True

    def lost(self, client: ClientSeat) -> None:
        """Go on without a client."""
        if client.attached:
            self._windows_changed()

    # Sizes and focus -------------------------------------------------------------------------------------------------
    def fit(self, now: float) -> float | None:
        """Give the terminal the size that its windows ask for; returns the seconds until it is due, None: it is so."""
        wanted = self.audience.wanted_size()
        if wanted is None:
            return None
        if (wanted.columns, wanted.rows) != self.size:
            left = self._resized_at + _RESIZE_PAUSE_S - now
            if left > 0:
                return left
            self._resize(wanted.columns, wanted.rows, now)
        elif wanted == self.audience.decided:
            return None
        self.audience.decided = wanted
        self.audience.tell_size(*self.size)
        return None

    def _resize(self, columns: int, rows: int, now: float) -> None:
        self._resized_at = now
        self.size = columns, rows
        self._seat.memory.size = self.size
        self.screen.resize(columns, rows)  # before the child hears of it and draws for the new size
        self._seat.line.resize(columns, rows)
        self._take(self.screen.happenings())
        self.audience.viewport.forget()
        self.audience.owe_all()
        self.changed = True

    def _windows_changed(self) -> None:
        focused = self.audience.has_focus
        if focused != self._focused:
            self._focused = focused
            self.typist.type(self.screen.encode_focus(gained=focused))
        self.fit(time.monotonic())

    def _look_back(self, client: ClientSeat, delta: int) -> None:
        """Show a reader another part of the text, and nobody else: it stays with that while more is printed."""
        viewport = self.audience.viewport
        fresh = self.screen.frame(full=not viewport.is_known)
        if fresh is not None:
            self.audience.take(fresh)
        shown = viewport.frame
        if shown is None:
            return
        before = shown.scrollback - shown.offset if client.looks_at is None else client.looks_at
        top = max(0, before + delta)
        if not delta or top >= shown.scrollback:
            client.look_at(None)
            return
        client.look_at(top)
        past = replace(shown, offset=shown.scrollback - top, cursor=_NO_CURSOR)
        picture = viewport.past(client.debt, past, self.screen.rows_at(top, shown.rows))
        client.awaiting = picture.number
        client.send(picture)

    def _type(self, client: ClientSeat, data: bytes) -> None:
        if self.exited is not None or not data or client.only_reads:
            return
        client.typed_at = time.monotonic()
        self.screen.scroll_to_bottom()
        if not self.typist.type(data):
            text = f"the program does not read its input: {len(data)} bytes were not typed"
            client.send(messages.Said(text, "warning"))
        if self.audience.rule == "last":
            self.fit(client.typed_at)

    @property
    def _is_notice(self) -> bool:
        return self.screen.name == messages.NO_EMULATOR

    def _state(self) -> messages.State:
        terminal = self._seat.terminal
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
