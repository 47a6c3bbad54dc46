"""Keys of the Pools pane."""

from __future__ import annotations

from oulipoly_tui.keys.key import Key

_HERE = "pools"

KEYS = (
    Key("pools.why", "w", "why", "why", "Show why this account is next and the others are not", _HERE, weight=8),
    Key("pools.what_if", "W", "what_if", "what-if", "Try pins, drains, reserves and turns before they are true", _HERE),
    Key("pools.one_shot", "p", "one_shot", "prompt", "Send one prompt to this model", _HERE, writes=True, weight=7),
    Key("pools.repl", "r", "start_repl", "REPL", "Talk to this model in a terminal", _HERE, writes=True, weight=7),
    Key(
        "pools.pin",
        "i",
        "pin",
        "pin",
        "Let this account alone serve the app's next picks, or no longer",
        _HERE,
        writes=True,
    ),
    Key("pools.drain", "d", "drain", "drain", "Give this account no new work, or work again", _HERE, writes=True),
    Key(
        "pools.reserve",
        "e",
        "reserve",
        "reserve",
        "Keep a part of this account's windows unspent",
        _HERE,
        writes=True,
        weight=4,
    ),
    Key(
        "pools.disable",
        "x",
        "disable",
        "disable",
        "Leave this account out and do not read it, or take it in again",
        _HERE,
        writes=True,
        weight=3,
    ),
    Key(
        "pools.clear",
        "c",
        "clear",
        "clear",
        "Take this account's exhausted mark and its pause away",
        _HERE,
        writes=True,
        weight=3,
    ),
    Key("pools.refresh", "u", "refresh", "read", "Read this account's quota now", _HERE, writes=True, weight=6),
    Key("pools.stop", "s", "stop_one_shot", "stop", "Stop the one-shot that runs", _HERE, writes=True, weight=8),
    Key("pools.set_up", "a", "set_up", "set up", "Set up the CLIs of this machine", _HERE, writes=True, weight=9),
    Key("pools.demo", "m", "demo", "demo", "Try everything in the demo world", _HERE, weight=8),
    Key(
        "pools.copy",
        "y",
        "copy",
        "copy",
        "Copy the account's name, or the configuration's folder where there is none",
        _HERE,
        weight=2,
    ),
    Key("pools.log", "l", "log", "log", "Show or hide the one-shots' output", _HERE, weight=4),
)
