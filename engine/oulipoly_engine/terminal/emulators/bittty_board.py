"""bittty's emulated machine, set up as we want it: its answers, its events and its limits."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bittty import BITTTY, Board, TerminalCaps  # type: ignore[import-untyped]  # it ships no py.typed
from bittty.present import (  # type: ignore[import-untyped]  # as above
    Bell,
    ClipboardChanged,
    CwdChanged,
    Notification,
    RowsScrolledOff,
    ScrollbackCleared,
    SyncOutputChanged,
    TitleChanged,
)
from bittty.terminals.scrollback import (  # type: ignore[import-untyped]  # as above
    MemoryScrollback,
    ScrollbackLine,
)

from oulipoly_engine.terminal.emulators.side_effects import COPY_BYTES, OVER, Heard
from oulipoly_engine.terminal.protocol.screen import PALETTE, ScreenLimits

_CELL_PIXELS = (8, 16)  # what a cell is said to measure, as in ghostty_ears
_WINDOW_REPORTS = {11, 13, 14, 15, 16, 18, 19, 22, 23}  # and the title's stack; see `_window`
_PROGRESS = re.compile(r"4;([0-4])(?:;([0-9]{1,3}))?;?")
_ROW_CELLS = 120  # as in ghostty: the least cells that a row of the scrollback is reckoned with
_NAME = "agent-runner"


class Line:
    """The host's end of the line: what the board writes is an answer, or what a key sends. Fits bittty's Connection."""

    closed = False

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, data: str) -> int:
        """Take text."""
        self._written.append(data.encode("utf-8", "replace"))
        return len(data)

    def write_bytes(self, data: bytes) -> int:
        """Take bytes."""
        self._written.append(data)
        return len(data)

    def take(self) -> bytes:
        """Return what was written and forget it."""
        taken = b"".join(self._written)
        self._written.clear()
        return taken

    def flush(self) -> None:
        """Do nothing: everything is there."""

    def resize(self, rows: int, cols: int) -> None:
        """Do nothing: the PTY's size is set by whoever owns it."""

    def configure_line(self, line: object) -> None:
        """Do nothing: there is no modem."""

    def close(self) -> None:
        """Do nothing."""

    async def read_bytes_async(self, size: int) -> bytes:
        """Return nothing: the board is fed."""
        return b"" * size


class Machine:
    """A board with its line, its scrollback and its events. Fits bittty's Presentable."""

    keeps_scrollback = True

    def __init__(self, columns: int, rows: int, limits: ScreenLimits, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.heard = Heard()
        self.line = Line()
        self.history = MemoryScrollback(limits.scrollback_rows * max(_ROW_CELLS, columns))
        self.goes_on = False  # the newest row of the scrollback, on the screen
        self.cleared = 0  # times that the child had the scrollback erased
        self.held_since: float | None = None
        colours: dict[str | int, tuple[int, int, int]] = {
            **{number: _parts(colour) for number, colour in enumerate(PALETTE)},
            "foreground": _parts(limits.foreground),
            "background": _parts(limits.background),
        }
        # On the alternate screen the wheel sends arrow keys (1007), as other terminals have it and ghostty too.
        model = replace(BITTTY, power_on_modes=BITTTY.power_on_modes | {1007})
        self.board: Any = Board(
            width=columns,
            height=rows,
            model=model,
            palette_overrides=colours,
        )
        self._window_operation = self.board.registry["XTWINOPS"]
        self._reset_operation = self.board.registry["RIS"]
        self.board.registry |= {
            "XTWINOPS": self._window,
            "RIS": self._reset,
            "XTVERSION": lambda _: self.board.host.write(f"\x1bP>|{_NAME}\x1b\\"),
        }
        self._clusters()
        self.board.host.attach(self.line)
        self.board.attach_display(self)
        self.measure(columns, rows)

    def measure(self, columns: int, rows: int) -> None:
        """Tell the board how many pixels its window has."""
        width, height = _CELL_PIXELS
        self.board.set_caps(TerminalCaps(cell_px=_CELL_PIXELS, window_px=(width * columns, height * rows)))

    def present(self, event: object) -> None:
        """Take one of the board's events."""
        match event:
            case RowsScrolledOff():
                for line in event.lines:
                    row = ScrollbackLine.of(line.cells, not line.wrapped, line.attribute)
                    self.history.append(row, line.wrapped)
                    self.goes_on = bool(line.wrapped)
            case ScrollbackCleared():
                self.history.clear()
                self.goes_on = False
                self.cleared += 1
            case SyncOutputChanged():
                self.held_since = self._clock() if event.enabled else None
            case Bell():
                self.heard.bells += 1
            case TitleChanged():
                self.heard.title(event.title)
            case CwdChanged():
                self.heard.folder(event.cwd)
            case ClipboardChanged():
                if len(event.text) <= COPY_BYTES:
                    self.heard.copied(event.text)
            case Notification():
                self._notice(event.text)
            case _:
                pass

    def recolour(self, foreground: int, background: int) -> None:
        """Take the colours of what the child leaves at its defaults, unless it has set others itself."""
        palette, kept = self.board.palette, self.board.palette_overrides
        for name, colour in (("foreground", foreground), ("background", background)):
            if getattr(palette, name) == kept[name]:
                setattr(palette, name, _parts(colour))
            kept[name] = _parts(colour)  # after a reset too

    def _notice(self, text: str) -> None:
        progress = _PROGRESS.fullmatch(text)  # the library takes OSC 9;4 for a notice
        if progress is None:
            self.heard.notice(text.replace(";", ": ", 1) if text.startswith("notify;") else text)
        else:
            self.heard.progress = OVER if progress[1] == "0" else min(100, int(progress[2] or 0))

    def _window(self, operation: Any) -> None:  # noqa: ANN401 - the library's Operation
        # Not the title's report, by which a file on the screen could type; nor sizes, which are the pane's.
        parameters = operation.args[0]
        if parameters and parameters[0] in _WINDOW_REPORTS:
            self._window_operation(operation)

    def _reset(self, operation: Any) -> None:  # noqa: ANN401 - as above
        self._reset_operation(operation)
        self._clusters()

    def _clusters(self) -> None:
        self.board.modes.set_mode(2027, private=True)  # as Ink and Rich measure them


def _parts(colour: int) -> tuple[int, int, int]:
    return colour >> 16 & 255, colour >> 8 & 255, colour & 255
