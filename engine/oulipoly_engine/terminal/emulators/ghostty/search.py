"""Finding text in the library's scrollback and screen."""

from __future__ import annotations

from typing import Any

from oulipoly_engine.terminal.emulators.ghostty.ffi import Library, check
from oulipoly_engine.terminal.protocol.screen import SearchHit

_WIDE = 1  # GHOSTTY_CELL_WIDE_WIDE


def find(library: Library, terminal: Any, text: str, limit: int) -> tuple[SearchHit, ...]:  # noqa: ANN401 - as in ghostty
    """Return where text stands, newest first."""
    ffi, lib = library
    needle = text.encode("utf-8", "replace")
    if not needle or limit < 1:
        return ()
    search = ffi.new("GhosttySearch*")
    check(lib.ghostty_search_new(ffi.NULL, search, terminal), "search")
    try:
        buffer = ffi.new("uint8_t[]", needle)
        needle_string = ffi.new("GhosttyString*", {"ptr": buffer, "len": len(needle)})
        check(lib.ghostty_search_set(search[0], lib.GHOSTTY_SEARCH_OPT_NEEDLE, needle_string), "search for")
        check(lib.ghostty_search_run(search[0]), "search run")
        total = ffi.new("size_t*")
        check(lib.ghostty_search_get(search[0], lib.GHOSTTY_SEARCH_DATA_TOTAL_MATCHES, total), "search total")
        selections = ffi.new("GhosttySelection[]", max(1, total[0]))
        for place in range(len(selections)):
            selections[place].size = ffi.sizeof("GhosttySelection")
        hits = ffi.new("GhosttySelectionBuffer*", {"ptr": selections, "cap": len(selections), "len": 0})
        check(lib.ghostty_search_get(search[0], lib.GHOSTTY_SEARCH_DATA_MATCHES, hits), "search matches")
        results = (_to_hit(library, terminal, selections[place]) for place in range(min(hits.len, limit)))
        return tuple(hit for hit in results if hit is not None)
    finally:
        lib.ghostty_search_free(search[0])


def _to_hit(library: Library, terminal: Any, hit: Any) -> SearchHit | None:  # noqa: ANN401 - as above
    ffi, lib = library
    places = []
    for end in (hit.start, hit.end):
        place = ffi.new("GhosttyPointCoordinate*")
        reference = ffi.new("GhosttyGridRef*", end)
        result = lib.ghostty_terminal_point_from_grid_ref(terminal, reference, lib.GHOSTTY_POINT_TAG_SCREEN, place)
        if result != lib.GHOSTTY_SUCCESS:
            return None
        places.append((place.y, place.x))
    (line, start), (last, end_cell) = sorted(places)
    if last > line:
        columns = ffi.new("uint16_t*")
        check(lib.ghostty_terminal_get(terminal, lib.GHOSTTY_TERMINAL_DATA_COLS, columns), "columns")
        return SearchHit(line, start, columns[0])
    cell, wide = ffi.new("GhosttyCell*"), ffi.new("int*")
    lib.ghostty_grid_ref_cell(ffi.new("GhosttyGridRef*", hit.end), cell)
    lib.ghostty_cell_get(cell[0], lib.GHOSTTY_CELL_DATA_WIDE, wide)
    return SearchHit(line, start, end_cell + (2 if wide[0] == _WIDE else 1))
