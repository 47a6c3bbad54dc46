"""Commands on accounts, their controls, and the runtimes of live sessions. Pure."""

from __future__ import annotations

from oulipoly_engine.core.commands.command import ACCOUNT, Argument, destroys, reads, writes
from oulipoly_engine.core.commands.needs import Need

_RUNTIME = Argument("runtime")
_CLI, _NAME = Argument("cli", is_optional=True), Argument("name", is_optional=True)

COMMANDS = (
    writes(
        "account add",
        "add account",
        "log in to one more account, read its quota, join pools",
        (_CLI, _NAME),
        ("new account", "log in", "sign in", "login"),
    ),
    reads(
        "account list",
        "accounts",
        "list accounts and what holds for them",
        synonyms=("accounts", "pool", "pools", "providers"),
        needs=(Need.ACCOUNTS,),
    ),
    reads(
        "account show",
        "show account",
        "show an account's CLI, its home, who is logged in, its pools",
        (ACCOUNT,),
        needs=(Need.ACCOUNTS,),
    ),
    writes(
        "account login",
        "log in again",
        "log in to an account again",
        (ACCOUNT,),
        ("login", "sign in again", "renew login", "re-login"),
        needs=(Need.ACCOUNTS,),
    ),
    writes(
        "account test",
        "test account",
        "send an account a prompt of one word",
        (ACCOUNT,),
        ("check account", "try account", "does it answer"),
        needs=(Need.ACCOUNTS,),
    ),
    writes(
        "account rename",
        "rename account",
        "change an account's name; its readings and sessions follow",
        (ACCOUNT, Argument("name")),
        ("name account", "change name"),
        needs=(Need.ACCOUNTS,),
    ),
    destroys(
        "account remove",
        "remove account",
        "take an account out of the configuration and its pools",
        (ACCOUNT,),
        ("delete account", "forget account"),
        undo="account undo",
        needs=(Need.ACCOUNTS,),
    ),
    destroys(
        "account undo",
        "undo set-up",
        "take back the last change of the accounts",
        synonyms=("revert setup", "account undo"),
    ),
    writes("account export", "export accounts", "back up accounts and pools, without secrets", needs=(Need.ACCOUNTS,)),
    writes("account import", "import accounts", "add what a backup has", (Argument("file"),)),
    writes(
        "account drain",
        "drain",
        "give an account no new work",
        (ACCOUNT,),
        ("pause", "stop using", "cordon"),
        needs=(Need.ACCOUNTS,),
    ),
    writes(
        "account undrain",
        "undrain",
        "give an account work again",
        (ACCOUNT,),
        ("unpause", "use again", "uncordon"),
        needs=(Need.ACCOUNTS,),
    ),
    writes(
        "account disable",
        "disable",
        "leave an account out, and do not read its quota",
        (ACCOUNT,),
        ("turn off", "exclude", "ignore account"),
        needs=(Need.ACCOUNTS,),
    ),
    writes(
        "account enable",
        "enable",
        "take an account in again",
        (ACCOUNT,),
        ("turn on", "include"),
        needs=(Need.ACCOUNTS,),
    ),
    writes(
        "account reserve",
        "set reserve",
        "keep a part of an account's windows unused",
        (ACCOUNT, Argument("percent")),
        ("keep unused", "keep free", "quota floor"),
        needs=(Need.ACCOUNTS,),
    ),
    writes(
        "account clear",
        "clear exhausted",
        "take an account's exhausted mark and its pause away",
        (ACCOUNT,),
        ("clear mark", "reset mark", "retry now"),
        needs=(Need.ACCOUNTS,),
    ),
    reads("runtime list", "runtimes", "list runtimes, and how each stood when it was last asked"),
    reads(
        "runtime show",
        "show runtime",
        "show a runtime's status, its program, what it can do, what was noticed",
        (_RUNTIME,),
    ),
    writes("runtime refresh", "refresh runtimes", "start runtimes, and let each say who it is"),
    reads("runtime models", "models", "list the models that a runtime offers", (_RUNTIME,)),
    writes("runtime login", "log in", "log in to a runtime, by its CLI's own login", (_RUNTIME,)),
    writes("runtime logout", "log out", "log out of a runtime, by its CLI's own logout", (_RUNTIME,)),
)
