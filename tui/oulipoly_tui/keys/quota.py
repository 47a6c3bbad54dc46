"""Keys of the Quota pane."""

from __future__ import annotations

from oulipoly_tui.keys.key import Key

_HERE = "quota"

KEYS = (
    Key("quota.refresh", "u", "refresh", "read", "Read this account's quota now", _HERE, writes=True, weight=8),
    Key(
        "quota.longer",
        "right_square_bracket",
        "longer",
        "longer",
        "Show more, up to a month",
        _HERE,
        weight=6,
    ),
    Key(
        "quota.shorter",
        "left_square_bracket",
        "shorter",
        "shorter",
        "Show less, down to an hour",
        _HERE,
        weight=6,
    ),
    Key(
        "quota.burners",
        "b",
        "burners",
        "who burned",
        "List who burned it: sessions, projects, models",
        _HERE,
        weight=7,
    ),
    Key("quota.pools", "w", "pools", "pools", "Show the pools that this account serves", _HERE, weight=3),
)
