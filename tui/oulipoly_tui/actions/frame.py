"""Actions of the frame and of every list."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import Argument
from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import FRAME, LISTS, Action, own

_RUN = "oulipoly_tui.commands.frame"
_OF_PANES = (
    ("accounts", "models"),
    ("usage", "limits", "burn"),
    ("sessions", "history"),
    ("messages", "chat log"),
    ("terminals", "interactive sessions"),
    ("live sessions", "chat", "approvals"),
)

ACTIONS = (
    *(
        Action(
            f"frame.pane{number}",
            own(f"go to pane {number}", f"go to pane {number}", synonyms),
            FRAME,
            keys=str(number),
            method=f"pane({number})",
        )
        for number, synonyms in enumerate(_OF_PANES, 1)
    ),
    Action(
        "frame.next", own("next pane", "go to the next pane", ("switch focus",)), FRAME, keys="tab", method="next_pane"
    ),
    Action(
        "frame.previous",
        own("previous pane", "go to the pane before", ("switch focus back",)),
        FRAME,
        keys="shift+tab",
        method="previous_pane",
    ),
    Action(
        "frame.zoom",
        own(
            "zoom",
            "give the pane the whole screen, or its place again",
            ("maximize", "full screen pane", "expand pane"),
        ),
        FRAME,
        keys="z,plus,underscore",
        method="zoom",
        weight=5,
    ),
    Action(
        "frame.palette",
        own("commands", "find a command by a few letters", ("command palette", "run command")),
        FRAME,
        keys="ctrl+p",
        emacs="alt+x",
        method="palette",
        weight=8,
    ),
    Action(
        "frame.command",
        own("command line", "type a command with its arguments", ("colon", "ex mode", "prompt line")),
        FRAME,
        keys="colon",
        method="command_line",
    ),
    Action(
        "frame.help",
        own("help", "show every key; filter by word or key, Enter runs", ("shortcuts", "keybindings", "cheat sheet")),
        FRAME,
        keys="question_mark,f1",
        method="help",
        weight=9,
    ),
    Action(
        "frame.menu",
        own(
            "menu",
            "choose what to do with the row under the cursor; so does a right click",
            ("context menu", "actions", "right click"),
        ),
        FRAME,
        keys="full_stop",
        method="menu",
        weight=3,
    ),
    Action(
        "frame.problems",
        own("problems", "list what is wrong, each with its fix", ("errors", "warnings", "diagnostics", "log")),
        FRAME,
        keys="exclamation_mark",
        method="problems",
        weight=6,
    ),
    Action("frame.doctor", find("doctor"), FRAME, keys="f3", method="doctor", line="doctor", run=f"{_RUN}:open_doctor"),
    Action(
        "frame.log",
        own(
            "command log",
            "list the commands that this app has run: when, for what, where, how each ended",
            ("history", "audit", "processes", "what ran", "logs"),
        ),
        FRAME,
        keys="f4",
        method="log",
        line="log",
        run=f"{_RUN}:open_log",
    ),
    Action(
        "frame.attention",
        own(
            "next alert",
            "go to the next alert, error, or terminal that waits for you",
            ("next !", "notifications", "inbox"),
        ),
        FRAME,
        keys="f8,alt+n",
        method="next_attention",
        weight=4,
    ),
    Action("frame.search", find("session search"), FRAME, keys="ctrl+f", method="search", weight=4),
    Action(
        "frame.jump",
        own(
            "jump", "put a letter on everything that takes keys, and go where you type", ("jump mode", "focus", "hints")
        ),
        FRAME,
        keys="ctrl+o",
        method="jump",
    ),
    Action(
        "frame.refresh",
        find("quota refresh all"),
        FRAME,
        keys="R",
        method="refresh_all",
        line="refresh",
        run="oulipoly_tui.commands.pools:refresh",
    ),
    Action(
        "frame.stop",
        own("stop", "stop the reading, scanning or writing that is under way", ("cancel", "abort", "interrupt job")),
        FRAME,
        keys="ctrl+x",
        method="stop_work",
        weight=5,
    ),
    Action(
        "frame.settings",
        own("settings", "show and change settings and keys", ("preferences", "options", "configuration", "remap keys")),
        FRAME,
        keys="comma,f2",
        method="settings",
        line="settings",
        run=f"{_RUN}:open_settings",
    ),
    Action(
        "frame.theme",
        own("next theme", "change to the next theme", ("dark mode", "light mode", "colours")),
        FRAME,
        keys="ctrl+t",
        method="next_theme",
    ),
    Action(
        "frame.choose_theme",
        own("choose theme", "change the colours", ("color scheme", "appearance"), (Argument("name", "themes"),)),
        line="theme",
        run=f"{_RUN}:choose_theme",
        needs_engine=False,
    ),
    Action(
        "frame.screenshot",
        own(
            "save screenshot",
            "save what is on the screen as SVG",
            ("capture", "picture"),
            (Argument("file", is_optional=True),),
        ),
        line="screenshot",
        run=f"{_RUN}:save_screenshot",
    ),
    Action(
        "frame.back",
        own("back", "go back by one level; never quits", ("close", "escape", "up one level")),
        FRAME,
        keys="escape",
        emacs="escape,ctrl+g",
        method="back",
    ),
    Action(
        "frame.quit",
        own("quit", "quit, from the top only", ("exit", "leave")),
        FRAME,
        keys="q",
        method="leave",
        weight=7,
        line="quit",
        run=f"{_RUN}:leave",
        needs_engine=False,
    ),
    Action(
        "lists.down", own("down", "move down", ("next row",)), LISTS, keys="down,j", emacs="down,ctrl+n", method="down"
    ),
    Action("lists.up", own("up", "move up", ("previous row",)), LISTS, keys="up,k", emacs="up,ctrl+p", method="up"),
    Action(
        "lists.page_down",
        own("half page down", "move down half a page", ("scroll down",)),
        LISTS,
        keys="pagedown,ctrl+d",
        emacs="pagedown,ctrl+v",
        method="half_down",
    ),
    Action(
        "lists.page_up",
        own("half page up", "move up half a page", ("scroll up",)),
        LISTS,
        keys="pageup,ctrl+u",
        emacs="pageup,alt+v",
        method="half_up",
    ),
    Action(
        "lists.first",
        own("first row", "go to the first row", ("top", "begin")),
        LISTS,
        keys="home,g",
        emacs="home,alt+less_than_sign",
        method="first",
    ),
    Action(
        "lists.last",
        own("last row", "go to the last row", ("bottom", "end")),
        LISTS,
        keys="end,G",
        emacs="end,alt+greater_than_sign",
        method="last",
    ),
    Action("lists.choose", own("open", "open the row", ("select", "show")), LISTS, keys="enter", method="choose"),
)
