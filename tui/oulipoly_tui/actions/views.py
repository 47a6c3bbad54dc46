"""Actions on the list of sessions itself: its order, its grouping, its saved views."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import SESSION, Argument
from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import offer, own

ACTIONS = (
    offer(
        "sessions.copy",
        own("copy", "copy its id, path or resume command", ("clipboard", "yank", "copy id"), (SESSION,)),
        keys="y",
        weight=4,
    ),
    offer("sessions.trace", find("trace"), keys="t", weight=4, note="again the list"),
    offer(
        "sessions.sort",
        own("sort", "sort by use, beginning, length, title, account, model", ("order by",)),
        keys="s",
        weight=3,
    ),
    *(
        offer(
            f"sessions.sort_{sort}",
            own(
                f"sort by {words}" if len(words.split()) < 3 else "sort by beginning",
                f"sort by {words}; again turns it round",
                (synonym,),
            ),
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
    offer(
        "sessions.views",
        own("views", "choose, keep or forget a view: filter, grouping, order", ("saved searches", "saved filters")),
        keys="V",
        weight=3,
    ),
    offer(
        "sessions.show_view",
        own("show view", "show a saved view", ("load filter",), (Argument("name", "views", is_rest=True),)),
        line="session view",
        run="views:choose_view",
    ),
    offer("sessions.save_view", find("view save"), line="session view save", run="views:save_view"),
    offer("sessions.delete_view", find("view delete"), line="session view delete", run="views:delete_view"),
    offer(
        "sessions.group",
        own("group", "group by workspace, account, day, or not at all", ("group by folder", "tree", "flat list")),
        keys="w",
        weight=3,
    ),
    offer("sessions.scan", find("session scan"), keys="S", weight=2),
)
