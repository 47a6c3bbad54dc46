"""Keys of the Sessions pane."""

from __future__ import annotations

from oulipoly_tui.keys.key import Key

_HERE = "sessions"

KEYS = (
    Key("sessions.filter", "slash", "filter", "filter", "Narrow the list as you type, with fields", _HERE, weight=8),
    Key("sessions.search", "ctrl+f", "search", "search all", "Search everything that was ever said", _HERE, weight=8),
    Key("sessions.resume", "r", "resume", "resume", "Go on with it in a terminal", _HERE, writes=True, weight=9),
    Key(
        "sessions.elsewhere",
        "a",
        "resume_elsewhere",
        "elsewhere",
        "Go on with it on another account: it is moved there first",
        _HERE,
        writes=True,
        weight=5,
    ),
    Key(
        "sessions.fork",
        "f",
        "fork",
        "fork",
        "Go on with it in a new conversation, and leave this one as it is",
        _HERE,
        writes=True,
        weight=3,
    ),
    Key("sessions.move", "M", "move", "move", "Move it to another account", _HERE, writes=True, weight=3),
    Key("sessions.open", "right,l", "expand", "", "Show what lies in it: segments, branches, side chains", _HERE),
    Key("sessions.close", "left,h", "collapse", "", "Hide what lies in it, or go to its heading", _HERE),
    Key("sessions.mark", "space", "mark", "mark", "Mark it for a bulk action, or no longer", _HERE, weight=5),
    Key("sessions.range", "v", "range", "range", "Mark from here to where the cursor goes; again ends it", _HERE),
    Key("sessions.pin", "p", "pin", "pin", "Keep it at the top, or no longer; also the marked", _HERE, writes=True),
    Key("sessions.rename", "n", "rename", "name", "Give it a name", _HERE, writes=True, weight=4),
    Key("sessions.note", "N", "note", "note", "Keep a note with it", _HERE, writes=True, weight=2),
    Key(
        "sessions.archive",
        "A",
        "archive",
        "archive",
        "Keep copies of it before its CLI deletes it; also the marked",
        _HERE,
        writes=True,
        weight=4,
    ),
    Key(
        "sessions.restore",
        "B",
        "restore",
        "put back",
        "Put the archive's copy back where its CLI had it",
        _HERE,
        writes=True,
        weight=6,
    ),
    Key(
        "sessions.export", "x", "export", "export", "Write it to a file; also the marked", _HERE, writes=True, weight=6
    ),
    Key(
        "sessions.import",
        "i",
        "import_file",
        "import",
        "Put an edited export in its place, after a look at the difference",
        _HERE,
        writes=True,
        weight=4,
    ),
    Key(
        "sessions.edit",
        "E",
        "edit_file",
        "edit",
        "Change its turns in your editor, after a look at the difference",
        _HERE,
        writes=True,
        weight=3,
    ),
    Key("sessions.bundle", "b", "bundle", "bundle", "Pack it for another machine", _HERE, writes=True, weight=2),
    Key("sessions.undo", "u", "undo", "undo", "Take back what was done last", _HERE, writes=True, weight=7),
    Key("sessions.copy", "y", "copy", "copy", "Copy its id, path or resume command", _HERE, weight=4),
    Key("sessions.trace", "t", "trace", "trace", "Show which agents started which, or the list again", _HERE, weight=4),
    Key("sessions.sort", "s", "sort", "sort", "Sort by use, beginning, length, title, account, model", _HERE, weight=3),
    *(
        Key(
            f"sessions.sort_{sort}",
            key,
            f"sort_by('{sort}')",
            "",
            f"Sort by {words}; again turns it round",
            _HERE,
        )
        for sort, key, words in (
            ("used", "U", "last use"),
            ("created", "C", "when it began"),
            ("turns", "T", "length"),
            ("name", "L", "title"),
            ("account", "O", "account"),
            ("model", "D", "model"),
        )
    ),
    Key(
        "sessions.views",
        "V",
        "views",
        "views",
        "Choose, keep or forget a view: filter, grouping, order",
        _HERE,
        weight=3,
    ),
    Key("sessions.group", "w", "group", "group", "Group by workspace, account, day, or not at all", _HERE, weight=3),
    Key("sessions.scan", "S", "scan", "read", "Read what the CLIs have written", _HERE, writes=True, weight=2),
)
