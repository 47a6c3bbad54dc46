"""`account`: what the user says of an account, kept in the state file and shown wherever the account is."""

from __future__ import annotations

from collections.abc import Mapping

from oulipoly_engine.cli import output
from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.cli.wiring import told
from oulipoly_engine.clock import to_text
from oulipoly_engine.config import load
from oulipoly_engine.config.problem import nearest
from oulipoly_engine.core.accounts.accounts import Account
from oulipoly_engine.core.accounts.controls import Controls
from oulipoly_engine.core.quota.windows import QuotaState
from oulipoly_engine.errors import AccountUnusable, UsageInvalid
from oulipoly_engine.records import replace
from oulipoly_engine.store.base.db import Store, open_store
from oulipoly_engine.store.quota import controls, quotas

_ACTIONS = {
    "drain": "give it no new work",
    "undrain": "give it work again",
    "disable": "leave it out, and do not read its quota",
    "enable": "take it in again",
    "clear": "take its exhausted mark and its back-off away",
}


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run one account command."""
    parser = Parser(prog=f"{context.program} {name}", description="See and set what holds for an account.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    commands.add_parser("list", help="every account and what holds for it").add_argument("--json", action="store_true")
    for action, text in _ACTIONS.items():
        commands.add_parser(action, help=text, description=text).add_argument("account")
    text = "never use more of its windows than leaves so much (0 takes the reserve away)"
    reserve = commands.add_parser("reserve", help=text, description=text)
    reserve.add_argument("account")
    reserve.add_argument("percent", nargs="+", help="0 to 99, a %% sign may follow")
    options = parser.parse_plain(arguments)
    accounts = told(load.load_accounts(context.paths))
    store = open_store(context.paths.state_db)
    if options.command == "list":
        return _list(context, store, accounts, as_json=options.json)
    known(accounts, options.account)
    if options.command == "clear":
        _clear(store, options.account)
    else:
        before = controls.of(store, (options.account,))[options.account]
        after = _changed(before, options.command, "".join(getattr(options, "percent", ("0",))))
        controls.save(store, options.account, after, context.clock.now())
    output.write_line(_line(options.account, *_facts(store, options.account)))
    return 0


def known(accounts: Mapping[str, Account], name: str) -> None:
    """Refuse an account that is not configured, naming the nearest one. Raises AccountUnusable."""
    if name not in accounts:
        near = nearest(name, accounts)
        way_out = f"did you mean {near[0]!r}?" if near else f"providers.toml has {', '.join(accounts) or 'none'}"
        message = f"there is no account {name!r}: {way_out}"
        raise AccountUnusable(message)


def _changed(before: Controls, action: str, percent: str) -> Controls:
    match action:
        case "drain" | "undrain":
            return replace(before, drained=action == "drain")
        case "disable" | "enable":
            return replace(before, disabled=action == "disable")
        case _:
            return replace(before, reserve=fraction_of(percent, "reserve"))


def fraction_of(text: str, what: str) -> float:
    """Read a percentage, `20` or `20%`, into 0..0.99. Raises UsageInvalid, which calls it by `what`."""
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 99:
        message = f"the {what} {text!r} is no percentage from 0 to 99"
        raise UsageInvalid(message)
    return percent / 100


def _clear(store: Store, name: str) -> None:
    quotas.clear_exhausted(store, (name,))
    with store.write():
        made = quotas.attempts(store, (name,))[name]
        quotas.save_attempts(store, name, replace(made, backoff_until=None, failures_in_a_row=0))


def _facts(store: Store, name: str) -> tuple[Controls, QuotaState]:
    return controls.of(store, (name,))[name], quotas.states(store, (name,))[name]


def _list(context: Context, store: Store, accounts: Mapping[str, Account], *, as_json: bool) -> int:
    found = {name: _facts(store, name) for name in accounts}
    if as_json:
        output.write_json({"accounts": [_document(name, *facts) for name, facts in found.items()]})
        return 0
    for name, facts in found.items():
        output.write_line(_line(name, *facts))
    if not found:
        output.write_line(f"no accounts: add one to {context.paths.providers}, or run `{context.program} demo`")
    return 0


def _line(name: str, wishes: Controls, state: QuotaState) -> str:
    parts = [wishes.words] if wishes.words else []
    if state.exhausted_at is not None:
        parts.append(f"exhausted since {to_text(state.exhausted_at)[:16]}Z")
    return f"{name}: {', '.join(parts) or 'in use'}"


def _document(name: str, wishes: Controls, state: QuotaState) -> dict[str, object]:
    return {
        "account": name,
        "reserve": wishes.reserve,
        "drained": wishes.drained,
        "disabled": wishes.disabled,
        "exhausted_at": None if state.exhausted_at is None else to_text(state.exhausted_at),
        "refreshed_at": None if state.refreshed_at is None else to_text(state.refreshed_at),
    }
