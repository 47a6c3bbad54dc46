"""Actions on sessions: finding them, going on with them, and what a person says of them."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import SESSION
from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import Action, own

_HERE = "sessions"
_RUN = "oulipoly_tui.commands.sessions"

ACTIONS = (
    Action(
        "sessions.filter",
        own("filter", "narrow the list as you type, with fields", ("find session", "narrow")),
        _HERE,
        keys="slash",
        method="filter",
        weight=8,
    ),
    Action(
        "sessions.find_next",
        own("next match", "go to the next session that fits the filter", ("find next",)),
        _HERE,
        keys="n",
        method="find_next",
    ),
    Action(
        "sessions.find_before",
        own("previous match", "go to the session before that fits the filter", ("find previous",)),
        _HERE,
        keys="N",
        method="find_before",
    ),
    Action("sessions.read", find("session show"), line="session open", run=f"{_RUN}:open_session"),
    Action(
        "sessions.resume",
        find("session resume"),
        _HERE,
        keys="r",
        method="resume",
        weight=9,
        line="session resume",
        run=f"{_RUN}:resume",
    ),
    Action("sessions.elsewhere", find("session elsewhere"), _HERE, keys="a", method="resume_elsewhere", weight=5),
    Action(
        "sessions.fork",
        find("session fork"),
        _HERE,
        keys="f",
        method="fork",
        weight=3,
        line="session fork",
        run=f"{_RUN}:fork",
    ),
    Action(
        "sessions.move",
        find("session move"),
        _HERE,
        keys="M",
        method="move",
        weight=3,
        line="session move",
        run=f"{_RUN}:move",
    ),
    Action(
        "sessions.open",
        own("expand", "show what lies in it: segments, branches, sub-agent sessions", ("unfold", "show branches")),
        _HERE,
        keys="right,l",
        method="expand",
    ),
    Action(
        "sessions.close",
        own("collapse", "hide what lies in it, or go to its heading", ("fold", "go to heading")),
        _HERE,
        keys="left,h",
        method="collapse",
    ),
    Action(
        "sessions.mark",
        own("mark", "mark it for a bulk action, or no longer", ("select", "multi-select", "tag"), (SESSION,)),
        _HERE,
        keys="space",
        method="mark",
        weight=5,
    ),
    Action(
        "sessions.range",
        own(
            "range",
            "mark from here to where the cursor goes; again ends it",
            ("select range", "visual mode"),
            (SESSION,),
        ),
        _HERE,
        keys="v",
        method="range",
        weight=5,
    ),
    Action(
        "sessions.pin",
        find("session pin"),
        _HERE,
        keys="p",
        method="pin",
        weight=5,
        line="session pin",
        run=f"{_RUN}:pin",
        note="again takes the pin away; also the marked",
    ),
    Action("sessions.unpin", find("session unpin"), line="session unpin", run=f"{_RUN}:unpin"),
    Action(
        "sessions.rename",
        find("session name"),
        _HERE,
        keys="e",
        method="rename",
        weight=4,
        line="session name",
        run=f"{_RUN}:rename",
    ),
    Action(
        "sessions.note",
        find("session note"),
        _HERE,
        keys="m",
        method="note",
        weight=2,
        line="session note",
        run=f"{_RUN}:annotate",
    ),
)
