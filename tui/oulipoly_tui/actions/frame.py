"""Actions of the frame and of every list."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import Argument
from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import offer, own

_OF_PANES = (
    ("accounts", "models"),
    ("usage", "limits", "burn"),
    ("sessions", "history"),
    ("messages", "chat log"),
    ("terminals", "interactive sessions"),
    ("live sessions", "chat", "approvals"),
    ("running agents", "personas", "images"),
)

ACTIONS = (
    *(
        offer(
            f"frame.pane{number}",
            own(f"go to pane {number}", f"go to pane {number}", synonyms),
            keys=str(number),
            method=f"pane({number})",
        )
        for number, synonyms in enumerate(_OF_PANES, 1)
    ),
    offer("frame.next", own("next pane", "go to the next pane", ("switch focus",)), keys="tab"),
    offer("frame.previous", own("previous pane", "go to the pane before", ("switch focus back",)), keys="shift+tab"),
    offer(
        "frame.zoom",
        own(
            "zoom",
            "give the pane the whole screen, or its place again",
            ("maximize", "full screen pane", "expand pane"),
        ),
        keys="z,plus,underscore",
        weight=5,
    ),
    offer(
        "frame.palette",
        own("commands", "find a command by a few letters", ("command palette", "run command")),
        keys="ctrl+p",
        emacs="alt+x",
        weight=8,
    ),
    offer(
        "frame.command",
        own("command line", "type a command with its arguments", ("colon", "ex mode", "prompt line")),
        keys="colon",
    ),
    offer(
        "frame.help",
        own("help", "show every key; filter by word or key, Enter runs", ("shortcuts", "keybindings", "cheat sheet")),
        keys="question_mark,f1",
        weight=9,
    ),
    offer(
        "frame.menu",
        own(
            "menu",
            "choose what to do with the row under the cursor; so does a right click",
            ("context menu", "actions", "right click"),
        ),
        keys="full_stop",
        weight=3,
    ),
    offer(
        "frame.problems",
        own("problems", "list what is wrong, each with its fix", ("errors", "warnings", "diagnostics", "log")),
        keys="exclamation_mark",
        weight=6,
    ),
    offer("frame.doctor", find("doctor"), keys="f3", run="frame:open_doctor"),
    offer(
        "frame.log",
        own(
            "command log",
            "list the commands that this app has run: when, for what, where, how each ended",
            ("history", "audit", "processes", "what ran", "logs"),
        ),
        keys="f4",
        line="log",
        run="frame:open_log",
    ),
    offer(
        "frame.attention",
        own(
            "next alert",
            "go to the next alert, error, or terminal that waits for you",
            ("next !", "notifications", "inbox"),
        ),
        keys="f8,alt+n",
        weight=4,
    ),
    offer("frame.search", find("session search"), keys="ctrl+f", weight=4),
    offer(
        "frame.jump",
        own(
            "jump", "put a letter on everything that takes keys, and go where you type", ("jump mode", "focus", "hints")
        ),
        keys="ctrl+o",
    ),
    offer("frame.refresh", find("quota refresh all"), keys="R", line="refresh", run="pools:refresh"),
    offer(
        "frame.stop",
        own("stop", "stop the reading, scanning or writing that is under way", ("cancel", "abort", "interrupt job")),
        keys="ctrl+x",
        weight=5,
    ),
    offer(
        "frame.settings",
        find("settings"),
        keys="comma,f2",
        run="frame:open_settings",
    ),
    offer(
        "frame.theme",
        own("next theme", "change to the next theme", ("dark mode", "light mode", "colours")),
        keys="ctrl+t",
    ),
    offer(
        "frame.choose_theme",
        own("choose theme", "change the colours", ("color scheme", "appearance"), (Argument("name", "themes"),)),
        line="theme",
        run="frame:choose_theme",
        needs_engine=False,
    ),
    offer(
        "frame.screenshot",
        own(
            "save screenshot",
            "save what is on the screen as SVG",
            ("capture", "picture"),
            (Argument("file", is_optional=True),),
        ),
        line="screenshot",
        run="frame:save_screenshot",
    ),
    offer(
        "frame.back",
        own("back", "go back by one level; never quits", ("close", "escape", "up one level")),
        keys="escape",
        emacs="escape,ctrl+g",
    ),
    offer(
        "frame.quit",
        find("quit"),
        keys="q",
        weight=7,
        run="frame:leave",
        needs_engine=False,
    ),
    offer("lists.down", own("down", "move down", ("next row",)), keys="down,j", emacs="down,ctrl+n"),
    offer("lists.up", own("up", "move up", ("previous row",)), keys="up,k", emacs="up,ctrl+p"),
    offer(
        "lists.page_down",
        own("half page down", "move down half a page", ("scroll down",)),
        keys="pagedown,ctrl+d",
        emacs="pagedown,ctrl+v",
        method="half_down",
    ),
    offer(
        "lists.page_up",
        own("half page up", "move up half a page", ("scroll up",)),
        keys="pageup,ctrl+u",
        emacs="pageup,alt+v",
        method="half_up",
    ),
    offer(
        "lists.first",
        own("first row", "go to the first row", ("top", "begin")),
        keys="home,g",
        emacs="home,alt+less_than_sign",
    ),
    offer(
        "lists.last",
        own("last row", "go to the last row", ("bottom", "end")),
        keys="end,G",
        emacs="end,alt+greater_than_sign",
    ),
    offer("lists.choose", own("open", "open the row", ("select", "show")), keys="enter"),
)
