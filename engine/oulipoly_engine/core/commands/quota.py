"""Commands on quota, pools and what was used. Pure."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import ACCOUNT, MODEL, Argument, reads, writes
from oulipoly_engine.core.commands.needs import Need

_ACCOUNT = Argument("account", "accounts", is_optional=True)

COMMANDS = (
    reads("quota list", "quota", "list accounts with their quota as it was last read", scope="view"),
    reads("quota show", "show quota", "read every account now: used, limit, resets in", needs=(Need.ACCOUNTS,)),
    reads("quota check", "check quota", "read accounts; show windows, next picks, alerts", needs=(Need.ACCOUNTS,)),
    writes(
        "quota refresh",
        "refresh",
        "read an account's quota now",
        (_ACCOUNT,),
        ("read quota", "reload", "update"),
        needs=(Need.ACCOUNT,),
    ),
    writes(
        "quota refresh all",
        "refresh all",
        "read the quota of every account now",
        (_ACCOUNT,),
        ("reload", "update usage", "check quota"),
        needs=(Need.ACCOUNTS,),
    ),
    reads("quota forecast", "forecast", "tell when each window runs out at the present pace", needs=(Need.ACCOUNTS,)),
    reads("pool list", "pools", "list the pools and who is next in each", scope="view"),
    writes(
        "pool pin",
        "pin",
        "let one account alone serve a model here",
        (MODEL, ACCOUNT),
        ("force account", "use only this account"),
    ),
    writes("pool unpin", "unpin", "let the balancer choose again", (MODEL,), ("automatic choice",)),
    reads(
        "why",
        "why",
        "explain the choice of an account, now or for a run",
        (MODEL,),
        ("explain", "reason", "ranking", "decision"),
        scope="view",
        needs=(Need.RECORDS,),
    ),
    reads(
        "why if",
        "what-if",
        "try pins, drains, reserves and turns before they are true",
        synonyms=("simulate", "preview", "dry run"),
        needs=(Need.MODEL,),
    ),
    reads(
        "report",
        "top consumers",
        "list tokens and API value by day, session, model, account, project",
        synonyms=("who burned", "who used it", "breakdown", "cost"),
        needs=(Need.RECORDS,),
    ),
    reads("status", "status", "print one line for tmux, a prompt or a bar"),
)
