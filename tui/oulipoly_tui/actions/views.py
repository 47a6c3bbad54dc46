"""Actions on the list of sessions itself: its order, its grouping, its saved views."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import SESSION, Argument
from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import Action, own

_HERE = "sessions"
_RUN = "oulipoly_tui.commands.views"

ACTIONS = (
    Action(
        "sessions.copy",
        own("copy", "copy its id, path or resume command", ("clipboard", "yank", "copy id"), (SESSION,)),
        _HERE,
        keys="y",
        method="copy",
        weight=4,
    ),
    Action("sessions.trace", find("trace"), _HERE, keys="t", method="trace", weight=4, note="again the list"),
    Action(
        "sessions.sort",
        own("sort", "sort by use, beginning, length, title, account, model", ("order by",)),
        _HERE,
        keys="s",
        method="sort",
        weight=3,
    ),
    *(
        Action(
            f"sessions.sort_{sort}",
            own(
                f"sort by {words}" if len(words.split()) < 3 else "sort by beginning",
                f"sort by {words}; again turns it round",
                (synonym,),
            ),
            _HERE,
            keys=key,
            method=f"sort_by('{sort}')",
        )
        for sort, key, words, synonym in (
            ("used", "U", "last use", "order by recent"),
            ("created", "C", "when it began", "order by created"),
            ("turns", "T", "length", "order by size"),
            ("name", "L", "title", "order by name"),
            ("account", "O", "account", "order by account"),
            ("model", "D", "model", "order by model"),
        )
    ),
    Action(
        "sessions.views",
        own("views", "choose, keep or forget a view: filter, grouping, order", ("saved searches", "saved filters")),
        _HERE,
        keys="V",
        method="views",
        weight=3,
    ),
    Action(
        "sessions.show_view",
        own("show view", "show a saved view", ("load filter",), (Argument("name", "views", is_rest=True),)),
        line="session view",
        run=f"{_RUN}:choose_view",
    ),
    Action("sessions.save_view", find("view save"), line="session view save", run=f"{_RUN}:save_view"),
    Action("sessions.delete_view", find("view delete"), line="session view delete", run=f"{_RUN}:delete_view"),
    Action(
        "sessions.group",
        own("group", "group by workspace, account, day, or not at all", ("group by folder", "tree", "flat list")),
        _HERE,
        keys="w",
        method="group",
        weight=3,
    ),
    Action("sessions.scan", find("session scan"), _HERE, keys="S", method="scan", weight=2),
)
