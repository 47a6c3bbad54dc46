"""Actions on the quota of an account and its history."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import ACCOUNT
from oulipoly_engine.core.commands.table import find
from oulipoly_tui.actions.action import Action, own

_HERE = "quota"

ACTIONS = (
    Action("quota.refresh", find("quota refresh"), _HERE, keys="u", method="refresh", weight=8),
    Action(
        "quota.longer",
        own("zoom out", "show more, up to a month", ("longer", "longer range", "month")),
        _HERE,
        keys="right_square_bracket",
        method="longer",
        weight=6,
    ),
    Action(
        "quota.shorter",
        own("zoom in", "show less, down to an hour", ("shorter", "shorter range", "hour")),
        _HERE,
        keys="left_square_bracket",
        method="shorter",
        weight=6,
    ),
    Action("quota.burners", find("report"), _HERE, keys="b", method="burners", weight=7),
    Action(
        "quota.pools",
        own("pools", "show the pools that this account serves", ("models",), (ACCOUNT,)),
        _HERE,
        keys="w",
        method="pools",
        weight=3,
    ),
)
