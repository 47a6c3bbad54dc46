"""Actions on the quota of an account and its history."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import ACCOUNT
from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import offer, own

ACTIONS = (
    offer("quota.refresh", find("quota refresh"), keys="u", weight=8),
    offer(
        "quota.longer",
        own("zoom out", "show more, up to a month", ("longer", "longer range", "month")),
        keys="right_square_bracket",
        weight=6,
    ),
    offer(
        "quota.shorter",
        own("zoom in", "show less, down to an hour", ("shorter", "shorter range", "hour")),
        keys="left_square_bracket",
        weight=6,
    ),
    offer("quota.burners", find("report"), keys="b", weight=7),
    offer(
        "quota.pools",
        own("pools", "show the pools that this account serves", ("models",), (ACCOUNT,)),
        keys="w",
        weight=3,
    ),
)
