"""Keys of the frame and of every list."""

from __future__ import annotations

from oulipoly_tui.keys.key import FRAME, LISTS, Key

KEYS = (
    *(
        Key(f"frame.pane{number}", str(number), f"pane({number})", "", f"Go to pane {number}", FRAME)
        for number in range(1, 6)
    ),
    Key("frame.next", "tab", "next_pane", "", "Go to the next pane", FRAME),
    Key("frame.previous", "shift+tab", "previous_pane", "", "Go to the pane before", FRAME),
    Key("frame.zoom", "z,plus,underscore", "zoom", "zoom", "Give the pane the whole screen, or take it back", FRAME),
    Key(
        "frame.palette",
        "ctrl+p",
        "palette",
        "commands",
        "Find a command by a few letters",
        FRAME,
        emacs="alt+x",
        weight=8,
    ),
    Key("frame.command", "colon", "command_line", "", "Type a command with its arguments", FRAME),
    Key(
        "frame.help",
        "question_mark,f1",
        "help",
        "help",
        "Show every key; filter by word or key, Enter runs",
        FRAME,
        weight=9,
    ),
    Key(
        "frame.menu",
        "full_stop",
        "menu",
        "menu",
        "Choose what to do with the row under the cursor; so does a right click",
        FRAME,
        weight=3,
    ),
    Key(
        "frame.problems",
        "exclamation_mark",
        "problems",
        "problems",
        "List what is wrong, each with its fix",
        FRAME,
        weight=6,
    ),
    Key(
        "frame.attention",
        "n,alt+n",
        "next_attention",
        "next !",
        "Go to the next thing that wants you: an alert, an error, a terminal",
        FRAME,
        weight=4,
    ),
    Key("frame.jump", "ctrl+o", "jump", "", "Put a letter on everything that takes keys, and go where you type", FRAME),
    Key("frame.refresh", "R", "refresh_all", "", "Read the quota of every account now", FRAME, writes=True),
    Key(
        "frame.stop",
        "ctrl+x",
        "stop_work",
        "stop",
        "Stop the reading, scanning or writing that is under way",
        FRAME,
        weight=5,
    ),
    Key("frame.settings", "comma,f2", "settings", "", "Show and change settings and keys", FRAME),
    Key("frame.theme", "ctrl+t", "next_theme", "", "Change to the next theme", FRAME),
    Key("frame.back", "escape", "back", "", "Go back by one level; never quits", FRAME, emacs="escape,ctrl+g"),
    Key("frame.quit", "q", "leave", "quit", "Quit, from the top only", FRAME, weight=7),
    Key("lists.down", "down,j", "down", "", "Move down", LISTS, emacs="down,ctrl+n"),
    Key("lists.up", "up,k", "up", "", "Move up", LISTS, emacs="up,ctrl+p"),
    Key("lists.page_down", "pagedown,ctrl+d", "half_down", "", "Move down half a page", LISTS, emacs="pagedown,ctrl+v"),
    Key("lists.page_up", "pageup,ctrl+u", "half_up", "", "Move up half a page", LISTS, emacs="pageup,alt+v"),
    Key("lists.first", "home,g", "first", "", "Go to the first row", LISTS, emacs="home,alt+less_than_sign"),
    Key("lists.last", "end,G", "last", "", "Go to the last row", LISTS, emacs="end,alt+greater_than_sign"),
    Key("lists.choose", "enter", "choose", "", "Open the row", LISTS),
)
