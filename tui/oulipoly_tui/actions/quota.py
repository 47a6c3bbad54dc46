"""Actions on the quota of an account and its history."""

from __future__ import annotations

from oulipoly_tui.actions.action import Action

_HERE = "quota"

ACTIONS = (
    Action(
        "quota.refresh",
        "refresh",
        "Read this account's quota now",
        _HERE,
        ("read quota", "reload", "update"),
        keys="u",
        method="refresh",
        weight=8,
        writes=True,
    ),
    Action(
        "quota.longer",
        "zoom out",
        "Show more, up to a month",
        _HERE,
        ("longer", "longer range", "month"),
        keys="right_square_bracket",
        method="longer",
        weight=6,
    ),
    Action(
        "quota.shorter",
        "zoom in",
        "Show less, down to an hour",
        _HERE,
        ("shorter", "shorter range", "hour"),
        keys="left_square_bracket",
        method="shorter",
        weight=6,
    ),
    Action(
        "quota.burners",
        "top consumers",
        "List what used it: sessions, projects, models",
        _HERE,
        ("who burned", "who used it", "breakdown", "cost"),
        keys="b",
        method="burners",
        weight=7,
    ),
    Action(
        "quota.pools",
        "pools",
        "Show the pools that this account serves",
        _HERE,
        ("models",),
        keys="w",
        method="pools",
        weight=3,
    ),
)
