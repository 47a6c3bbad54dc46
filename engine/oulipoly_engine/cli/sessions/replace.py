"""`session import-replace` and `session undo`: a session's entries exchanged for others, and put back."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine.cli.base import stdio
from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.cli.base.questions import parse_agreed
from oulipoly_engine.cli.sessions import arguments as person
from oulipoly_engine.core.rewrite.diff import diff, documents
from oulipoly_engine.core.rewrite.steps import Kind
from oulipoly_engine.core.sessions.resolve import session_uuid
from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.facade import diagnostics, output
from oulipoly_engine.facade.sessions.edits import History, Plan, Receipt

_HASH = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)


@person.for_scripts
def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run one of the two commands."""
    return {"session import-replace": _import, "session undo": _undo}[name](
        context, f"{context.program} {name}", arguments
    )


def _import(context: Context, program: str, arguments: list[str]) -> int:
    parser = Parser(
        prog=program,
        description="Replace a session's messages by canonical JSON lines, as `session export` prints them, from "
        "stdin or a file.",
    )
    parser.add_argument("session", metavar="ID", help="the session's whole id")
    parser.add_argument("--from-file", "--file", "-f", type=path, metavar="FILE", help="read the lines from a file")
    parser.add_argument("--preimage-sha256", metavar="HEX", help="refuse unless the present export has this hash")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and touch nothing")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print JSON, as without a terminal; no diff",
    )
    options = parser.parse(arguments)
    session_id = session_uuid(options.session)
    preimage = _preimage(options.preimage_sha256)
    edits, give = context.engine.sessions.edits, partial(_open_input, options.from_file)
    if options.dry_run:
        return _show(edits.plan(session_id, give, preimage), as_json=options.json)
    return _tell(edits.replace(session_id, give, preimage), arguments)


def _undo(context: Context, program: str, arguments: list[str]) -> int:
    parser = Parser(prog=program, description="Put a replaced session back as it was, byte for byte.")
    parser.add_argument("session", metavar="ID", help="the session's id; its first 4 characters are enough")
    parser.add_argument("--operation", metavar="UUID", help="the replacement to undo; without it the latest one")
    parser.add_argument("--list", action="store_true", help="list the replacements of the session")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and touch nothing")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print JSON, as without a terminal; no diff",
    )
    options = parse_agreed(parser, "session undo", arguments)
    edits = context.engine.sessions.edits
    if options.list:
        return _list(edits.history(options.session), as_json=options.json)
    if options.dry_run:
        return _show(edits.plan_undo(options.session, options.operation), as_json=options.json)
    receipt = edits.undo(options.session, options.operation)
    return _tell(receipt, arguments, operation_uuid=receipt.operation_uuid)


def _preimage(text: str | None) -> str | None:
    if text is not None and not _HASH.fullmatch(text):
        raise UsageInvalid(f"--preimage-sha256 takes 64 hexadecimal digits, not {text[:80]!r}")
    return text


def _open_input(name: Path | None) -> BinaryIO:
    if name is not None:
        try:
            return stdio.open_file(name)
        except OSError as error:
            raise RunnerError(f"{name} cannot be read: {error.strerror or error}") from error
    if not stdio.is_piped():
        raise UsageInvalid("give the canonical lines on stdin, or name their file with --from-file")
    return stdio.choose_input()


def _tell(receipt: Receipt, arguments: list[str], **more: object) -> int:
    for note in receipt.notes:
        diagnostics.note(f"Warning: {note}")
    verb = "put back as it was" if receipt.operation == "undo" else "replaced"
    line = f"session {receipt.session_id} was {verb}: {receipt.path}"
    person.write_outcome(receipt.document() | more, [line], arguments)
    return 0


def _show(plan: Plan, *, as_json: bool) -> int:
    counts = {kind.value: plan.count(kind) for kind in Kind}
    if as_json:
        output.write_json(
            {
                "session_id": plan.target.session.session_id,
                "provider_name": plan.target.session.account,
                "storage_type": plan.target.storage_type.value,
                "operation": plan.operation,
                "dry_run": True,
                "preimage_sha256": plan.preimage_sha256,
                "postimage_sha256": plan.postimage_sha256,
                "jsonl_path": str(plan.target.path),
                "turns": counts,
                "size_bytes": plan.size_bytes,
                "new_size_bytes": plan.new_size_bytes,
                "changes": documents(plan.steps),
                "notes": list(plan.notes),
            }
        )
        return 0
    for line in diff(plan.steps):
        output.write_block(f"{line}\n")  # tabs too: of the heads, and of what was said
    told = ", ".join(f"{number} {word}" for word, number in counts.items())
    output.write_line(f"Turns: {told}. {plan.target.path}: {plan.size_bytes} -> {plan.new_size_bytes} bytes.")
    for note in plan.notes:
        diagnostics.note(f"Warning: {note}")
    return 0


def _list(history: History, *, as_json: bool) -> int:
    known, session, undoable = history.replacements, history.session, history.undoable
    if as_json:
        rows = [
            {
                "operation_uuid": one.operation_uuid,
                "operation": one.operation,
                "undoes": one.undoes,
                "committed_at": one.committed_at,
                "undone_at": one.undone_at,
                "preimage_sha256": one.preimage_sha256,
                "postimage_sha256": one.postimage_sha256,
                "jsonl_path": one.path,
                "preimage_size_bytes": one.preimage_size_bytes,
                "preimage_kept": one.operation_uuid in undoable,
            }
            for one in known
        ]
        output.write_json({"session_id": session.session_id, "provider_name": session.account, "replacements": rows})
        return 0
    if not known:
        output.write_line(f"Session {session.session_id} was never replaced.")
    for one in known:
        state = f"undone {one.undone_at}" if one.undone_at else "stands"
        what = f"undo of {one.undoes}" if one.undoes else one.operation
        is_kept = one.operation_uuid in undoable
        kept = f"kept {one.preimage_size_bytes} bytes" if is_kept else "not kept any more (preimage_limit_mb)"
        output.write_line(f"{one.committed_at}  {one.operation_uuid}  {what}  {state}  {kept}")
    return 0
