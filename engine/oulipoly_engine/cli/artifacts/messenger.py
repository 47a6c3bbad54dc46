"""`agent-messenger`: hand artifacts back to the caller of this invocation. Contract: section 14."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from oulipoly_engine import __version__, variables
from oulipoly_engine.cli.artifacts import scratchpad, tool
from oulipoly_engine.cli.artifacts.tool import Tool, Verb
from oulipoly_engine.cli.base.parser import Parser
from oulipoly_engine.core.artifacts.addresses import (
    RETURN,
    SCRATCHPAD,
    Address,
    check_key,
    check_uuid,
    parse_returned,
    returns_of,
)
from oulipoly_engine.core.artifacts.receipts import SCHEMA_VERSION
from oulipoly_engine.core.artifacts.versions import NewVersion, Version
from oulipoly_engine.errors import ArtifactError, ArtifactMisused
from oulipoly_engine.facade import artifacts, output
from oulipoly_engine.facade.artifacts import ArtifactStore

_PACKAGE = "oulipoly-agent-messenger"


def main() -> int:
    """Run the program."""
    return tool.main(TOOL)


def _add_return(parser: Parser) -> None:
    tool.add_store(parser)
    tool.add_scope(parser)
    parser.add_argument("--name", required=True, metavar="NAME", help="what the caller knows it by")
    parser.add_argument("--scratchpad", metavar="NAME", help="something that this invocation keeps")
    parser.add_argument("--scratchpad-version", type=tool.number, metavar="N", help="default: the latest")
    parser.add_argument("--body", metavar="TEXT", help="the content itself")
    tool.add_content(parser)
    tool.add_description(parser)
    parser.add_argument("--return-channel", metavar="FILE", help=f"default: {variables.RETURN_CHANNEL}")
    parser.add_argument("--json", action="store_true")


def _return(options: Namespace) -> int:
    uuid = check_uuid(tool.scope(options.invocation_uuid))
    name = check_key(options.name, "--name", (SCRATCHPAD, RETURN))
    if options.scratchpad_version is not None and options.scratchpad is None:
        raise ArtifactMisused("--scratchpad-version goes with --scratchpad NAME")
    channel = artifacts.find_channel(os.environ, options.return_channel)
    new = NewVersion(Address(returns_of(uuid), name), uuid, options.format, options.verdict_line)
    with tool.opened(options.db) as store:
        version, source = _store(options, store, new, uuid)
        try:
            returned = artifacts.append_receipt(channel, version, source, uuid)
        except ArtifactError:  # nobody knows of it
            store.remove(version.address, "agent-messenger", "its caller could not be told")
            raise
    if options.json:
        output.write_json({"schema_version": SCHEMA_VERSION} | returned.document(uuid), pretty=False)
    else:
        output.write_line(f"{returned.version_id} {returned.sha256}")
    return 0


def _store(options: Namespace, store: ArtifactStore, new: NewVersion, uuid: str) -> tuple[Version, dict[str, object]]:
    """Store what is returned; return it and where it came from."""
    if options.scratchpad is not None:
        if options.body is not None or options.content_file is not None or options.content_stdin:
            message = "give the content in one way: --scratchpad, --body, --content-file or --content-stdin"
            raise ArtifactMisused(message)
        place = scratchpad.key(uuid, options.scratchpad)
        wanted = options.scratchpad_version
        kept = store.file.find(place if wanted is None else place.at(wanted))
        origin = {"kind": "scratchpad", "name": place.name, "version": kept.number}
        return store.copy(kept.address, new), origin
    source = tool.content(options.content_file, from_stdin=options.content_stdin, body=options.body)
    with source as content:
        return store.put(new, content), {"kind": "inline_bytes"}


def _add_list(parser: Parser) -> None:
    tool.add_store(parser)
    tool.add_scope(parser)
    parser.add_argument("--name", metavar="NAME", help="of this name alone")
    parser.add_argument("--json", action="store_true")


def _list(options: Namespace) -> int:
    run = returns_of(tool.scope(options.invocation_uuid))
    with tool.opened(options.db) as store:
        found = store.file.versions(run, options.name)
    if options.json:
        output.write_json({"artifacts": [one.document() | _version_id(one) for one in found]}, pretty=False)
    else:
        for one in found:
            tool.name_line(one)
    return 0


def _add_show(parser: Parser) -> None:
    tool.add_store(parser)
    tool.add_scope(parser)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--version-id", metavar="ADDRESS", help="store://return/UUID/NAME/VERSION")
    which.add_argument("--name", metavar="NAME", help="of this invocation")
    parser.add_argument("--version", type=tool.number, metavar="N", help="with --name; default: the latest")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write it there instead of stdout")


def _show(options: Namespace) -> int:
    if options.version_id is not None:
        wish = parse_returned(options.version_id)
    else:
        name = check_key(options.name, "--name", (SCRATCHPAD, RETURN))
        wish = Address(returns_of(tool.scope(options.invocation_uuid)), name, options.version)
    with tool.opened(options.db) as store:
        tool.write_content(store, wish, options.out)
    return 0


def _add_version(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true")


def _version(options: Namespace) -> int:
    if options.json:
        document = {"package": _PACKAGE, "version": __version__, "receipt_schema_version": SCHEMA_VERSION}
        output.write_json(document, pretty=False)
    else:
        output.write_line(f"{_PACKAGE} {__version__}")
    return 0


def _version_id(one: Version) -> dict[str, object]:
    return {"version_id": one.address.text, "name": one.address.name}


TOOL = Tool(
    "agent-messenger",
    "Return artifacts to whoever started this invocation through agent-runner.",
    {
        "return": Verb("store a content and tell the caller of it", _add_return, _return),
        "list-returned": Verb("list what this invocation has returned", _add_list, _list),
        "show": Verb("print something returned, as it is", _add_show, _show),
        "version": Verb("print package, version and schema of receipts", _add_version, _version),
    },
)
