"""`quota show`, which is `--usage` too: every pool account's windows, read now, as the contract's table or as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.progress import show_quota_progress
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.quota import usage_table
from oulipoly_engine.core.quota.usage_table import AccountUsage
from oulipoly_engine.facade import output


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Read every account of the pools and show its windows."""
    parser = Parser(
        prog=f"{context.program} {name}",
        command=name,
    )
    parser.add_argument("accounts", nargs="*", metavar="ACCOUNT", help="default: every account that a model names")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse(arguments)
    return show(context, options.accounts, as_json=options.json)


def show(context: Context, asked: Sequence[str] = (), *, as_json: bool) -> int:
    """Read accounts, all that a model names by default, and print what its windows show; a row's error keeps exit 0."""
    usages = context.engine.quota.read_usage(asked, show_quota_progress)
    if as_json:
        output.write_json({"generated_at": to_text(context.clock.now()), "accounts": [*map(_document, usages)]})
    else:
        output.write_block(usage_table.render_usage(usage_table.usage_rows(usages)))
    return 0


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
