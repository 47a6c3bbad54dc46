"""One row of the table of keys. Pure."""

from __future__ import annotations

from oulipoly_engine.records import Record

FRAME = "frame"  # works wherever no question is open
LISTS = "lists"  # works in every list


class Key(Record):
    """What a key does, where, and how it is told."""

    id: str  # "pools.drain": what app.toml and the palette call it
    keys: str  # Textual's names by comma, of the preset `default`
    action: str  # of the pane, or of the app where `where` is FRAME
    label: str  # for the footer, one or two words; empty: never in the footer
    tooltip: str  # for the help, a sentence without its full stop
    where: str  # FRAME, LISTS, or a pane's id
    writes: bool = False  # taken away in read-only mode
    vim: str | None = None  # other keys of that preset
    emacs: str | None = None
    weight: int = 5  # 0..9: a narrow footer drops low ones first
    beneath: str = ""  # id of the frame's row that the same key serves while this one cannot
