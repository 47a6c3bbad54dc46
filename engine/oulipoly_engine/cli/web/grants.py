"""`grants …`: what a person has allowed, of every kind: listed and revoked in one place."""

from __future__ import annotations

from argparse import Namespace

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.grant_table import list_grants
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.questions import parse_agreed
from oulipoly_engine.cli.base.telling import tell
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.core.web.grants import grant_document


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve one of the verbs."""
    verb = name.partition(" ")[2]
    parser = Parser(prog=f"{context.program} {name}", command=name)
    if verb == "revoke":
        parser.add_argument("grant", metavar="ID", help="its id, of `grants list`; its beginning is enough")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    options = parse_agreed(parser, name, arguments)
    return _revoke(context, options) if verb == "revoke" else list_grants(context, options)


def _revoke(context: Context, options: Namespace) -> int:
    grant = context.engine.grants.revoke(options.grant)
    text = f"{plain(grant.subject)} ({grant.kind} {grant.grant_id}): revoked; {grant.revoking}"
    return tell(options, grant_document(grant), text)
