"""How the list of sessions is drawn. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from oulipoly_engine.core.sessions.sessions import Sort
from oulipoly_engine.records import Record, field
from oulipoly_tui.view.sessions.groups import Grouping, Longest

if TYPE_CHECKING:
    from oulipoly_engine.facade.live.standing import LiveStatus
    from oulipoly_engine.facade.sessions.types import Inside
    from oulipoly_tui.view.work.works import GitLook


FORK = "↱"  # before the title of a session that begins with another one's past


class Look(Record):
    """How the rows are drawn."""

    width: int
    now: datetime  # its zone tells the days
    grouping: Grouping = Grouping.WORKSPACE
    closed: Collection[str] = ()  # keys of groups
    opened: Collection[str] = ()  # chains
    marked: Collection[str] = ()  # chains
    inside: Mapping[str, Inside] = field(default_factory=dict)  # by chain
    sort: Sort = Sort.USED
    is_reversed: bool = False
    longest: Longest = Longest()
    works: Sequence[LiveStatus] = ()  # above all groups
    git_looks: Mapping[str, GitLook] = field(default_factory=dict)  # by work session
