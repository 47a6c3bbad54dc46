"""Actions on terminals: their keys work on the line of tabs, never inside a terminal."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import Argument
from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import Action, own

_HERE = "repl"
_RUN = "oulipoly_tui.commands.terminals"
_TERMINAL = Argument("terminal")  # the one that is shown

ACTIONS = (
    Action("repl.enter", find("terminal type"), _HERE, keys="enter", method="enter", weight=9),
    Action(
        "repl.next",
        own("next", "show the next terminal", ("next tab",), (_TERMINAL,)),
        _HERE,
        keys="right,l,tab",
        method="next",
        weight=6,
    ),
    Action(
        "repl.previous",
        own("previous", "show the terminal before", ("previous tab",), (_TERMINAL,)),
        _HERE,
        keys="left,h,shift+tab",
        method="previous",
    ),
    Action("repl.new", find("terminal again"), _HERE, keys="r", method="new", weight=7),
    Action(
        "repl.copy",
        own(
            "copy mode",
            "walk over the whole text by keys, select and copy",
            ("copy text", "scrollback", "select text"),
            (_TERMINAL,),
        ),
        _HERE,
        keys="c",
        method="copy",
        weight=5,
    ),
    Action(
        "repl.find",
        own("find", "search the whole text", ("search scrollback", "grep"), (_TERMINAL,)),
        _HERE,
        keys="slash",
        method="find",
        weight=5,
    ),
    Action(
        "repl.hand_over",
        own("full screen", "give the terminal the whole screen", ("maximize terminal", "plain attach"), (_TERMINAL,)),
        _HERE,
        keys="f",
        method="hand_over",
        weight=4,
    ),
    Action(
        "repl.close",
        own("close tab", "put the terminal away; its program runs on", ("put away", "detach"), (_TERMINAL,)),
        _HERE,
        keys="x",
        method="close",
        weight=4,
    ),
    Action("repl.kill", find("terminal kill"), _HERE, keys="D", method="kill", weight=3),
    Action("repl.attach", find("terminal list"), _HERE, keys="R", method="look", weight=3),
    Action("repl.run", find("terminal new"), line="terminal run", run=f"{_RUN}:run_program"),
    Action("repl.end_run", find("run end"), line="run end", run=f"{_RUN}:end_run"),
    Action(
        "repl.leave",
        own("leave terminal", "give the keys back to the app", ("detach", "escape terminal")),
        line="terminal leave",
        run=f"{_RUN}:leave",
        needs_engine=False,
    ),
)
