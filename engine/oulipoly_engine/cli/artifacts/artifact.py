"""`artifact …`: the same store for people, by address: RUN/NAME, RUN/NAME@VERSION, RUN/NAME@LABEL, or store://…."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from oulipoly_engine.cli.artifacts import tool
from oulipoly_engine.cli.base import stdio
from oulipoly_engine.cli.base.context import Context
from oulipoly_engine.cli.base.parser import Parser, path
from oulipoly_engine.cli.base.questions import parse_agreed
from oulipoly_engine.core.artifacts.addresses import RETURN, SCRATCHPAD, Address, check_label, parse
from oulipoly_engine.core.artifacts.versions import NewVersion, Version
from oulipoly_engine.core.text.columns import size_text, table
from oulipoly_engine.core.text.quantities import ago
from oulipoly_engine.errors import ArtifactMisused, UsageInvalid
from oulipoly_engine.facade import artifacts, diagnostics, output
from oulipoly_engine.facade.artifacts import ArtifactStore

_SHOWN = 20  # lines of a preview
_SIZE = re.compile(r"(\d{1,12}(?:\.\d+)?)\s*([kMGT]?)B?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_DESCRIPTIONS = {
    "put": "Store FILE, or what is piped in, as the next version. Contents are never executed.",
    "get": "Print a version as it is, or save it. Its hash is checked on the way.",
    "list": "List versions, the removed ones left out.",
    "show": "Tell what is known of a version, and how it begins where it is a text. Secrets are hidden.",
    "diff": "Compare a version with the one before it, or with another one. Secrets are hidden.",
    "label": "Give a version labels. NAME@LABEL is the latest version that has it.",
    "remove": "Mark a version as removed. `artifact gc` deletes its content; its number is not used again.",
    "gc": "Delete the contents of what was removed, and what runs kept for themselves more than seven days ago.",
}


def run(context: Context, name: str, arguments: list[str]) -> int:
    """Serve one of the verbs."""
    verb = name.partition(" ")[2]
    parser = Parser(prog=f"{context.program} {name}", description=_DESCRIPTIONS[verb])
    if verb not in ("list", "gc"):
        parser.add_argument("address", metavar="ADDRESS", type=parse, help="RUN/NAME, RUN/NAME@VERSION or store://…")
    _ARGUMENTS[verb](parser)
    parser.add_argument("--db", type=path, metavar="FILE", help="another store than one's own")
    if verb != "get":
        parser.add_argument("--json", action="store_true", help="print it as JSON")
    return _VERBS[verb](context, parse_agreed(parser, name, arguments))


@contextmanager
def _opened(context: Context, options: Namespace, *, makes: bool = False) -> Iterator[ArtifactStore]:
    if options.db is not None:
        with artifacts.open_store(options.db, context.clock) as store:
            yield store
    else:
        with context.engine.artifacts.open(makes=makes) as store:
            yield store


def _add_put(parser: Parser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", type=path, help="- or none: what is piped in")
    parser.add_argument("--label", action="append", default=[], metavar="LABEL")
    tool.add_description(parser)
    parser.add_argument("--predecessor", type=tool.number, metavar="N", help="refused if it is not the latest any more")


def _put(context: Context, options: Namespace) -> int:
    address: Address = options.address
    if address.version is not None or address.label is not None:
        raise ArtifactMisused(f"{address.text} names a version, and a new one gets the next number: leave it out")
    if address.run.startswith((SCRATCHPAD, RETURN)):
        raise ArtifactMisused(f"{address.run} belongs to a run: agent-scratchpad and agent-messenger store there")
    labels = tuple(map(check_label, options.label))
    producer = tool.own_invocation()
    if options.file is None and not stdio.is_piped():
        raise ArtifactMisused("nothing is piped in: name a FILE, or - to type the content here")
    source = None if str(options.file) in ("None", "-") else options.file
    new = NewVersion(address, producer, options.format, options.verdict_line, options.predecessor, labels)
    with (
        tool.content(source, from_stdin=source is None) as content,
        _opened(context, options, makes=True) as store,
    ):
        _show_one(store.put(new, content), options)
    return 0


def _add_get(parser: Parser) -> None:
    parser.add_argument("--output", type=path, metavar="FILE", help="save it there instead")


def _get(context: Context, options: Namespace) -> int:
    with _opened(context, options) as store:
        tool.write_content(store, options.address, options.output)
    return 0


def _add_list(parser: Parser) -> None:
    parser.add_argument("run", metavar="RUN[/NAME]", nargs="?", help="of this run id, of this name alone")
    parser.add_argument("--label", metavar="LABEL", help="only what has this label")
    parser.add_argument("--removed", action="store_true", help="removed versions too")


def _list(context: Context, options: Namespace) -> int:
    wish = None if options.run is None else parse(options.run if "/" in options.run else f"{options.run}/-")
    run = None if wish is None else wish.run
    name = None if wish is None or "/" not in options.run else wish.name
    version, label = (None, None) if wish is None else (wish.version, wish.label)
    store_is_there = options.db is not None or context.engine.artifacts.path.is_file()
    found: tuple[Version, ...] = ()
    if store_is_there:
        with _opened(context, options) as store:
            found = store.file.versions(run, name, label=options.label or label, with_removed=options.removed)
    found = tuple(one for one in found if version in (None, one.number))
    if options.json:
        output.write_json({"artifacts": [one.document() for one in found]})
    elif not found:
        diagnostics.note(f"nothing is stored: `{context.program} artifact put RUN/NAME FILE` stores a file")
    else:
        now = context.clock.now()
        rows = [_row(one, ago(one.created_at, now)) for one in found]
        output.write_lines(table([("artifact", "size", "age", "labels", "what its maker says"), *rows], right=(1,)))
    return 0


def _row(one: Version, age: str) -> tuple[str, ...]:
    gone = "" if one.removal is None else f"removed by {one.removal.actor}: {one.removal.reason}"
    cells = (one.address.short, size_text(one.content_len), age, " ".join(one.labels), gone or one.verdict_line or "")
    return tuple(map(tool.hidden, cells))


def _add_nothing(_parser: Parser) -> None:
    pass


def _show(context: Context, options: Namespace) -> int:
    with _opened(context, options) as store:
        one = store.file.find(options.address, with_removed=True)
        text = None if one.removal is not None else artifacts.as_text(store.head(one, 64 << 10), is_whole=False)
    _show_one(one, options)
    if not options.json and text is not None:
        lines = text.splitlines()
        output.write_lines(("", *(f"  {line}" for line in lines[:_SHOWN])))
        if len(lines) > _SHOWN:
            output.write_line("  …")
    return 0


def _add_diff(parser: Parser) -> None:
    parser.add_argument("other", metavar="ADDRESS", nargs="?", type=parse, help="default: the version before")


def _diff(context: Context, options: Namespace) -> int:
    with _opened(context, options) as store:
        new = store.file.find(options.address)
        other = options.other
        if other is None:
            older = [one for one in store.file.versions(new.address.run, new.address.name) if one.number < new.number]
            if not older:
                message = f"{new.address.text} is the first version that there is: name another one to compare it with"
                raise ArtifactMisused(message)
            other = older[-1].address
        lines = artifacts.diff(store, other, new.address)
    if options.json:
        output.write_json({"equal": not lines, "diff": [*lines]})
    else:
        output.write_lines(lines or ("nothing differs",))
    return 0


def _add_label(parser: Parser) -> None:
    parser.add_argument("labels", metavar="LABEL", nargs="+")
    parser.add_argument("--remove", action="store_true", help="take them away")


def _label(context: Context, options: Namespace) -> int:
    with _opened(context, options) as store, store.file.write():
        one = store.file.find(options.address)
        for label in map(check_label, options.labels):
            if options.remove:
                store.file.unlabel(one.address, label)
            else:
                store.file.label(one.address, label)
        one = store.file.find(one.address)
    _show_one(one, options)
    return 0


def _add_remove(parser: Parser) -> None:
    parser.add_argument("--reason", default="removed by hand", metavar="TEXT", help="kept with it")
    parser.add_argument("--all-versions", action="store_true", help="not the latest alone")


def _remove(context: Context, options: Namespace) -> int:
    address: Address = options.address
    with _opened(context, options) as store:
        if options.all_versions:
            wanted = store.file.versions(address.run, address.name) or (store.file.find(address),)
        else:
            wanted = (store.file.find(address),)
        done = [store.remove(one.address, artifacts.user_name(), options.reason)[0] for one in wanted]
    if options.json:
        output.write_json({"removed": [one.document() for one in done]})
    else:
        for one in done:
            output.write_line(f"removed: {tool.hidden(one.address.short)}")
    return 0


def _add_gc(parser: Parser) -> None:
    parser.add_argument("--limit", metavar="SIZE", help="how much may be stored from now on: 2GB; none: no limit")


def _collect(context: Context, options: Namespace) -> int:
    with _opened(context, options, makes=options.limit is not None) as store:
        if options.limit is not None:
            with store.file.write():
                store.file.set_limit(None if options.limit == "none" else _size(options.limit))
        done = store.collect()
        limit = store.file.limit()
    if options.json:
        expired = [one.address.text for one in done.expired]
        output.write_json({"expired": expired, "files": done.files, "bytes": done.size, "limit_bytes": limit})
    else:
        told = "no limit" if limit is None else f"limit {size_text(limit)}"
        output.write_line(f"{size_text(done.size)} freed, {len(done.expired)} expired, {told}")
    return 0


def _size(text: str) -> int:
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise UsageInvalid(f"--limit {text[:40]!r} is not a size: 500MB, 2GB, or none")
    return int(float(found[1]) * 1000 ** _POWERS[found[2].lower()])


def _show_one(one: Version, options: Namespace) -> None:
    if options.json:
        output.write_json(one.document())
        return
    gone = one.removal
    facts = {
        "address": one.address.text,
        "size": size_text(one.content_len),
        "sha256": one.sha256,
        "made by": one.producer,
        "from": None if one.predecessor is None else f"version {one.predecessor}",
        "format": one.format_hint,
        "labels": " ".join(one.labels),
        "says": one.verdict_line,
        "removed": None if gone is None else f"by {gone.actor}: {gone.reason}",
    }
    output.write_lines(f"{name:8} {tool.hidden(text)}" for name, text in facts.items() if text)


_ARGUMENTS = {
    "put": _add_put,
    "get": _add_get,
    "list": _add_list,
    "show": _add_nothing,
    "diff": _add_diff,
    "label": _add_label,
    "remove": _add_remove,
    "gc": _add_gc,
}
_VERBS = {
    "put": _put,
    "get": _get,
    "list": _list,
    "show": _show,
    "diff": _diff,
    "label": _label,
    "remove": _remove,
    "gc": _collect,
}
