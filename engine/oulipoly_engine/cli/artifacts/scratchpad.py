"""`agent-scratchpad`: what an invocation keeps for itself, for seven days. Contract: section 14."""

from __future__ import annotations

from argparse import Namespace
from datetime import datetime
from pathlib import Path

from oulipoly_engine.cli.artifacts import tool
from oulipoly_engine.cli.artifacts.tool import Tool, Verb
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.clock import from_text, to_text
from oulipoly_engine.core.artifacts.addresses import RETURN, SCRATCHPAD, Address, check_key, check_uuid, scratchpad_of
from oulipoly_engine.core.artifacts.versions import NewVersion, Version
from oulipoly_engine.errors import UsageInvalid
from oulipoly_engine.facade import output
from oulipoly_engine.facade.artifacts import ArtifactStore

_ACTOR = "agent-scratchpad"


def main() -> int:
    """Run the program."""
    return tool.main(TOOL)


def key(uuid: str | None, name: str) -> Address:
    """Return where something of an invocation lies. Raises ArtifactMisused."""
    return Address(scratchpad_of(tool.scope(uuid)), check_key(name, "--name", (SCRATCHPAD,)))


def _add_name(parser: Parser) -> None:
    tool.add_store(parser)
    tool.add_scope(parser)
    parser.add_argument("--name", required=True, metavar="NAME")
    parser.add_argument("--json", action="store_true")


def _add_write(parser: Parser) -> None:
    _add_name(parser)
    tool.add_content(parser)
    parser.add_argument("--body", metavar="TEXT", help="the content itself")
    tool.add_description(parser)


def _write(options: Namespace) -> int:
    place = key(options.invocation_uuid, options.name)
    new = NewVersion(place, place.run.removeprefix(SCRATCHPAD), options.format, options.verdict_line)
    source = tool.content(options.content_file, from_stdin=options.content_stdin, body=options.body)
    with source as content, tool.opened(options.db) as store:
        _show(store.put(new, content), as_json=options.json)
    return 0


def _add_read(parser: Parser) -> None:
    _add_name(parser)
    parser.add_argument("--version", type=tool.number, metavar="N", help="default: the latest")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write it there instead of stdout")


def _read(options: Namespace) -> int:
    place = key(options.invocation_uuid, options.name)
    with tool.opened(options.db) as store:
        tool.write_content(store, place if options.version is None else place.at(options.version), options.out)
    return 0


def _add_list(parser: Parser) -> None:
    tool.add_store(parser)
    tool.add_scope(parser)
    parser.add_argument("--name", metavar="NAME", help="of this name alone")
    parser.add_argument("--include-tombstoned", action="store_true", help="removed versions too")
    parser.add_argument("--json", action="store_true")


def _list(options: Namespace) -> int:
    run = scratchpad_of(tool.scope(options.invocation_uuid))
    with tool.opened(options.db) as store:
        found = store.file.versions(run, options.name, with_removed=options.include_tombstoned)
    if options.json:
        output.write_json({"artifacts": [*map(_document, found)]}, pretty=False)
    else:
        for one in found:
            tool.name_line(one, *(["tombstoned"] if one.removal is not None else []))
    return 0


def _add_delete(parser: Parser) -> None:
    _add_name(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--version", type=tool.number, metavar="N", help="default: the latest")
    which.add_argument("--all-versions", action="store_true")


def _delete(options: Namespace) -> int:
    place = key(options.invocation_uuid, options.name)
    with tool.opened(options.db) as store:
        if options.all_versions:
            wanted = store.file.versions(place.run, place.name, with_removed=True)
            selector = "all_versions"
            if not wanted:
                store.file.find(place)  # says that there is none
        else:
            asked = place if options.version is None else place.at(options.version)
            wanted = (store.file.find(asked, with_removed=True),)
            selector = "latest" if options.version is None else f"version:{options.version}"
        gone = store.expire(lambda: wanted, _ACTOR, "deleted")
    counts = {"tombstoned": len(gone), "already_tombstoned": len(wanted) - len(gone)}
    if options.json:
        output.write_json({"address": _address(place), "selector": selector} | counts, pretty=False)
    else:
        told = " ".join(f"{name}={count}" for name, count in counts.items())
        output.write_line(f"{tool.hidden(place.name)} {told}")
    return 0


def _add_publish(parser: Parser) -> None:
    _add_name(parser)
    parser.add_argument("--workflow-run-id", required=True, metavar="RUN")
    parser.add_argument("--artifact-name", required=True, metavar="NAME")
    parser.add_argument("--version", type=tool.number, metavar="N", help="default: the latest")
    parser.add_argument("--predecessor-version", type=tool.number, metavar="N", help="that it was made from")
    tool.add_description(parser)


def _publish(options: Namespace) -> int:
    place = key(options.invocation_uuid, options.name)
    run = check_key(options.workflow_run_id, "--workflow-run-id", (SCRATCHPAD, RETURN))
    target = Address(run, check_key(options.artifact_name, "--artifact-name"))
    producer = place.run.removeprefix(SCRATCHPAD)
    new = NewVersion(target, producer, options.format, options.verdict_line, options.predecessor_version)
    with tool.opened(options.db) as store:
        source = store.file.find(place if options.version is None else place.at(options.version))
        done = store.copy(source.address, new)
    if options.json:
        destination = {"workflow_run_id": target.run, "artifact_name": target.name}
        document = {"source": {"address": _address(place), "version": source.number}, "destination": destination}
        output.write_json(document | done.document(), pretty=False)
    else:
        words = (tool.hidden(target.run), tool.hidden(target.name), f"v{done.number}", done.sha256)
        output.write_line(f"{tool.hidden(place.name)} -> {' '.join(words)}")
    return 0


def _add_gc(parser: Parser) -> None:
    tool.add_store(parser)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--invocation-uuid", metavar="UUID", help="all that this invocation kept")
    which.add_argument("--expired-before", type=_time, metavar="TIME", help="what had expired then (RFC 3339)")
    parser.add_argument("--dry-run", action="store_true", help="change nothing")
    parser.add_argument("--json", action="store_true")


def _collect(options: Namespace) -> int:
    with tool.opened(options.db) as store:

        def wanted(store: ArtifactStore = store) -> tuple[Version, ...]:
            if options.invocation_uuid is not None:
                return store.file.versions(scratchpad_of(options.invocation_uuid))
            return store.expired(options.expired_before)

        rows = wanted() if options.dry_run else store.expire(wanted, _ACTOR, "collected")
    if options.json:
        uuid, before = options.invocation_uuid, options.expired_before
        selector = f"invocation:{uuid}" if uuid is not None else f"expired_before:{to_text(before)}"
        document = {"selector": selector, "dry_run": options.dry_run, "tombstoned": len(rows)}
        output.write_json(document | {"rows": [_row(one) for one in rows]}, pretty=False)
    else:
        output.write_line(f"gc dry_run={str(options.dry_run).lower()} tombstoned={len(rows)}")
    return 0


def _add_scope(parser: Parser) -> None:
    tool.add_scope(parser)
    parser.add_argument("--json", action="store_true")


def _scope(options: Namespace) -> int:
    uuid = check_uuid(tool.scope(options.invocation_uuid))
    if options.json:
        output.write_json({"invocation_uuid": uuid, "workflow_run_id": scratchpad_of(uuid)}, pretty=False)
    else:
        output.write_line(scratchpad_of(uuid))
    return 0


def _time(text: str) -> datetime:
    try:
        return from_text(text)
    except ValueError as error:
        raise UsageInvalid(f"--expired-before {text[:60]!r} is not a time with its zone: {error}") from error


def _address(place: Address) -> dict[str, str]:
    return {"invocation_uuid": place.run.removeprefix(SCRATCHPAD), "name": place.name}


def _row(one: Version) -> dict[str, object]:
    return {"address": _address(one.address), "version": one.number}


def _document(one: Version) -> dict[str, object]:
    return one.document() | _row(one)


def _show(one: Version, *, as_json: bool) -> None:
    if as_json:
        output.write_json(_document(one), pretty=False)
    else:
        tool.name_line(one)


TOOL = Tool(
    "agent-scratchpad",
    "Keep notes and files of one invocation; they expire after seven days, or are published.",
    {
        "write": Verb("keep a content as the next version", _add_write, _write),
        "read": Verb("print a content, as it is", _add_read, _read),
        "list": Verb("list what this invocation keeps", _add_list, _list),
        "delete": Verb("mark versions as removed", _add_delete, _delete),
        "publish": Verb("copy a version to where others look", _add_publish, _publish),
        "gc": Verb("mark what has expired, or is an invocation's, as removed", _add_gc, _collect),
        "scope": Verb("print the run id of this invocation", _add_scope, _scope),
    },
)
