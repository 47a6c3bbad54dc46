"""`--usage`: every pool account's windows, read now, as the contract's table or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oulipoly_engine.cli import diagnostics, output
from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.progress import Progress
from oulipoly_engine.cli.wiring import refresher, told
from oulipoly_engine.clock import to_text
from oulipoly_engine.config import load
from oulipoly_engine.core.accounts.accounts import Account, Model
from oulipoly_engine.core.quota import usage_table
from oulipoly_engine.core.quota.usage_table import AccountUsage
from oulipoly_engine.service.quota.refresh import Kind, Refreshed, Wish
from oulipoly_engine.store.base.db import open_store

_STATES = {
    Kind.NO_SCRIPT: usage_table.NO_USAGE_API,
    Kind.IN_FLIGHT: usage_table.IN_FLIGHT,
    Kind.DISABLED: "(disabled)",
}


def run(context: Context, *, as_json: bool) -> int:
    """Read every account that a model names and print what its windows show; a row's error keeps exit 0."""
    store = open_store(context.paths.state_db)
    accounts = told(load.load_accounts(context.paths))
    names = _pooled(told(load.load_models(context.paths, context.models_dir)), accounts)
    reader = refresher(context, store, accounts)
    with Progress("reading quota", len(names)) as progress:
        done = reader.refresh(names, Wish(derive=False, insist=True), progress.step)
    usages = [_usage(accounts[result.account], result) for result in done]
    if as_json:
        output.write_json({"generated_at": to_text(context.clock.now()), "accounts": [*map(_document, usages)]})
    else:
        output.write_bytes(usage_table.render_usage(usage_table.usage_rows(usages)).encode("utf-8", "replace"))
    store.close()
    return 0


def _pooled(models: Mapping[str, Model], accounts: Mapping[str, Account]) -> Sequence[str]:
    """Return the distinct accounts of all pools, sorted; one that is not configured is warned of and left out."""
    found: set[str] = set()
    for model in models.values():
        for member in model.members:
            if member.account in accounts:
                found.add(member.account)
            else:
                diagnostics.note(
                    f"Warning: model {model.name} names the account {member.account}, which is not in providers.toml"
                )
    return sorted(found)


def _usage(account: Account, done: Refreshed) -> AccountUsage:
    vendor = usage_table.vendor_of(account.command)
    state = _STATES.get(done.kind)
    warning = usage_table.not_committed(done.text or "") if done.kind is Kind.NOT_STORED else None
    if done.kind in (Kind.FAILED, Kind.BACKING_OFF):
        state = usage_table.failed(done.text or "")
    return AccountUsage(account.name, vendor, done.windows, state, warning)


def _document(usage: AccountUsage) -> dict[str, object]:
    return {
        "account": usage.account,
        "vendor": usage.vendor,
        "state": usage.state,
        "warning": usage.warning,
        "windows": [
            {
                "window": window.label or f"window-{window.position}",
                "used": window.used,
                "resets_at": to_text(window.resets_at),
                "limit": window.limit,
                "remaining": window.remaining,
                "unit": window.unit,
            }
            for window in usage.windows
        ],
    }
