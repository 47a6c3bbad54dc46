"""`session-scan`: run every account's turn script and tell what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from oulipoly_engine.cli import output
from oulipoly_engine.cli.context import Context
from oulipoly_engine.cli.parser import Parser
from oulipoly_engine.cli.progress import Progress
from oulipoly_engine.cli.sessions.arguments import after_scan
from oulipoly_engine.cli.wiring import ingester, keep_after_scan, told
from oulipoly_engine.clock import to_text
from oulipoly_engine.config import load
from oulipoly_engine.core.transcripts.turn_script import LineError
from oulipoly_engine.errors import AccountUnusable
from oulipoly_engine.records import asdict
from oulipoly_engine.service.transcripts.ingest import Ingested, Kind
from oulipoly_engine.store.base.db import Store, open_store
from oulipoly_engine.store.quota import quotas
from oulipoly_engine.store.transcripts import entries

_SHOWN_ERRORS = 3
_AFTERWARDS_S = 2.0  # for describing and for indexing what was found; `session list` and `search` do the rest
_WORDS = {Kind.IN_FLIGHT: "another process scans it right now", Kind.NO_SCRIPT: "no turn script"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Scan, report, and return 1 if a script failed."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Run the turn scripts of sessions.toml, store the turns that are new, and count them.",
    )
    parser.add_argument("accounts", nargs="*", metavar="ACCOUNT", help="default: every account with a turn script")
    parser.add_argument("--again", action="store_true", help="bundled adapters: read every transcript from its start")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse(arguments)
    scripts = told(load.load_sessions(context.paths))
    for account in options.accounts:
        if account not in scripts:
            known = ", ".join(scripts) or "none"
            message = f"{context.paths.sessions} names no turn script for {account!r}; it has: {known}"
            raise AccountUnusable(message)
    names = tuple(options.accounts or scripts)
    store = open_store(context.paths.state_db)
    scanner = ingester(context, store, scripts)
    with Progress("reading sessions", len(names)) as progress:
        done = scanner.ingest_accounts(names, progress.step, afresh=options.again)
    after_scan(context, store, _AFTERWARDS_S)
    if options.json:
        output.write_json({"accounts": [_entry(store, result) for result in done]})
    else:
        _show(context, store, done)
    keep_after_scan(context, store)
    store.close()
    return int(any(result.kind is Kind.FAILED for result in done))


def _show(context: Context, store: Store, done: Sequence[Ingested]) -> None:
    if not done:
        output.write_line(f"no turn scripts: add one to {context.paths.sessions}")
    for result in done:
        everything, since, refreshed_at = _counts(store, result.account)
        output.write_line(f"{result.account}: {_outcome(result)}")
        for error in result.errors[:_SHOWN_ERRORS]:
            output.write_line(f"  ! {error.sentence}")
        if result.error_count > _SHOWN_ERRORS:
            output.write_line(f"  ! {result.error_count - min(_SHOWN_ERRORS, len(result.errors))} more")
        for note in result.notes[:_SHOWN_ERRORS]:
            output.write_line(f"  - {note}")
        if len(result.notes) > _SHOWN_ERRORS:
            output.write_line(f"  - {len(result.notes) - _SHOWN_ERRORS} more: see --json")
        moment = "the first (no quota was read yet)" if refreshed_at is None else f"{to_text(refreshed_at)[:19]}Z"
        output.write_line(f"  {everything} turns in all, {since} assistant turns since {moment}")


def _outcome(result: Ingested) -> str:
    if result.kind is Kind.FAILED and not result.script_lines:
        return "FAILED"
    if result.kind in _WORDS:
        return _WORDS[result.kind]
    sessions = f", {result.new_chains} new sessions" if result.new_chains else ""
    counted = f"{result.script_lines} script lines, {result.new_turns} new turns{sessions}, {result.error_count} errors"
    counted += f", {result.damaged_lines} damaged lines" if result.damaged_lines else ""
    counted += f", {result.unread_files} unreadable files or folders" if result.unread_files else ""
    return f"FAILED after {counted}" if result.kind is Kind.FAILED else f"{counted} ({result.duration_s:.1f} s)"


def _counts(store: Store, account: str) -> tuple[int, int, datetime | None]:
    """Return all turns, assistant turns since the last quota reading, and when that was."""
    refreshed_at = quotas.states(store, (account,))[account].refreshed_at
    since = entries.assistant_turns_since(store, account, refreshed_at or _EPOCH)
    return entries.of_account(store, account), since, refreshed_at


def _error(error: LineError) -> dict[str, object]:
    at = {} if error.file is None else {"file": error.file}
    return {**at, "line": error.line, "text": error.text}


def _entry(store: Store, result: Ingested) -> dict[str, object]:
    everything, since, refreshed_at = _counts(store, result.account)
    return {
        **asdict(result),
        "kind": result.kind.value,
        "errors": [_error(error) for error in result.errors],
        "all_turns": everything,
        "turns_since_refresh": since,
        "refreshed_at": None if refreshed_at is None else to_text(refreshed_at),
    }
