"""Keys of the REPL pane: they work on its line of tabs, never inside a terminal."""

from __future__ import annotations

from oulipoly_tui.keys.key import Key

_HERE = "repl"

KEYS = (
    Key("repl.enter", "enter", "enter", "type", "Give the keys to the terminal", _HERE, writes=True, weight=9),
    Key("repl.next", "right,l,tab", "next", "next", "Show the next terminal", _HERE, weight=6),
    Key("repl.previous", "left,h,shift+tab", "previous", "", "Show the terminal before", _HERE),
    Key("repl.new", "r", "new", "new", "Talk to the same model in another terminal", _HERE, writes=True, weight=7),
    Key("repl.copy", "c", "copy", "copy", "Walk over the whole text by keys, select and copy", _HERE, weight=5),
    Key("repl.find", "slash", "find", "find", "Search the whole text", _HERE, weight=5),
    Key(
        "repl.hand_over",
        "f",
        "hand_over",
        "full",
        "Give the terminal the whole screen",
        _HERE,
        weight=4,
    ),
    Key(
        "repl.close",
        "x",
        "close",
        "close",
        "Put the terminal away; its program runs on",
        _HERE,
        weight=4,
    ),
    Key("repl.kill", "D", "kill", "end", "End the terminal's program", _HERE, writes=True, weight=3),
    Key("repl.attach", "R", "look", "others", "Look for terminals that run on without a tab", _HERE, weight=3),
)
