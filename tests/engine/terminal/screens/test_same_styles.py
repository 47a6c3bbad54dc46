"""Both emulators give the same rows, looks included, for what real programs wrote."""

import pytest

from oulipoly_engine.terminal.emulators.choose import NAMES, open_screen
from oulipoly_engine.terminal.protocol.screen import Attr, ScreenLimits


def cells(row, columns):
    """Return each sign with its look; blanks that cannot be told from each other have none. And the row's columns."""
    made = []
    for run in row:
        look = run.style
        shows = look.background is not None or look.attrs & (Attr.REVERSE | Attr.UNDERLINE | Attr.STRIKE)
        made += [(sign, look if shows or sign != " " else None) for sign in run.text]
    return made, sum(run.width for run in row)


@pytest.mark.parametrize("name", ["claude", "codex", "htop", "less", "shell", "top", "vim"])
def test_rows_are_equal(recorded, name):
    data, columns, rows, _ = recorded(name)
    pictures = []
    for engine in NAMES:
        screen = open_screen(ScreenLimits(columns=columns, rows=rows), prefer=engine)
        screen.feed(data)
        pictures.append([cells(row, columns) for _, row in screen.frame(full=True).changed])
        screen.close()

    assert pictures[0] == pictures[1]
