"""Actions on terminals: their keys work on the line of tabs, never inside a terminal."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import Argument
from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import offer, own

_TERMINAL = Argument("terminal")  # the one that is shown

ACTIONS = (
    offer("repl.enter", find("terminal type"), keys="enter", weight=9),
    offer(
        "repl.next", own("next", "show the next terminal", ("next tab",), (_TERMINAL,)), keys="right,l,tab", weight=6
    ),
    offer(
        "repl.previous",
        own("previous", "show the terminal before", ("previous tab",), (_TERMINAL,)),
        keys="left,h,shift+tab",
    ),
    offer("repl.new", find("terminal again"), keys="r", weight=7),
    offer(
        "repl.copy",
        own(
            "copy mode",
            "walk over the whole text by keys, select and copy",
            ("copy text", "scrollback", "select text"),
            (_TERMINAL,),
        ),
        keys="c",
        weight=5,
    ),
    offer(
        "repl.find",
        own("find", "search the whole text", ("search scrollback", "grep"), (_TERMINAL,)),
        keys="slash",
        weight=5,
    ),
    offer(
        "repl.hand_over",
        own("full screen", "give the terminal the whole screen", ("maximize terminal", "plain attach"), (_TERMINAL,)),
        keys="f",
        weight=4,
    ),
    offer(
        "repl.close",
        own("close tab", "put the terminal away; its program runs on", ("put away", "detach"), (_TERMINAL,)),
        keys="x",
        weight=4,
    ),
    offer("repl.kill", find("terminal kill"), keys="D", weight=3),
    offer("repl.attach", find("terminal list"), keys="R", method="look", weight=3),
    offer("repl.run", find("terminal new"), line="terminal run", run="terminals:run_program"),
    offer("repl.end_run", find("run end"), run="terminals:end_run"),
    offer(
        "repl.leave",
        own("leave terminal", "give the keys back to the app", ("detach", "escape terminal")),
        line="terminal leave",
        run="terminals:leave",
        needs_engine=False,
    ),
)
