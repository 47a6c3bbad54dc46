"""`session locate` and the two handshakes: where a session lies, and its lease, taken and given back."""

from __future__ import annotations

import re

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.sessions import arguments as person
from oulipoly_engine.cli.sessions.arguments import hint_at_copy
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.sessions.resolve import session_uuid
from oulipoly_engine.core.text.columns import plain
from oulipoly_engine.errors import StorageUnsupported, TtlInvalid
from oulipoly_engine.facade import output
from oulipoly_engine.facade.sessions.locations import location_document

_DIGITS = re.compile(r"[0-9]{1,12}", re.ASCII)


@person.for_scripts
def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run one of the commands."""
    commands = {
        "session locate": _locate,
        "session pause-handshake": _pause,
        "session resume-handshake": _resume,
    }
    return commands[name](context, f"{context.program} {name}", arguments)


def _locate(context: Context, program: str, arguments: list[str]) -> int:
    """Print the location of a session, whole or not at all."""
    parser = Parser(prog=program, description="Print where a session lies.")
    parser.add_argument("session", metavar="ID", help="the session's whole id")
    parser.add_argument("--json", action="store_true", help="print JSON, as without a terminal")
    session_id = session_uuid(parser.parse(arguments).session)
    try:
        location = context.engine.sessions.locations.locate(session_id)
    except StorageUnsupported as error:
        hint_at_copy(context, session_id, error)
        raise
    lines = (
        f"session {location.session.session_id} is on {plain(location.session.account)}",
        f"its transcript: {plain(str(location.transcript))}",
        f"its folder: {plain(str(location.workspace))}",
    )
    person.write_outcome(location_document(location), lines, arguments)
    return 0


def _pause(context: Context, program: str, arguments: list[str]) -> int:
    from oulipoly_engine.core.sessions.lease import DEFAULT_TTL_MS, MAXIMUM_TTL_MS  # noqa: PLC0415 - hashlib, 5 ms

    parser = Parser(prog=program, description="Take a session's lease: while it lives, nobody else may replace it.")
    parser.add_argument("session", metavar="ID", help="the session's whole id")
    parser.add_argument(
        "--ttl-ms", default=str(DEFAULT_TTL_MS), metavar="MS", help=f"1 to {MAXIMUM_TTL_MS}, default {DEFAULT_TTL_MS}"
    )
    options = parser.parse(arguments)
    held = context.engine.sessions.locations.hold(session_uuid(options.session), _ttl(options.ttl_ms, MAXIMUM_TTL_MS))
    storage = None
    if held.storage_type is not None:
        storage = {
            "storage_type": held.storage_type.value,
            "jsonl_path": None if held.transcript is None else str(held.transcript),
            "workspace_root": None if held.workspace is None else str(held.workspace),
        }
    shown = {
        "session_id": held.lease.session_id,
        "chain_id": held.session.chain_id,
        "provider_name": held.session.account,
        "token": held.lease.token,
        "expires_at": to_text(held.lease.expires_at),
        "lock_path": str(held.lease.path),
        "storage": storage,
    }
    output.write_json(shown, pretty=False)
    return 0


def _resume(context: Context, program: str, arguments: list[str]) -> int:
    parser = Parser(prog=program, description="Give a session's lease back; doing it twice is not an error.")
    parser.add_argument("session", metavar="ID", help="the session's whole id")
    parser.add_argument("--token", required=True, help="what pause-handshake printed")
    options = parser.parse(arguments)
    release = context.engine.sessions.locations.release(session_uuid(options.session), options.token)
    shown = {
        "session_id": release.session_id,
        "token": release.token,
        "released_at": to_text(release.released_at),
        "already_released": release.was_released,
    }
    output.write_json(shown, pretty=False)
    return 0


def _ttl(text: str, longest: int) -> int:
    if not _DIGITS.fullmatch(text) or not 1 <= int(text) <= longest:
        raise TtlInvalid(f"--ttl-ms takes 1 to {longest}, not {text[:40]!r}")
    return int(text)
