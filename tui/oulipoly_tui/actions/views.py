"""Actions on the list of sessions itself: its order, its grouping, its saved views."""

from __future__ import annotations

from oulipoly_tui.actions.action import Action, Argument, Command

_HERE = "sessions"
_RUN = "oulipoly_tui.commands.views"
_VIEW = Argument("name", "views", is_rest=True)

ACTIONS = (
    Action(
        "sessions.copy",
        "copy",
        "Copy its id, path or resume command",
        _HERE,
        ("clipboard", "yank", "copy id"),
        keys="y",
        method="copy",
        weight=4,
    ),
    Action(
        "sessions.trace",
        "trace",
        "Show which agents started which, or the list again",
        _HERE,
        ("sub-agents", "call tree", "spawned"),
        keys="t",
        method="trace",
        weight=4,
    ),
    Action(
        "sessions.sort",
        "sort",
        "Sort by use, beginning, length, title, account, model",
        _HERE,
        ("order by",),
        keys="s",
        method="sort",
        weight=3,
    ),
    *(
        Action(
            f"sessions.sort_{sort}",
            f"sort by {words}" if len(words.split()) < 3 else "sort by beginning",
            f"Sort by {words}; again turns it round",
            _HERE,
            (synonym,),
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
        "views",
        "Choose, keep or forget a view: filter, grouping, order",
        _HERE,
        ("saved searches", "saved filters"),
        keys="V",
        method="views",
        weight=3,
    ),
    Action(
        "sessions.show_view",
        "show view",
        "show a saved view",
        synonyms=("load filter",),
        command=Command("session view", f"{_RUN}:choose_view", (_VIEW,)),
    ),
    Action(
        "sessions.save_view",
        "save view",
        "keep filter, grouping and order under a name",
        synonyms=("save filter", "save search"),
        command=Command("session view save", f"{_RUN}:save_view", (Argument("name", is_rest=True),)),
        writes=True,
    ),
    Action(
        "sessions.delete_view",
        "delete view",
        "forget a saved view",
        synonyms=("remove filter",),
        command=Command("session view delete", f"{_RUN}:delete_view", (_VIEW,)),
        writes=True,
        destroys=True,
    ),
    Action(
        "sessions.group",
        "group",
        "Group by workspace, account, day, or not at all",
        _HERE,
        ("group by folder", "tree", "flat list"),
        keys="w",
        method="group",
        weight=3,
    ),
    Action(
        "sessions.scan",
        "read",
        "Read what the CLIs have written",
        _HERE,
        ("scan", "reload", "ingest", "refresh sessions"),
        keys="S",
        method="scan",
        weight=2,
        writes=True,
    ),
)
