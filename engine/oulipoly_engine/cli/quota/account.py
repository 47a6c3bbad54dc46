"""`account`: what the user says of an account, kept in the state file and shown wherever the account is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.text.columns import plain, table
from oulipoly_engine.core.text.quantities import moment, percent
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import output

if TYPE_CHECKING:
    from oulipoly_engine.facade.quota.accounts import AccountState


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run the command of that name."""
    verb = name.rpartition(" ")[2]
    parser = Parser(
        prog=f"{context.program} {name}", command=name, more="0 takes the reserve away." if verb == "reserve" else ""
    )
    accounts = context.engine.accounts
    if verb == "list":
        parser.add_argument("--json", action="store_true", help="print one JSON document")
        options = parser.parse(arguments)  # first: help opens no state file
        return _list(context, accounts.states(), as_json=options.json)
    parser.add_argument("account", metavar="ACCOUNT")
    if verb == "reserve":
        parser.add_argument("percent", nargs="+", metavar="PERCENT", help="0 to 99, a %% sign may follow")
    options = parser.parse(arguments)
    match verb:
        case "drain" | "undrain":
            accounts.drain(options.account, on=verb == "drain")
        case "disable" | "enable":
            accounts.disable(options.account, on=verb == "disable")
        case "clear":
            accounts.clear(options.account)
        case _:
            accounts.check(options.account)  # said before what is wrong with the percentage
            accounts.reserve(options.account, fraction_of("".join(options.percent), "reserve"))
    output.write_line(_line(accounts.state(options.account)))
    return 0


def fraction_of(text: str, what: str) -> float:
    """Read a percentage, `20` or `20%`, into 0..0.99. Raises UsageInvalid, which calls it by `what`."""
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 99:
        raise UsageInvalid(f"the {what} {text!r} is not a percentage from 0 to 99")
    return percent / 100


def _list(context: Context, found: Sequence[AccountState], *, as_json: bool) -> int:
    if as_json:
        output.write_json({"accounts": [*map(_document, found)]})
        return 0
    if found:
        rows = [("ACCOUNT", "CLI", "LOGIN", "PLAN", "POOLS", "QUOTA", "STATE"), *map(_row, found)]
        output.write_lines(table([[plain(cell) for cell in row] for row in rows]))
    else:
        output.write_line(f"no accounts: `{context.program} account add` adds one, `{context.program} demo` needs none")
    return 0


def _row(state: AccountState) -> tuple[str, ...]:
    windows = ", ".join(f"{window.name} {percent(window.used)}" for window in state.quota.windows)
    pools = ", ".join(state.pools)
    texts = (state.cli, state.login, state.plan, pools, windows)
    return (state.name, *(text or "-" for text in texts), _standing(state))


def _line(state: AccountState) -> str:
    return f"{state.name}: {_standing(state)}"


def _standing(state: AccountState) -> str:
    parts = [state.controls.words] if state.controls.words else []
    if state.quota.exhausted_at is not None:
        parts.append(f"exhausted since {moment(state.quota.exhausted_at)}")
    return ", ".join(parts) or "in use"


def _document(state: AccountState) -> dict[str, object]:
    wishes, quota = state.controls, state.quota
    return {
        "account": state.name,
        "cli": state.cli,
        "login": state.login,
        "plan": state.plan,
        "pools": list(state.pools),
        "windows": [
            {"window": window.name, "used": window.used, "resets_at": to_text(window.resets_at)}
            for window in state.quota.windows
        ],
        "reserve": wishes.reserve,
        "drained": wishes.drained,
        "disabled": wishes.disabled,
        "exhausted_at": None if quota.exhausted_at is None else to_text(quota.exhausted_at),
        "refreshed_at": None if quota.refreshed_at is None else to_text(quota.refreshed_at),
    }
