"""`session archive`: keep copies of transcripts before their CLIs delete them; list, restore and prune them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable

from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.cli.sessions import arguments as person
from oulipoly_engine.clock import to_text
from oulipoly_engine.core.text.columns import size_text
from oulipoly_engine.core.text.quantities import moment
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import output
from oulipoly_engine.facade.sessions.archive import (
    ArchiveList,
    ArchiveStatus,
    CopyState,
    KeepResult,
    PruneResult,
    SessionArchive,
)

_WORDS = {
    CopyState.KEPT: "kept",
    CopyState.BEHIND: "kept, an earlier state",
    CopyState.ONLY_COPY: "the only copy",
    CopyState.GIVEN_UP: "NOT kept (size limit)",
    CopyState.NOT_KEPT: "NOT kept yet",
    CopyState.LOST: "LOST: deleted, and not kept",
}


@person.for_scripts
def run(context: Context, name: str, arguments: list[str]) -> int:
    """Archive now, or answer one of the questions."""
    parser = Parser(prog=f"{context.program} {name}", command=name)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="show what is kept")
    what.add_argument("--at-risk", action="store_true", help="show what a CLI deletes soon, and whether it is kept")
    what.add_argument("--restore", metavar="ID", help="put a session's files back where its CLI had them")
    what.add_argument("--prune", action="store_true", help="bring the archive within archive_limit_mb of config.toml")
    parser.add_argument("--output", type=path, metavar="DIR", help="with --restore: put them there instead")
    parser.add_argument("--account", metavar="ACCOUNT", help="with --restore: of this account")
    parser.add_argument("--within", type=float, metavar="DAYS", help="with --at-risk: default 7")
    parser.add_argument("--only-copies", action="store_true", help="with --prune: give up the only copies too")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.accept_older("--to", "--output")
    options = parser.parse(arguments)
    _refuse_strays(options)
    archive = context.engine.sessions.archive
    if options.list:
        return _list(archive.statuses(), as_json=options.json)
    if options.at_risk:
        return _at_risk(archive, 7.0 if options.within is None else options.within, as_json=options.json)
    if options.restore is not None:
        return _restore(archive, options)
    if options.prune:
        return _prune(archive, only_copies=options.only_copies, as_json=options.json)
    return _keep(archive, as_json=options.json)


def _refuse_strays(options: Namespace) -> None:
    pairs = (
        ("output", "restore", options.output),
        ("account", "restore", options.account),
        ("within", "at_risk", options.within is not None),
        ("only_copies", "prune", options.only_copies),
    )
    for name, owner, given in pairs:
        if given and not getattr(options, owner):
            raise UsageInvalid(f"--{name.replace('_', '-')} goes with --{owner.replace('_', '-')}")


def _keep(kept: SessionArchive, *, as_json: bool) -> int:
    done = kept.keep_all()
    if as_json:
        output.write_json(_describe_keep_result(done))
        return 0
    output.write_line(
        f"{done.kept} of {done.looked_at} files kept anew; the archive takes {size_text(done.stored_bytes)}"
    )
    if done.given_up or done.not_kept:
        output.write_line(f"{done.given_up} copies were given up for archive_limit_mb, {done.not_kept} found no room")
    for note in done.notes:
        output.write_line(f"  - {note}")
    return 0


def _describe_keep_result(done: KeepResult) -> dict[str, object]:
    return {
        "looked_at": done.looked_at,
        "kept": done.kept,
        "read_bytes": done.read_bytes,
        "stored_bytes": done.stored_bytes,
        "given_up": done.given_up,
        "not_kept": done.not_kept,
        "notes": done.notes,
    }


def _list(found: ArchiveList, *, as_json: bool) -> int:
    if as_json:
        output.write_json({"stored_bytes": found.stored_bytes, "transcripts": [_entry(one) for one in found.statuses]})
        return 0
    _show(found.statuses)
    kept, stored = sum(one.size_bytes for one in found.statuses if one.kept_at is not None), found.stored_bytes
    many = len(found.statuses)
    output.write_line(f"{many} transcripts, {size_text(kept)}, in {size_text(stored)} on disk ({found.folder})")
    return 0


def _at_risk(archive: SessionArchive, days: float, *, as_json: bool) -> int:
    if not 0 <= days <= 100_000:
        raise UsageInvalid(f"--within takes a number of days, not {days}")
    found = archive.at_risk(days)
    if as_json:
        output.write_json({"within_days": days, "transcripts": [_entry(one) for one in found]})
        return 0
    _show(found)
    kept = sum(one.keeping is CopyState.KEPT for one in found)
    output.write_line(f"{len(found)} transcripts may be deleted by their CLI within {days:g} days; {kept} are kept")
    return 0


def _show(found: Iterable[ArchiveStatus]) -> None:
    shown = list(found)
    width = max((len(one.account) for one in shown), default=0)
    for one in shown:
        when = "" if one.due is None else f"  deletable from {moment(one.due)}"
        account, size = f"{one.account:{width}}", f"{size_text(one.size_bytes):>7}"
        output.write_line(f"{one.session_id}  {account}  {size}  {_WORDS[one.keeping]}{when}")


def _entry(one: ArchiveStatus) -> dict[str, object]:
    return {
        "session_id": one.session_id,
        "provider_name": one.account,
        "jsonl_path": str(one.path),
        "state": one.keeping.value,
        "size_bytes": one.size_bytes,
        "kept_at": one.kept_at,
        "deletable_from": None if one.due is None else to_text(one.due),
    }


def _restore(kept: SessionArchive, options: Namespace) -> int:
    to = None if options.output is None else options.output.absolute()
    done = kept.restore(options.restore, options.account, to)
    files = [{"path": str(one.path), "size_bytes": one.size_bytes, "was_there": one.was_there} for one in done.files]
    output.write_json({"session_id": done.session_id, "provider_name": done.account, "files": files}, pretty=False)
    return 0


def _prune(kept: SessionArchive, *, only_copies: bool, as_json: bool) -> int:
    done = kept.prune(only_copies=only_copies)
    if as_json:
        output.write_json(_describe_prune_result(done))
        return 0
    output.write_line(
        f"{len(done.copies)} copies given up, {size_text(done.freed_bytes)} freed; "
        f"{size_text(done.stored_bytes)} are left"
    )
    for copy in done.only_copies:
        output.write_line(f"  - it was the only copy: {copy.session_id} of {copy.account} ({copy.path})")
    if done.is_over:
        output.write_line(
            "still over archive_limit_mb: what is left are the only copies; --only-copies gives up the oldest of them"
        )
    return 0


def _describe_prune_result(done: PruneResult) -> dict[str, object]:
    return {
        "given_up": len(done.copies),
        "only_copies": [{"session_id": one.session_id, "provider_name": one.account} for one in done.only_copies],
        "freed_bytes": done.freed_bytes,
        "stored_bytes": done.stored_bytes,
        "is_over_limit": done.is_over,
    }
