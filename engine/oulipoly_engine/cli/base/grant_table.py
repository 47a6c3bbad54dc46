"""What a person has allowed, as commands list it: of every kind, or of one."""

from __future__ import annotations

from argparse import Namespace

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.telling import SCHEMA_VERSION
from oulipoly_engine.core.text.columns import plain, table
from oulipoly_engine.core.text.quantities import ago
from oulipoly_engine.core.web.grants import Kind, grant_document
from oulipoly_engine.facade import diagnostics, output


def list_grants(context: Context, options: Namespace, kind: Kind | None = None) -> int:
    """Print the grants, as JSON where that is asked for. kind: of which; None: of all. Returns the exit code."""
    grants = [grant for grant in context.engine.grants.list() if kind in (None, grant.kind)]
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION, "grants": [grant_document(grant) for grant in grants]})
        return 0
    if not grants:
        diagnostics.note("nothing is allowed to anybody" if kind is None else f"no {kind} is allowed anything")
        return 0
    now = context.clock.now()
    rows = [
        (each.grant_id, each.kind, plain(each.subject), plain(each.right), ago(each.allowed_at, now), each.revoking)
        for each in grants
    ]
    output.write_lines(table([("grant", "kind", "who", "may", "allowed", "revoking it"), *rows]))
    diagnostics.note(f"`{context.program} grants revoke ID` takes one back")
    return 0
