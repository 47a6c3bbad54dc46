"""A view of the list of sessions that has a name: what is shown, in which order, under which headings. Pure."""

from __future__ import annotations

from oulipoly_engine.core.sessions.sessions import Sort
from oulipoly_engine.records import Record

GROUPINGS = ("workspace", "account", "day", "none")


class SavedView(Record):
    """One view, as app.toml keeps it under `[views]`."""

    name: str
    filter: str = ""  # as it is typed
    group: str = GROUPINGS[0]
    sort: Sort = Sort.USED
    is_reversed: bool = False
