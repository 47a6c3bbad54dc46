"""Rows as values: one form for equal pictures. Pure."""

from __future__ import annotations

from oulipoly_engine.terminal.protocol.screen import CellStyle, Row, Run

PLAIN = CellStyle()


def without_trailing_blanks(runs: list[tuple[str, CellStyle, int]]) -> Row:
    """Return runs of unlike looks, without default blanks at the end: equal pictures give equal rows."""
    row: list[Run] = []
    at, count = 0, len(runs)
    while at < count:
        text, look, width = runs[at]
        at += 1
        if at < count and (runs[at][1] is look or runs[at][1] == look):
            texts = [text]
            while at < count and (runs[at][1] is look or runs[at][1] == look):
                texts.append(runs[at][0])
                width += runs[at][2]
                at += 1
            text = "".join(texts)
        row.append(Run(text, look, width))
    if row and row[-1].style == PLAIN:
        last = row.pop()
        text = last.text.rstrip(" ")
        if text:
            row.append(Run(text, PLAIN, last.width - (len(last.text) - len(text))))
    return tuple(row)


def text_of(row: Row) -> str:
    """Return a row's plain text without blanks at its end."""
    return "".join(run.text for run in row).rstrip()
