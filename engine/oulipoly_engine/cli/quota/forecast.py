"""`quota forecast`: when each window runs out at the present pace, and how far off such forecasts have been."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.quota.forecast import forecast_text, forecast_to_json
from oulipoly_engine.core.quota.forecast_score import score_text, score_to_json
from oulipoly_engine.core.quota.pool_forecast import PoolForecast, pool_forecast_text, pool_forecast_to_json
from oulipoly_engine.core.quota.window_cycles import EndedCycle
from oulipoly_engine.core.text.columns import table
from oulipoly_engine.core.text.quantities import duration, local, percent
from oulipoly_engine.facade import output
from oulipoly_engine.facade.quota.quota import WindowForecast

_HEADINGS = ("account", "window", "used", "resets in", "forecast", "past error", "left unused")
_POOL_HEADINGS = ("pool", "may serve it", "forecast")


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Print a row a window, and one a pool where no account is named, from stored readings alone."""
    parser = Parser(prog=f"{context.program} {name}", command=name)
    parser.add_argument("accounts", nargs="*", metavar="ACCOUNT", help="default: every configured account")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse(arguments)
    quota, now = context.engine.quota, context.clock.now()
    names = quota.names(options.accounts)
    found = quota.forecasts(names)
    pools = () if options.accounts else quota.pool_forecasts()
    if options.json:
        document = {"generated_at": to_text(now), "windows": [*map(_document, found)]}
        output.write_json(document | {"pools": [*map(pool_forecast_to_json, pools)]})
        return 0
    rows = [_row(one, now) for one in found]
    rows += [(name, "-", "unknown", "-", "never read", "-", "-") for name in _unread(names, found)]
    lines = table([_HEADINGS, *rows])
    if pools:
        lines += ["", *table([_POOL_HEADINGS, *(_pool_row(pool, now) for pool in pools)])]
    output.write_lines(lines)
    return 0


def _pool_row(pool: PoolForecast, now: datetime) -> tuple[str, ...]:
    known = "" if pool.known_accounts == pool.accounts else f", {pool.known_accounts} of them read"
    accounts = f"{pool.accounts} account{'' if pool.accounts == 1 else 's'}"
    return pool.model, f"{accounts}{known}", local(pool_forecast_text(pool), now)


def _unread(names: Sequence[str], found: Sequence[WindowForecast]) -> list[str]:
    seen = {one.account for one in found}
    return [name for name in names if name not in seen]


def _row(one: WindowForecast, now: datetime) -> tuple[str, ...]:
    ahead = one.window.resets_at - now
    reset = "past" if ahead <= timedelta(0) else duration(ahead)
    expected = local(forecast_text(one.forecast), now)
    used = percent(one.window.used)
    left = ", ".join(_format_unused(cycle) for cycle in one.ended[-3:]) or "not known yet"
    error = "not enough data" if one.score is None else score_text(one.score)
    return one.account, one.window.name, used, reset, expected, error, left


def _format_unused(cycle: EndedCycle) -> str:
    return f"{'' if cycle.is_exact else 'at most '}{percent(cycle.unused)}"


def _document(one: WindowForecast) -> Mapping[str, object]:
    return {
        "account": one.account,
        "window": one.window.name,
        "used": one.window.used,
        "resets_at": to_text(one.window.resets_at),
        "refreshed_at": None if one.refreshed_at is None else to_text(one.refreshed_at),
        "forecast": forecast_to_json(one.forecast),
        "score": None if one.score is None else score_to_json(one.score),
        "unused_at_resets": [_describe_cycle(cycle) for cycle in one.ended],
    }


def _describe_cycle(cycle: EndedCycle) -> Mapping[str, object]:
    return {
        "resets_at": to_text(cycle.resets_at),
        "unused": cycle.unused,
        "last_read_at": to_text(cycle.last_read_at),
        "exact": cycle.is_exact,
    }
