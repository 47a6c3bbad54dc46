"""`session pause-handshake` and `session resume-handshake`: a session's lease, taken and given back."""

from __future__ import annotations

import re

from oulipoly_engine.cli import output
from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.cli.sessions import access
from oulipoly_engine.clock import to_text
from oulipoly_engine.config.load import list_models
from oulipoly_engine.core.sessions.lease import DEFAULT_TTL_MS, MAXIMUM_TTL_MS
from oulipoly_engine.core.sessions.resolve import ResolvedSession, choose_model, session_uuid
from oulipoly_engine.errors import ModelUnresolved, StorageUnsupported, TtlInvalid
from oulipoly_engine.service.sessions.lease import Leases
from oulipoly_engine.service.sessions.locate import Locator, find_session
from oulipoly_engine.store.base.db import Store
from oulipoly_engine.store.sessions import chains

_DIGITS = re.compile(r"[0-9]{1,12}", re.ASCII)


def run(context: Context, program: str, command: str, arguments: list[str]) -> int:
    """Run one of the two commands."""
    return (_pause if command == "pause-handshake" else _resume)(context, program, arguments)


def _pause(context: Context, program: str, arguments: list[str]) -> int:
    parser = Parser(prog=program, description="Take a session's lease: while it lives, nobody else may replace it.")
    parser.add_argument("session", metavar="ID", help="full UUID of the session or of its chain")
    parser.add_argument(
        "--ttl-ms", default=str(DEFAULT_TTL_MS), metavar="MS", help=f"1 to {MAXIMUM_TTL_MS}, default {DEFAULT_TTL_MS}"
    )
    options = parser.parse(arguments)
    session_id = session_uuid(options.session)
    ttl_ms = _ttl(options.ttl_ms)
    store = access.store_with(context, session_id)
    session = find_session(store, session_id, context.clock.now())
    _require_model(context, store, session)
    storage = _storage_block(access.locator(context), session)
    lease = _leases(context).acquire(session.session_id, session.account, ttl_ms)
    shown = {
        "session_id": lease.session_id,
        "chain_id": session.chain_id,
        "provider_name": session.account,
        "token": lease.token,
        "expires_at": to_text(lease.expires_at),
        "lock_path": str(lease.path),
        "storage": storage,
    }
    output.write_json(shown, pretty=False)
    return 0


def _resume(context: Context, program: str, arguments: list[str]) -> int:
    parser = Parser(prog=program, description="Give a session's lease back; doing it twice is no error.")
    parser.add_argument("session", metavar="ID", help="full UUID of the session or of its chain")
    parser.add_argument("--token", required=True, help="what pause-handshake printed")
    options = parser.parse(arguments)
    session_id = session_uuid(options.session)
    store = access.store_with(context, session_id)
    session = find_session(store, session_id, context.clock.now())
    release = _leases(context).release(session.session_id, options.token)
    shown = {
        "session_id": release.session_id,
        "token": release.token,
        "released_at": to_text(release.released_at),
        "already_released": release.was_released,
    }
    output.write_json(shown, pretty=False)
    return 0


def _leases(context: Context) -> Leases:
    return Leases(context.paths.data / "locks", context.clock)


def _ttl(text: str) -> int:
    if not _DIGITS.fullmatch(text) or not 1 <= int(text) <= MAXIMUM_TTL_MS:
        message = f"--ttl-ms takes 1 to {MAXIMUM_TTL_MS}, not {text[:40]!r}"
        raise TtlInvalid(message)
    return int(text)


def _require_model(context: Context, store: Store, session: ResolvedSession) -> None:
    """Raise ModelUnresolved when a session of ours has no configured model any more; imported ones have none."""
    invoked = chains.latest_model(store, session.chain_id)
    choice = choose_model(None, invoked, session.model, list_models(context.paths, context.models_dir))
    if choice.missing is not None:
        message = (
            f"session {session.session_id} was made with model {choice.missing!r}, which is not configured: bring its "
            f"file back below {context.models_dir or context.paths.models}"
        )
        raise ModelUnresolved(message)


def _storage_block(locator: Locator, session: ResolvedSession) -> dict[str, object] | None:
    """Return where the session lies as far as it is known: holding it does not need its transcript."""
    try:
        kind = locator.storage(session).storage_type.value
    except StorageUnsupported:
        return None
    transcript, workspace = locator.transcript(session).path, locator.workspace(session).path
    return {
        "storage_type": kind,
        "jsonl_path": None if transcript is None else str(transcript),
        "workspace_root": None if workspace is None else str(workspace),
    }
