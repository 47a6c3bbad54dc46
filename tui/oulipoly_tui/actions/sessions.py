"""Actions on sessions: finding them, going on with them, and what a person says of them."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import SESSION
from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import offer, own

ACTIONS = (
    offer(
        "sessions.filter",
        own("filter", "narrow the list as you type, with fields", ("find session", "narrow")),
        keys="slash",
        weight=8,
    ),
    offer(
        "sessions.find_next", own("next match", "go to the next session that fits the filter", ("find next",)), keys="n"
    ),
    offer(
        "sessions.find_before",
        own("previous match", "go to the session before that fits the filter", ("find previous",)),
        keys="N",
    ),
    offer("sessions.read", find("session show"), line="session open", run="sessions:open_session"),
    offer("sessions.resume", find("session resume"), keys="r", weight=9, run="sessions:resume"),
    offer("sessions.elsewhere", find("session elsewhere"), keys="a", method="resume_elsewhere", weight=5),
    offer("sessions.fork", find("session fork"), keys="f", weight=3, run="sessions:fork"),
    offer("sessions.move", find("session move"), keys="M", weight=3, run="sessions:move"),
    offer(
        "sessions.open",
        own("expand", "show what lies in it: segments, branches, sub-agent sessions", ("unfold", "show branches")),
        keys="right,l",
        method="expand",
    ),
    offer(
        "sessions.close",
        own("collapse", "hide what lies in it, or go to its heading", ("fold", "go to heading")),
        keys="left,h",
        method="collapse",
    ),
    offer(
        "sessions.mark",
        own("mark", "mark it for a bulk action, or no longer", ("select", "multi-select", "tag"), (SESSION,)),
        keys="space",
        weight=5,
    ),
    offer(
        "sessions.range",
        own(
            "range",
            "mark from here to where the cursor goes; again ends it",
            ("select range", "visual mode"),
            (SESSION,),
        ),
        keys="v",
        weight=5,
    ),
    offer(
        "sessions.pin",
        find("session pin"),
        keys="p",
        weight=5,
        run="sessions:pin",
        note="again takes the pin away; also the marked",
    ),
    offer("sessions.unpin", find("session unpin"), run="sessions:unpin"),
    offer("sessions.rename", find("session name"), keys="e", weight=4, run="sessions:rename"),
    offer("sessions.note", find("session note"), keys="m", weight=2, run="sessions:annotate"),
)
