"""`session scan`: run every account's turn script and tell what came of it."""

from __future__ import annotations

from collections.abc import Sequence

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.cli.base.progress import Progress
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.text.quantities import moment
from oulipoly_engine.core.transcripts.turn_script import LineError
from oulipoly_engine.facade import output
from oulipoly_engine.facade.sessions.scans import IngestResult, Kind, ScanResult
from oulipoly_engine.records import asdict

_SHOWN_ERRORS = 3
_WORDS = {Kind.IN_FLIGHT: "another process scans it right now", Kind.NO_SCRIPT: "no turn script"}


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Scan, report, and return 1 if a script failed."""
    parser = Parser(
        prog=f"{context.program} {name}",
        description="Read what the CLIs have written, by the turn scripts of sessions.toml, and count what is new.",
    )
    parser.add_argument("accounts", nargs="*", metavar="ACCOUNT", help="default: every account with a turn script")
    parser.add_argument("--again", action="store_true", help="bundled adapters: read every transcript from its start")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse(arguments)
    scans = context.engine.sessions.scans
    done = scans.read_accounts(options.accounts, afresh=options.again, counting=Progress)
    if options.json:
        output.write_json({"accounts": [_entry(one) for one in done]})
    else:
        _show(context, done)
    scans.keep_copies()
    return int(any(one.result.kind is Kind.FAILED for one in done))


def _show(context: Context, done: Sequence[ScanResult]) -> None:
    if not done:
        output.write_line(f"no turn scripts: add one to {context.paths.sessions}")
    for one in done:
        result = one.result
        output.write_line(f"{result.account}: {_outcome(result)}")
        for error in result.errors[:_SHOWN_ERRORS]:
            output.write_line(f"  ! {error.sentence}")
        if result.error_count > _SHOWN_ERRORS:
            output.write_line(f"  ! {result.error_count - min(_SHOWN_ERRORS, len(result.errors))} more")
        for note in result.notes[:_SHOWN_ERRORS]:
            output.write_line(f"  - {note}")
        if len(result.notes) > _SHOWN_ERRORS:
            output.write_line(f"  - {len(result.notes) - _SHOWN_ERRORS} more: see --json")
        read_at = one.quota_read_at
        since = "the first (no quota was read yet)" if read_at is None else moment(read_at)
        output.write_line(f"  {one.entries} turns in all, {one.answers_since} assistant turns since {since}")


def _outcome(result: IngestResult) -> str:
    if result.kind is Kind.FAILED and not result.script_lines:
        return "FAILED"
    if result.kind in _WORDS:
        return _WORDS[result.kind]
    sessions = f", {result.new_chains} new sessions" if result.new_chains else ""
    counted = f"{result.script_lines} script lines, {result.new_turns} new turns{sessions}, {result.error_count} errors"
    counted += f", {result.damaged_lines} damaged lines" if result.damaged_lines else ""
    counted += f", {result.unread_files} unreadable files or folders" if result.unread_files else ""
    return f"FAILED after {counted}" if result.kind is Kind.FAILED else f"{counted} ({result.duration_s:.1f} s)"


def _error(error: LineError) -> dict[str, object]:
    at = {} if error.file is None else {"file": error.file}
    return {**at, "line": error.line, "text": error.text}


def _entry(one: ScanResult) -> dict[str, object]:
    return {
        **asdict(one.result),
        "kind": one.result.kind.value,
        "errors": [_error(error) for error in one.result.errors],
        "all_turns": one.entries,
        "turns_since_refresh": one.answers_since,
        "refreshed_at": None if one.quota_read_at is None else to_text(one.quota_read_at),
    }
