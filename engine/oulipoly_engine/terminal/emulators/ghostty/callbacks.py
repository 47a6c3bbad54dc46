"""The library's callbacks. They only fill a SideEffectLog: no function of the terminal may be called in a callback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oulipoly_engine.terminal.emulators.ghostty.ffi import Library, check
from oulipoly_engine.terminal.emulators.side_effects import COPY_BYTES, PROGRESS_ENDED, SideEffectLog
from oulipoly_engine.terminal.protocol.screen import ScreenLimits

NAME = b"agent-runner"  # what XTVERSION is answered with
CELL_PIXELS = (8, 16)  # what a cell is said to measure: nothing here draws pixels, but CSI 14 t wants an answer


class Callbacks:
    """The callbacks of one terminal. It must live as long as the terminal: the library keeps only their addresses."""

    def __init__(self, library: Library, limits: ScreenLimits, clock: Callable[[], float]) -> None:
        self._ffi, self._lib = library
        self._clock = clock
        self._name = self._ffi.new("char[]", NAME)
        self.dark = limits.dark
        self._references: list[Any] = []
        self.side_effects = SideEffectLog()
        self.size = (limits.columns, limits.rows)
        self.held_since: float | None = None

    def attach(self, terminal: Any) -> None:  # noqa: ANN401 - cffi's values have no types
        """Register the callbacks with a terminal."""
        for option, function in {
            "WRITE_PTY": self._reply,
            "BELL": self._bell,
            "XTVERSION": self._version,
            "TITLE_CHANGED": self._title,
            "PWD_CHANGED": self._folder,
            "SIZE": self._size,
            "COLOR_SCHEME": self._scheme,
            "CLIPBOARD_WRITE": self._copy,
            "DESKTOP_NOTIFICATION": self._notice,
            "PROGRESS_REPORT": self._progress,
            "RENDER_HOLD": self._hold,
        }.items():
            kind = "".join(part.capitalize() for part in option.split("_"))
            callback = self._ffi.callback(f"GhosttyTerminal{kind}Fn", function)
            self._references.append(callback)
            check(
                self._lib.ghostty_terminal_set(
                    terminal, getattr(self._lib, f"GHOSTTY_TERMINAL_OPT_{option}"), callback
                ),
                option,
            )

    def _bytes(self, string: Any) -> bytes:  # noqa: ANN401 - as above
        return bytes(self._ffi.buffer(string.ptr, string.len)) if string.len else b""

    def _text(self, string: Any) -> str:  # noqa: ANN401 - as above
        return self._bytes(string).decode("utf-8", "replace")

    def _string(self, terminal: Any, data: int) -> str:  # noqa: ANN401 - as above
        string = self._ffi.new("GhosttyString*")
        return self._text(string) if self._lib.ghostty_terminal_get(terminal, data, string) == 0 else ""

    def _reply(self, _terminal: Any, _user: Any, data: Any, length: int) -> None:  # noqa: ANN401 - as above
        self.side_effects.add_reply(bytes(self._ffi.buffer(data, length)))

    def _bell(self, _terminal: Any, _user: Any) -> None:  # noqa: ANN401 - as above
        self.side_effects.bells += 1

    def _version(self, _terminal: Any, _user: Any) -> Any:  # noqa: ANN401 - as above
        string = self._ffi.new("GhosttyString*")
        string.ptr, string.len = self._ffi.cast("uint8_t*", self._name), len(NAME)
        return string[0]

    def _title(self, terminal: Any, _user: Any) -> None:  # noqa: ANN401 - as above
        self.side_effects.set_title(self._string(terminal, self._lib.GHOSTTY_TERMINAL_DATA_TITLE))

    def _folder(self, terminal: Any, _user: Any) -> None:  # noqa: ANN401 - as above
        self.side_effects.set_folder(self._string(terminal, self._lib.GHOSTTY_TERMINAL_DATA_PWD))

    def _size(self, _terminal: Any, _user: Any, size: Any) -> bool:  # noqa: ANN401 - as above
        size.columns, size.rows = self.size
        size.cell_width, size.cell_height = CELL_PIXELS
        return True

    def _scheme(self, _terminal: Any, _user: Any, scheme: Any) -> bool:  # noqa: ANN401 - as above
        lib = self._lib
        scheme[0] = lib.GHOSTTY_COLOR_SCHEME_DARK if self.dark else lib.GHOSTTY_COLOR_SCHEME_LIGHT
        return True

    def _copy(self, _terminal: Any, _user: Any, write: Any) -> None:  # noqa: ANN401 - as above
        for place in range(write.contents_len):
            content = write.contents[place]
            if self._bytes(content.mime).startswith(b"text/plain") and content.data.len <= COPY_BYTES:
                self.side_effects.add_copy(self._text(content.data))
                break
        # Nothing is copied here: whoever sits at the pane is asked first, long after this call.
        answer = self._ffi.new("GhosttyClipboardWriteReply*")
        answer.size = self._ffi.sizeof("GhosttyClipboardWriteReply")
        answer.result = self._lib.GHOSTTY_CLIPBOARD_WRITE_RESULT_DENIED
        write.reply(write, answer)

    def _notice(self, _terminal: Any, _user: Any, notice: Any) -> None:  # noqa: ANN401 - as above
        self.side_effects.add_notice(self._text(notice.title), self._text(notice.body))

    def _progress(self, _terminal: Any, _user: Any, report: Any) -> None:  # noqa: ANN401 - as above
        over = report.state == self._lib.GHOSTTY_TERMINAL_PROGRESS_STATE_REMOVE
        self.side_effects.progress = PROGRESS_ENDED if over else max(0, report.progress)

    def _hold(self, _terminal: Any, _user: Any, is_held: bool) -> None:  # noqa: ANN401, FBT001, RUF100 - as above
        self.held_since = self._clock() if is_held else None
