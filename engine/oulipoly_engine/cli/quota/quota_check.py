"""`quota check`: read every account, show its windows and each pool's next pick; or only what is worth an alert."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.progress import show_quota_progress
from oulipoly_engine.cli.quota.account import fraction_of
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.balance.explain import decision_to_json
from oulipoly_engine.core.balance.why_table import why_text
from oulipoly_engine.core.quota.windows import QuotaState, Window
from oulipoly_engine.core.text.quantities import ago, duration, local, percent
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.quota.quota import Kind, Quota, QuotaCheck, RefreshResult

_WORDS = {Kind.NO_SCRIPT: "NO_SCRIPT", Kind.IN_FLIGHT: "IN_FLIGHT", Kind.DISABLED: "DISABLED"}


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Read the accounts and report."""
    parser = Parser(
        prog=f"{context.program} {name}",
        command=name,
    )
    parser.add_argument("accounts", nargs="*", metavar="ACCOUNT", help="default: every configured account")
    parser.add_argument("--cached", action="store_true", help="read nothing: show what is stored")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON document")
    form.add_argument(
        "--notify", action="store_true", help="print only new alerts, one JSON line each, once in a window's cycle"
    )
    parser.add_argument("--threshold", default="90", metavar="PERCENT", help="alert from this use on (default 90)")
    options = parser.parse(arguments)
    threshold = fraction_of(options.threshold, "threshold")
    quota = context.engine.quota
    names = quota.names(options.accounts)
    done = () if options.cached else quota.refresh(names, progress=show_quota_progress)
    if options.notify:
        _notify(quota, names, threshold, done)
        return 0
    found = quota.check(names, threshold)
    if options.json:
        output.write_json(_document(context, done, found))
    else:
        _show(context, done, found)
    return 0


def _notify(quota: Quota, names: Sequence[str], threshold: float, done: Sequence[RefreshResult]) -> None:
    for result in done:
        if result.kind is Kind.FAILED:
            diagnostics.note(f"Warning: {result.account}: {result.text}")
    untold = list(quota.raise_alerts(names, threshold))
    try:
        while untold:
            output.write_json(untold[0].to_json(), pretty=False)
            untold.pop(0)
    finally:  # what nobody could be told of is raised again the next time
        quota.withdraw_alerts(untold, threshold)


def _show(context: Context, done: Sequence[RefreshResult], found: QuotaCheck) -> None:
    output.write_line(f"config: {context.paths.config}")
    output.write_line(f"state: {context.paths.state_db}")
    for result in done:
        output.write_line(f"{result.account}: {_outcome(result, found.at)}")
    output.write_line("stored:")
    absent = {result.account: result.text for result in done if result.kind is Kind.NO_SCRIPT}
    for state in found.states.values():
        said = absent.get(state.account) if state.refreshed_at is None else None
        output.write_line(f"  {state.account}: {said or _format_state(state, found.at)}")
    for decision in found.decisions:
        output.write_line("")
        output.write_block(local(why_text(decision), found.at))
    for alert in found.alerts:
        output.write_line(f"! {local(alert.text, found.at)}")


def _outcome(result: RefreshResult, now: datetime) -> str:
    shown = ", ".join(_window(window.as_window(), now) for window in result.windows)
    if result.kind is Kind.UPDATED:
        return f"UPDATED windows=[{shown}]"
    return _WORDS.get(result.kind) or f"FAILED: {local(result.text or '', now)}" + (
        f" windows=[{shown}]" if shown else ""
    )


def _format_state(state: QuotaState, now: datetime) -> str:
    if state.refreshed_at is None:
        return "never read"
    shown = ", ".join(f"{window.name} {percent(window.used)}{_reset(window, now)}" for window in state.windows)
    marked = "" if state.exhausted_at is None else ", marked exhausted"
    return f"{shown or 'no windows'}, read {ago(state.refreshed_at, now)}{marked}"


def _reset(window: Window, now: datetime) -> str:
    left = window.resets_at - now
    return " (has reset)" if left <= timedelta(0) else f" (resets in {duration(left)})"


def _window(window: Window, now: datetime) -> str:
    """Return a window as the contract has it (section 17): `20%@3.5h`."""
    hours = (window.resets_at - now).total_seconds() / 3600
    return f"{100 * window.used:g}%@{hours:.1f}h"


def _document(context: Context, done: Sequence[RefreshResult], found: QuotaCheck) -> dict[str, object]:
    outcomes = {result.account: result for result in done}
    return {
        "config": str(context.paths.config),
        "state": str(context.paths.state_db),
        "accounts": [_account(state, outcomes.get(state.account)) for state in found.states.values()],
        "models": [*map(decision_to_json, found.decisions)],
        "alerts": [alert.to_json() for alert in found.alerts],
    }


def _account(state: QuotaState, result: RefreshResult | None) -> dict[str, object]:
    return {
        "account": state.account,
        "outcome": None if result is None else result.kind.value,
        "text": None if result is None else result.text,
        "refreshed_at": None if state.refreshed_at is None else to_text(state.refreshed_at),
        "exhausted_at": None if state.exhausted_at is None else to_text(state.exhausted_at),
        "windows": [
            {"window": window.name, "used": window.used, "resets_at": to_text(window.resets_at)}
            for window in state.windows
        ],
    }
