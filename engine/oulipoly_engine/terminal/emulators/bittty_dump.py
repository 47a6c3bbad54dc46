"""What a bittty screen is dumped as: output that draws it again, and the little that output cannot say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from bittty.style import Style, style_to_ansi  # type: ignore[import-untyped]  # it ships no py.typed

from oulipoly_engine.terminal.emulators.bittty_board import Machine
from oulipoly_engine.terminal.protocol.limits import bounded
from oulipoly_engine.terminal.protocol.screen import ScreenUnavailable

# Modes that a dump keeps, all DEC's private ones. Not those that move the cursor or answer when they are set.
_KEPT_MODES = (1, 5, 7, 9, 12, 25, 45, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 2004, 2026)

_Cells = Sequence[tuple[Any, str]]
_STYLE, _TEXT = itemgetter(0), itemgetter(1)
_UNSTYLED = Style()


class Head(NamedTuple):
    """What output cannot say without moving something else."""

    columns: int
    rows: int
    cursor: tuple[int, int]
    charsets: tuple[int, int, tuple[str, ...]]  # as the library's charset device saves them


def written(machine: Machine, columns: int, rows: int) -> bytes:
    """Return a machine as bytes: a line of JSON, then the output."""
    board, view = machine.board, machine.history.width(columns)
    blitter, primary = board.blitter, board.blitter.primary_page
    # Row by row: ten thousand rows of cells at once would have the collector of garbage walk through them all.
    script = [_line(view[row], goes_on=_goes_on(view, row)) for row in range(len(view))]
    script += [_line(primary.grid[y], goes_on=bool(primary.is_line_wrapped(y))) for y in range(rows)]
    script[-1] = script[-1].removesuffix("\r\n")
    if blitter.in_alt_screen:
        script.append("\x1b[?1049h")
        script += [f"\x1b[{y + 1};1H{_ansi(cells)}" for y, cells in enumerate(board.display.page.grid)]
    script.append(f"\x1b[0m\x1b[{blitter.scroll_top + 1};{blitter.scroll_bottom + 1}r")
    modes = {number: on for private, number, on in board.modes.restorable_states() if private}
    script += [f"\x1b[?{mode}{'h' if modes[mode] else 'l'}" for mode in _KEPT_MODES if mode in modes]
    script.append("\x1b=" if board.modes.application_keypad else "\x1b>")
    script.append(f"\x1b[>{board.keyboard.kitty_flags}u\x1b]2;{board.title.title}\x1b\\")
    script.append(style_to_ansi(board.style.current) or "")
    head = Head(columns, rows, (board.cursor.display_x, board.cursor.y), board.charset.save())
    return json.dumps(head._asdict()).encode() + b"\n" + "".join(script).encode("utf-8", "replace")


def read(dump: bytes) -> tuple[Head, bytes]:
    """Return a dump's head and its output.

    Raises ScreenUnavailable when it is damaged.
    """
    line, _, script = dump.partition(b"\n")
    try:
        head = json.loads(line)
        left, right, designated = head["charsets"]
        x, y = head["cursor"]
        columns, rows = bounded(int(head["columns"]), int(head["rows"]))
        charsets = int(left), int(right), tuple(str(name) for name in designated)
        return Head(columns, rows, (min(max(0, int(x)), columns - 1), min(max(0, int(y)), rows - 1)), charsets), script
    except (ValueError, KeyError, TypeError) as error:
        raise ScreenUnavailable("this dump of a bittty screen is damaged") from error


def _goes_on(view: Any, row: int) -> bool:  # noqa: ANN401 - the library's MemoryView
    line, _ = view.line_at(row)
    return row + 1 < len(view) and bool(view.line_at(row + 1)[0] == line)


def _line(cells: _Cells, *, goes_on: bool) -> str:
    return _ansi(cells, goes_on=goes_on) + ("" if goes_on else "\r\n")


def _ansi(cells: _Cells, *, goes_on: bool = True) -> str:
    parts = ["\x1b[0m"]
    for look, group in groupby(cells, _STYLE):
        linked = f"\x1b]8;;{look.hyperlink}\x1b\\" if look.hyperlink else ""
        parts.append(f"{linked}{style_to_ansi(look)}{''.join(map(_TEXT, group))}")
        parts.append("\x1b]8;;\x1b\\\x1b[0m" if linked else "\x1b[0m")
    if not goes_on and len(parts) > 1 and cells[-1][0] == _UNSTYLED:
        parts[-2] = parts[-2].rstrip(" ")
    return "".join(parts)
