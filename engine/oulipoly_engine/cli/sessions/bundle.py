"""`session bundle` and `session unbundle`: a session as one file, to carry it to another machine."""

from __future__ import annotations

import os
from argparse import Namespace
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

from oulipoly_engine.cli.base import stdio
from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.cli.sessions import arguments as person
from oulipoly_engine.errors import RunnerError, UsageInvalid
from oulipoly_engine.facade import output
from oulipoly_engine.facade.sessions.bundles import Packed, PlacedFile, Receipt

_STANDARD = Path("-")  # stdin or stdout


@person.for_scripts
def run(context: Context, name: str, arguments: list[str]) -> int:
    """Run one of the two commands."""
    return {"session bundle": _bundle, "session unbundle": _unbundle}[name](
        context, f"{context.program} {name}", arguments
    )


def _bundle(context: Context, program: str, arguments: list[str]) -> int:
    parser = Parser(prog=program, description="Pack a session, with all that resuming it elsewhere needs.")
    parser.add_argument("session", metavar="ID", help="the session's id; its first 4 characters are enough")
    parser.add_argument("--output", type=path, default="-", metavar="FILE", help="default, and `-`: stdout")
    parser.add_argument("--force", action="store_true", help="with --output: replace a file that is there")
    parser.add_argument("--json", action="store_true", help="with --output: print JSON, as without a terminal")
    options = parser.parse(arguments)
    if options.output == _STANDARD and options.force:
        raise UsageInvalid("--force goes with --output FILE")
    if options.output == _STANDARD and os.isatty(output.STDOUT):
        raise UsageInvalid("a bundle is not text for a terminal: give --output FILE, or a pipe")
    bundles = context.engine.sessions.bundles
    if options.output == _STANDARD:
        bundles.send(options.session, output.write_bytes)
    else:
        packed = bundles.pack(options.session, options.output, force=options.force)
        person.write_outcome(_describe_bundle(packed), _bundle_lines(packed), arguments)
    return 0


def _describe_bundle(packed: Packed) -> dict[str, object]:
    manifest = packed.manifest
    return {
        "path": str(packed.path.absolute()),
        "size_bytes": packed.size_bytes,
        "chain_id": manifest.chain_id,
        "session_id": manifest.segments[-1].session_id,
        "files": len(manifest.files),
        "unpacked_bytes": sum(file.size_bytes for file in manifest.files),
        "missing": list(packed.missing),
    }


def _bundle_lines(packed: Packed) -> list[str]:
    manifest = packed.manifest
    lines = [f"session {manifest.segments[-1].session_id} is in {packed.path.absolute()}: {packed.size_bytes:,} bytes"]
    return lines + [f"missing: {text}" for text in packed.missing]


def _unbundle(context: Context, program: str, arguments: list[str]) -> int:
    parser = Parser(prog=program, description="Unpack a session, so that it can be resumed on this machine.")
    parser.add_argument("file", nargs="?", type=path, default="-", metavar="FILE", help="default, and `-`: stdin")
    parser.add_argument("--account", metavar="ACCOUNT", help="that takes it; default: the one of the same name")
    parser.add_argument(
        "-p", "--project", type=path, metavar="DIR", help="where it goes on; default: where it was, if that exists here"
    )
    parser.accept_older("--cwd", "--project")
    parser.add_argument("--dry-run", action="store_true", help="check everything and tell what would be done")
    parser.add_argument("--json", action="store_true", help="print JSON, as without a terminal")
    options = parser.parse(arguments)
    bundles = context.engine.sessions.bundles
    with _open_bundle(options) as raw:
        receipt = bundles.receive(raw, options.account, options.project, dry_run=options.dry_run)
    document = _describe_receipt(receipt, dry_run=options.dry_run)
    person.write_outcome(document, _receipt_lines(receipt, dry_run=options.dry_run), arguments)
    if receipt.chain_id is not None:
        bundles.read_unpacked(receipt)
    return 0


def _open_bundle(options: Namespace) -> AbstractContextManager[BinaryIO]:
    if options.file == _STANDARD:
        if not stdio.is_piped():
            raise UsageInvalid("no bundle: name a FILE, or pipe one in")
        return nullcontext(stdio.choose_input())
    try:
        return stdio.open_file(options.file)
    except OSError as error:
        raise RunnerError(f"the bundle {options.file} cannot be read: {error.strerror or error}") from error


def _describe_receipt(receipt: Receipt, *, dry_run: bool) -> dict[str, object]:
    active = receipt.placements[-1]
    return {
        "dry_run": dry_run,
        "chain_id": receipt.chain_id,
        "session_id": active.segment.session_id,
        "provider_name": active.account,
        "workspace_root": str(receipt.workspace),
        "was_known": receipt.was_known,
        "segments": [
            {
                "session_id": one.segment.session_id,
                "provider_name": one.account,
                "left_out": one.left_out,
                "files": [_file(placed, dry_run=dry_run) for placed in one.files],
            }
            for one in receipt.placements
        ],
        "warnings": list(receipt.warnings),
    }


def _receipt_lines(receipt: Receipt, *, dry_run: bool) -> list[str]:
    active = receipt.placements[-1]
    verb = "would go on" if dry_run else "goes on"
    known = " (it was known here already)" if receipt.was_known else ""
    lines = [f"session {active.segment.session_id} {verb} on {active.account} in {receipt.workspace}{known}"]
    for placement in receipt.placements:
        lines += [f"  {_file(placed, dry_run=dry_run)['state']}: {placed.path}" for placed in placement.files]
    return lines + [f"Warning: {text}" for text in receipt.warnings]


def _file(placed: PlacedFile, *, dry_run: bool) -> dict[str, object]:
    state = "was-there" if placed.is_there else "would-be-written" if dry_run else "written"
    return {
        "path": str(placed.path),
        "role": placed.file.role.value,
        "size_bytes": placed.file.size_bytes,
        "sha256": placed.file.sha256,
        "state": state,
    }
