"""`session locate`: where a session lies, as one compact JSON line."""

from __future__ import annotations

from oulipoly_engine.cli import output
from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.cli.sessions import access
from oulipoly_engine.core.sessions.resolve import session_uuid
from oulipoly_engine.errors import StorageUnsupported
from oulipoly_engine.service.sessions import locate


def run(context: Context, program: str, command: str, arguments: list[str]) -> int:
    """Print the location of a session, whole or not at all."""
    parser = Parser(prog=program, description=f"{command}: print where a session lies, as one JSON line.")
    parser.add_argument("session", metavar="ID", help="full UUID of the session or of its chain")
    parser.add_argument("--json", action="store_true", help="accepted for symmetry; the output is always JSON")
    session_id = session_uuid(parser.parse(arguments).session)
    store = access.store_with(context, session_id)
    session = locate.find_session(store, session_id, context.clock.now())
    try:
        location = access.locator(context).locate(session)
    except StorageUnsupported as error:
        access.tell_kept_copy(context, store, session, error)
        raise
    output.write_json(locate.document(location), pretty=False)
    return 0
