"""`agent-store`: versioned artifacts in a file of their own. Contract: section 14; labels, gc and limit are ours."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from oulipoly_engine.cli.artifacts import tool
from oulipoly_engine.cli.artifacts.tool import Tool, Verb
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.clock import SystemClock
from oulipoly_engine.core.artifacts.addresses import RETURN, SCRATCHPAD, Address, check_key, check_label, check_uuid
from oulipoly_engine.core.artifacts.versions import NewVersion
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import artifacts, output

_SCHEMA_VERSION = 1


def main() -> int:
    """Run the program."""
    return tool.main(TOOL)


def _add_key(parser: Parser, *, required: bool = True) -> None:
    tool.add_store(parser)
    parser.add_argument("--workflow-run-id", required=required, metavar="RUN")
    parser.add_argument("--artifact-name", required=required, metavar="NAME")
    parser.add_argument("--json", action="store_true")


def _key(options: Namespace) -> Address:
    run = check_key(options.workflow_run_id, "--workflow-run-id")
    found = Address(run, check_key(options.artifact_name, "--artifact-name"))
    return found if getattr(options, "version", None) is None else found.at(options.version)


def _init(options: Namespace) -> int:
    if options.db is None:
        raise UsageInvalid("say which store to make: --db FILE")
    status = "initialized" if artifacts.initialise(options.db, SystemClock()) else "already_current"
    if options.json:
        document = {"db_path": str(options.db), "schema_version": _SCHEMA_VERSION, "status": status}
        output.write_json(document, pretty=False)
    else:
        output.write_line(f"{status}: {options.db}")
    return 0


def _add_put(parser: Parser) -> None:
    _add_key(parser)
    tool.add_content(parser)
    tool.add_description(parser)
    parser.add_argument("--predecessor-version", type=tool.number, metavar="N", help="that it was made from")
    parser.add_argument("--producer-uuid", metavar="UUID", help="the invocation that made it (default: this one)")
    parser.add_argument("--label", action="append", default=[], metavar="LABEL")


def _put(options: Namespace) -> int:
    key = _key(options)
    for prefix in (SCRATCHPAD, RETURN):
        check_key(key.run, "--workflow-run-id", (prefix,))
    producer = tool.own_invocation() if options.producer_uuid is None else check_uuid(options.producer_uuid)
    new = NewVersion(
        key,
        producer,
        options.format,
        options.verdict_line,
        options.predecessor_version,
        tuple(map(check_label, options.label)),
    )
    with (
        tool.content(options.content_file, from_stdin=options.content_stdin) as content,
        tool.opened(options.db) as store,
    ):
        tool.show(store.put(new, content), as_json=options.json)
    return 0


def _add_version(parser: Parser) -> None:
    _add_key(parser)
    parser.add_argument("--version", type=tool.number, metavar="N", help="default: the latest that is not removed")


def _add_get(parser: Parser) -> None:
    _add_version(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write it there instead of stdout")


def _get(options: Namespace) -> int:
    with tool.opened(options.db) as store:
        tool.write_content(store, _key(options), options.out)
    return 0


def _get_meta(options: Namespace) -> int:
    with tool.opened(options.db) as store:
        tool.show(store.file.find(_key(options), with_removed=True), as_json=options.json)
    return 0


def _add_list(parser: Parser) -> None:
    _add_key(parser, required=False)
    parser.add_argument("--include-tombstoned", action="store_true", help="removed versions too")
    parser.add_argument("--label", metavar="LABEL", help="only what has this label")


def _list(options: Namespace) -> int:
    with tool.opened(options.db) as store:
        found = store.file.versions(
            options.workflow_run_id,
            options.artifact_name,
            label=options.label,
            with_removed=options.include_tombstoned,
        )
    if options.json:
        output.write_json({"artifacts": [one.document() for one in found]}, pretty=False)
    else:
        for one in found:
            tool.version_line(one, *(["tombstoned"] if one.removal is not None else []))
    return 0


def _add_tombstone(parser: Parser) -> None:
    _add_key(parser)
    parser.add_argument("--version", type=tool.number, metavar="N", required=True)
    parser.add_argument("--actor", required=True, metavar="WHO")
    parser.add_argument("--reason", required=True, metavar="TEXT")


def _tombstone(options: Namespace) -> int:
    actor, reason = check_key(options.actor, "--actor"), check_key(options.reason, "--reason")
    with tool.opened(options.db) as store:
        version, done = store.remove(_key(options), actor, reason)
    status = "tombstoned" if done else "already_tombstoned"
    if options.json:
        output.write_json({"status": status} | version.document(), pretty=False)
    else:
        output.write_line(f"{status}: {version.address.run} {version.address.name} v{version.number}")
    return 0


def add_gc(parser: Parser) -> None:
    """Add the options of a collection."""
    tool.add_store(parser)
    parser.add_argument("--json", action="store_true")


def collect(options: Namespace) -> int:
    """Delete what nothing names any more."""
    with tool.opened(options.db) as store:
        done = store.collect()
    if options.json:
        document = {"expired": [one.address.text for one in done.expired], "files": done.files, "bytes": done.size}
        output.write_json(document, pretty=False)
    else:
        output.write_line(f"gc expired={len(done.expired)} files={done.files} bytes={done.size}")
    return 0


TOOL = Tool(
    "agent-store",
    "Store versions of artifacts in a file; many programs may use one file at once.",
    {
        "init": Verb("make a store", add_gc, _init),
        "put": Verb("store a content as the next version", _add_put, _put),
        "get": Verb("print a content, as it is", _add_get, _get),
        "get-meta": Verb("tell what is known of a version", _add_version, _get_meta),
        "list": Verb("list versions", _add_list, _list),
        "tombstone": Verb("mark a version as removed", _add_tombstone, _tombstone),
        "gc": Verb("delete the contents of what was removed, and what has expired", add_gc, collect),
    },
)
