"""Read cells from the library by rows: one call for a row is 37 times faster than one for each cell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from oulipoly_engine.records import Record
from oulipoly_engine.terminal.emulators.ghostty.ffi import Library, check, type_description
from oulipoly_engine.terminal.emulators.ghostty.styles import STYLE_SIZE, background, rgb, style
from oulipoly_engine.terminal.protocol.cell_text import clean_cluster, clean_text
from oulipoly_engine.terminal.protocol.rows import PLAIN, without_trailing_blanks
from oulipoly_engine.terminal.protocol.screen import CellStyle, Row, Run, ScreenBroken

_CELL = 8  # bytes
_SPAN = re.compile(r"(.)\1*", re.DOTALL)
_KEPT_ROWS = 2048  # decoded rows, by their bytes; about 3 MB at 120 columns
_LINK_BYTES = 4096
_TEXT, _CLUSTER, _PALETTE, _RGB = range(4)  # GhosttyCellContentTag
_TAIL = 2  # GHOSTTY_CELL_WIDE_SPACER_TAIL


class CellLayout(Record):
    """The bit offsets of a cell's fields, which the library tells at run time only."""

    content: int
    style: int
    wide: int
    link: int
    odd: int  # mask of what makes a cell more than one narrow character in a style


class _Decoded(Record):
    """A row, and what must still hold for it to be what the same bytes mean: styles, by a cell that has each."""

    row: Row
    styles: tuple[tuple[int, bytes], ...]


def layout(library: Library) -> CellLayout:
    """Read the layout of a cell.

    Raises ScreenBroken when it is none that the decoder below can cut by whole bytes.
    """
    cell = type_description(library, "GhosttyCell")
    bits = cell["bits"]
    content, kind = bits["content"]["lsb"], bits["style_id"]["lsb"]
    tag, wide, link = (bits[name] for name in ("content_tag", "wide", "hyperlink"))
    fits = cell["size"] == _CELL and bits["content"]["width"] == 24 and bits["style_id"]["width"] == 16
    if not fits or tag != {**tag, "lsb": 0, "width": 2} or kind - content != 24 or content > kind:
        raise ScreenBroken("the terminal emulator lays out its cells in a way that this program does not know")
    odd = sum(((1 << field["width"]) - 1) << field["lsb"] for field in (tag, wide, link))
    return CellLayout(content, kind, wide["lsb"], link["lsb"], odd)


class CellReader:
    """Reads the rows of a terminal's viewport, and which of them may have changed."""

    def __init__(self, library: Library, terminal: Any) -> None:  # noqa: ANN401 - cffi's values have no types
        self._ffi, self._lib = library
        self._terminal = terminal
        self._layout = layout(library)
        self._odd: dict[int, int] = {}  # cells in a row -> the mask for all of them
        self._decoded: dict[bytes, _Decoded] = {}
        self._state = self._make("GhosttyRenderState", self._lib.ghostty_render_state_new)
        self._rows = self._make("GhosttyRenderStateRowIterator", self._lib.ghostty_render_state_row_iterator_new)
        self._cells = self._make("GhosttyRenderStateRowCells", self._lib.ghostty_render_state_row_cells_new)
        self._view = self._ffi.new("GhosttyCellsView*")
        self._y = self._ffi.new("uint16_t*")
        self._number = self._ffi.new("int*")
        self._style = self._ffi.new("GhosttyStyle*")
        self._style.size = STYLE_SIZE
        self._text = self._ffi.new("GhosttyBuffer*")
        self._text_bytes = self._ffi.new("uint8_t[]", 1024)
        self._link_bytes = self._ffi.new("uint8_t[]", _LINK_BYTES)
        self._length = self._ffi.new("size_t*")
        self._reference = self._ffi.new("GhosttyGridRef*")
        self._point = self._ffi.new("PointTwin*")
        # By address and a twin's signature, because cffi passes no unions by value (scripts/make-ghostty-abi).
        self._grid_reference = self._ffi.cast(
            "GhosttyResult(*)(GhosttyTerminal, PointTwin, GhosttyGridRef*)",
            self._ffi.addressof(self._lib, "ghostty_terminal_grid_ref"),
        )

    @property
    def state(self) -> Any:  # noqa: ANN401 - as above
        """The library's render state, for what else stands in it."""
        return self._state[0]

    def update(self) -> bool:
        """Update the render state from the terminal; return whether every row must be read."""
        check(self._lib.ghostty_render_state_update(self.state, self._terminal), "update")
        data = self._lib.GHOSTTY_RENDER_STATE_DATA_DIRTY
        check(self._lib.ghostty_render_state_get(self.state, data, self._number), "dirty")
        return bool(self._number[0] == self._lib.GHOSTTY_RENDER_STATE_DIRTY_FULL)

    def rows(self, *, every: bool) -> Iterator[tuple[int, Row]]:
        """Give the rows of the viewport since `update`, all or those that may have changed; it must be used up."""
        data = self._lib.GHOSTTY_RENDER_STATE_DATA_ROW_ITERATOR
        check(self._lib.ghostty_render_state_get(self.state, data, self._rows), "row iterator")
        y = 0
        if every:
            while self._lib.ghostty_render_state_row_iterator_next(self._rows[0]):
                yield y, self._row(y)
                y += 1
        else:
            while self._lib.ghostty_render_state_row_iterator_next_dirty(self._rows[0], self._y):
                yield self._y[0], self._row(self._y[0])
        check(self._lib.ghostty_render_state_clean(self.state), "clean")  # update alone leaves rows dirty

    def close(self) -> None:
        """Release everything."""
        self._lib.ghostty_render_state_row_cells_free(self._cells[0])
        self._lib.ghostty_render_state_row_iterator_free(self._rows[0])
        self._lib.ghostty_render_state_free(self._state[0])
        self._decoded.clear()

    def _make(self, kind: str, maker: Any) -> Any:  # noqa: ANN401 - as above
        value = self._ffi.new(f"{kind}*")
        check(maker(self._ffi.NULL, value), kind)
        return value

    def _row(self, y: int) -> Row:
        lib = self._lib
        check(
            lib.ghostty_render_state_row_get(self._rows[0], lib.GHOSTTY_RENDER_STATE_ROW_DATA_CELLS_RAW, self._view),
            "cells",
        )
        raw: bytes = self._ffi.buffer(self._view.ptr, self._view.len * _CELL)[:]
        cached = self._decoded.get(raw)
        if cached is not None and not cached.styles:
            return cached.row
        # Where a style, a cluster or a link is asked for, the library wants its own view of the row.
        check(
            lib.ghostty_render_state_row_get(self._rows[0], lib.GHOSTTY_RENDER_STATE_ROW_DATA_CELLS, self._cells),
            "row",
        )
        if cached is not None and all(self._style_bytes(x) == style_bytes for x, style_bytes in cached.styles):
            return cached.row
        decoded, keep = self._decode(raw, int.from_bytes(raw, "little"), y)
        if keep:
            if len(self._decoded) >= _KEPT_ROWS:
                self._decoded.clear()
            self._decoded[raw] = decoded
        return decoded.row

    def _decode(self, raw: bytes, number: int, y: int) -> tuple[_Decoded, bool]:
        """Decode a row; False: its bytes do not say all, so that equal bytes may be another row."""
        width = len(raw) // _CELL
        mask = self._odd.get(width)
        if mask is None:
            unit = self._layout.odd.to_bytes(_CELL, "little")
            mask = self._odd[width] = int.from_bytes(unit * width, "little")
        if not number & mask:
            return self._plain((number >> self._layout.content).to_bytes(len(raw), "little")), True
        return self._decode_mixed(memoryview(raw).cast("Q").tolist(), y)

    def _plain(self, cells: bytes) -> _Decoded:
        """Decode a row of narrow characters: a cell is 3 bytes of character, 2 of style, 3 of no matter."""
        low, middle, high = cells[0::_CELL], cells[1::_CELL], cells[2::_CELL]
        text = clean_text(_join(low, middle, high))
        styles = _join(cells[3::_CELL], cells[4::_CELL])
        if not styles.strip("\0"):
            text = text.rstrip(" ")
            return _Decoded((Run(text, PLAIN, len(text)),) if text else (), ())
        seen: dict[str, tuple[int, bytes]] = {}
        runs: list[tuple[str, CellStyle, int]] = []
        for span in _SPAN.finditer(styles):
            start, end = span.span()
            look = PLAIN
            if (mark := span[1]) != "\0":
                if mark not in seen:
                    seen[mark] = start, self._style_bytes(start)
                look = style(seen[mark][1])
            runs.append((text[start:end], look, end - start))
        return _Decoded(without_trailing_blanks(runs), tuple(seen.values()))

    def _decode_mixed(self, cells: list[int], y: int) -> tuple[_Decoded, bool]:
        """Decode a row with wide characters, clusters, links or blanks that have a colour and no style."""
        seen: dict[int, tuple[int, bytes]] = {}
        runs: list[tuple[str, CellStyle, int]] = []
        is_cacheable = True
        for x, cell in enumerate(cells):
            tag, content = cell & 3, cell >> self._layout.content & 0xFFFFFF
            if (cell >> self._layout.wide & 3) == _TAIL:
                if runs:
                    text, look, width = runs[-1]
                    runs[-1] = text, look, width + 1
                continue
            link = self._link(x, y) if cell >> self._layout.link & 1 else None
            text = self._cluster(x) if tag == _CLUSTER else clean_text(chr(content)) if tag == _TEXT else " "
            is_cacheable = is_cacheable and link is None and tag != _CLUSTER
            runs.append((text, self._look(x, cell, link, seen), 1))
        return _Decoded(without_trailing_blanks(runs), tuple(seen.values())), is_cacheable

    def _look(self, x: int, cell: int, link: str | None, seen: dict[int, tuple[int, bytes]]) -> CellStyle:
        content = cell >> self._layout.content & 0xFFFFFF
        if cell & 3 == _PALETTE:
            return background(content & 0xFF, link)
        if cell & 3 == _RGB:
            return background(rgb(content & 0xFF, content >> 8 & 0xFF, content >> 16), link)
        number = cell >> self._layout.style & 0xFFFF
        if number == 0:
            return PLAIN if link is None else CellStyle(link=link)
        if number not in seen:
            seen[number] = x, self._style_bytes(x)
        return style(seen[number][1], link)

    def _style_bytes(self, x: int) -> bytes:
        lib = self._lib
        check(lib.ghostty_render_state_row_cells_select(self._cells[0], x), "cell")
        data = lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_STYLE
        check(lib.ghostty_render_state_row_cells_get(self._cells[0], data, self._style), "style")
        return bytes(self._ffi.buffer(self._style, STYLE_SIZE))

    def _cluster(self, x: int) -> str:
        lib = self._lib
        check(lib.ghostty_render_state_row_cells_select(self._cells[0], x), "cell")
        self._text.ptr, self._text.cap, self._text.len = self._text_bytes, len(self._text_bytes), 0
        data = lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_GRAPHEMES_UTF8
        while lib.ghostty_render_state_row_cells_get(self._cells[0], data, self._text) == lib.GHOSTTY_OUT_OF_SPACE:
            self._text_bytes = self._ffi.new("uint8_t[]", self._text.len)
            self._text.ptr, self._text.cap = self._text_bytes, len(self._text_bytes)
        return clean_cluster(bytes(self._ffi.buffer(self._text.ptr, self._text.len)).decode("utf-8", "replace"))

    def _link(self, x: int, y: int) -> str | None:
        lib = self._lib
        self._point.tag = lib.GHOSTTY_POINT_TAG_VIEWPORT
        self._point.value.x, self._point.value.y = x, y
        self._reference.size = self._ffi.sizeof("GhosttyGridRef")
        if self._grid_reference(self._terminal, self._point[0], self._reference) != lib.GHOSTTY_SUCCESS:
            return None
        result = lib.ghostty_grid_ref_hyperlink_uri(self._reference, self._link_bytes, _LINK_BYTES, self._length)
        if result != lib.GHOSTTY_SUCCESS or not self._length[0]:
            return None  # none, or one longer than anything that could be opened
        return bytes(self._ffi.buffer(self._link_bytes, self._length[0])).decode("utf-8", "replace")


def _join(low: bytes, *higher: bytes) -> str:
    """Return one character a cell out of the bytes of its number."""
    if not b"".join(higher).strip(b"\0"):
        return low.decode("latin-1")
    wide = bytearray(4 * len(low))
    for place, part in enumerate((low, *higher)):
        wide[place::4] = part
    return wide.decode("utf-32-le", "surrogatepass")
