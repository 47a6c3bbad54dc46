"""`session export`: a session's turns as canonical JSON lines."""

from __future__ import annotations

from oulipoly_engine.cli import output, session_access
from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.core.resolve import session_uuid
from oulipoly_engine.errors import FormatInvalid
from oulipoly_engine.service.export import Exporter
from oulipoly_engine.service.locate import find_session

_FORMATS = ("canonical-jsonl",)


def run(context: Context, program: str, command: str, arguments: list[str]) -> int:
    """Print every turn of a session, or none and an error."""
    parser = Parser(prog=program, description=f"{command}: print a session's turns as canonical JSON lines.")
    parser.add_argument("session", metavar="ID", help="full UUID of the session or of its chain")
    parser.add_argument("--format", default=_FORMATS[0], help="canonical-jsonl, the default")
    options = parser.parse(arguments)
    session_id = session_uuid(options.session)
    if options.format not in _FORMATS:
        message = f"there is no format {options.format!r}: {' or '.join(_FORMATS)}"
        raise FormatInvalid(message)
    store = session_access.store_with(context, session_id)
    session = find_session(store, session_id, context.clock.now())
    with Exporter(store, session_access.locator(context)).exported(session) as export:
        for block in export.blocks():
            output.write_bytes(block)
    return 0
